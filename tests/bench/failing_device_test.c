/* bench --device all where one device fails: its row has the reason, and the others go on. The
   session's calls fail here as a device's would (tests/CMakeLists.txt wraps them). */
#include "bench/bench.h"
#include "support/runs.h"
#include "train/session.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The device and workload that fail, and when: at the plan, or at a step after the notice. */
static struct {
    const char *device, *workload;
    cornu_status status;
    bool at_plan;
    const char *after;
    bool armed;
} fault;

static const char WHY[] = "device x: found a fault; expected none";

static cornu_status fail_on(const session *s, bool at_plan)
{
    const char *workload = session_model(s)->name;
    bool is_it = fault.device && strcmp(session_device(s)->ops->name, fault.device) == 0 &&
                 (!fault.workload || (workload && strcmp(workload, fault.workload) == 0));
    if (!is_it || at_plan != fault.at_plan || (!at_plan && !fault.armed))
        return CORNU_OK;
    return status_fail(fault.status, "%s", WHY);
}

cornu_status __real_session_plan_for(session *s, plan_mode mode, int64_t batch, weighting weighted,
                                     session_plan **out);
cornu_status __wrap_session_plan_for(session *s, plan_mode mode, int64_t batch, weighting weighted,
                                     session_plan **out);
cornu_status __wrap_session_plan_for(session *s, plan_mode mode, int64_t batch, weighting weighted,
                                     session_plan **out)
{
    TRY(fail_on(s, true));
    return __real_session_plan_for(s, mode, batch, weighted, out);
}

cornu_status __real_session_step(session *s, session_plan *plan, const sample_block *samples,
                                 const int64_t *index);
cornu_status __wrap_session_step(session *s, session_plan *plan, const sample_block *samples,
                                 const int64_t *index);
cornu_status __wrap_session_step(session *s, session_plan *plan, const sample_block *samples,
                                 const int64_t *index)
{
    TRY(fail_on(s, false));
    return __real_session_step(s, plan, samples, index);
}

static void on_notice(void *user, const char *line)
{
    (void)user;
    if (fault.after && strstr(line, fault.after))
        fault.armed = true;
}

/* Small steps, few rounds. */
static cornu_status run(const char *const *workloads, const char *device, bench_report *report)
{
    const bench_options options = {.workloads = workloads,
                                   .device = device,
                                   .quick = true,
                                   .steps = 1,
                                   .batch = 1,
                                   .on_notice = on_notice};
    return bench_run(&options, report);
}

static const bench_result *row_of(const bench_report *r, const char *workload, const char *device)
{
    for (int i = 0; i < r->count; i++)
        if (strcmp(r->results[i].workload, workload) == 0 &&
            strcmp(r->results[i].device, device) == 0)
            return &r->results[i];
    fail_msg("no row of %s on %s", workload, device);
    return NULL;
}

static const json_t *json_of(const bench_report *report, const bench_result *r)
{
    return json_array_get(json_object_get(report->json, "results"), (size_t)(r - report->results));
}

static void must_have_figures(const bench_report *report, const char *workload, const char *device)
{
    const bench_result *r = row_of(report, workload, device);
    const json_t *json = json_of(report, r);
    assert_string_equal(r->failed, "");
    assert_true(r->step_ms.median > 0 && r->share_of_limit > 0 && r->steps >= 10);
    assert_true(json_is_null(json_object_get(json, "error")));
    assert_true(json_number_value(json_object_get(json, "epoch_seconds")) > 0);
}

static void must_say_why(const bench_report *report, const char *workload, const char *device)
{
    const bench_result *r = row_of(report, workload, device);
    const json_t *json = json_of(report, r);
    assert_string_equal(r->failed, WHY);
    assert_string_equal(json_string_value(json_object_get(json, "error")), WHY);
    assert_true(json_is_null(json_object_get(json, "epoch_seconds")));
    assert_true(json_is_null(json_object_get(json_object_get(json, "ms_per_step"), "median")));
}

static int no_fault(void **state)
{
    (void)state;
    memset(&fault, 0, sizeof fault);
    return 0;
}

static const char *const one[] = {"cifar100-mlp", NULL};

static void a_device_without_a_kernel_fails_alone_for_its_workload(void **state)
{
    (void)state;
    static const char *const two[] = {"cifar100-mlp", "mnist-cnn-2", NULL};
    bench_report report;
    fault.device = "reference";
    fault.workload = "mnist-cnn-2";
    fault.status = CORNU_UNSUPPORTED;
    fault.at_plan = true;
    expect_ok(run(two, "all", &report));
    must_have_figures(&report, "cifar100-mlp", "cpu");
    must_have_figures(&report, "cifar100-mlp", "reference");
    must_have_figures(&report, "mnist-cnn-2", "cpu");
    must_say_why(&report, "mnist-cnn-2", "reference");
    bench_report_free(&report);
}

static void a_device_that_is_lost_in_the_middle_leaves_the_others_figures(void **state)
{
    (void)state;
    bench_report report;
    fault.device = "reference";
    fault.status = CORNU_DEVICE;
    fault.after = "on reference: round 3";
    expect_ok(run(one, "all", &report));
    assert_true(fault.armed);
    must_have_figures(&report, "cifar100-mlp", "cpu");
    must_say_why(&report, "cifar100-mlp", "reference");
    bench_report_free(&report);
}

/* Even the first one: ratios are then to the next. */
static void the_first_device_may_fail_when_it_warms_up(void **state)
{
    (void)state;
    bench_report report;
    fault.device = "cpu";
    fault.status = CORNU_OUT_OF_MEMORY;
    fault.after = "on cpu: warming up";
    expect_ok(run(one, "all", &report));
    must_say_why(&report, "cifar100-mlp", "cpu");
    must_have_figures(&report, "cifar100-mlp", "reference");
    bench_report_free(&report);
}

static void what_is_not_there_is_a_note(void **state)
{
    (void)state;
    bench_report report;
    bool said = false;
    fault.device = "reference"; /* to be quick */
    fault.status = CORNU_DEVICE;
    fault.at_plan = true;
    expect_ok(run(one, "all", &report));
    for (int i = 0; i < report.note_count; i++)
        said |= strncmp(report.notes[i], "opencl: not available: ", 23) == 0;
    assert_true(said);
    bench_report_free(&report);
}

static void where_nothing_could_be_measured_the_failure_is_the_comparisons(void **state)
{
    (void)state;
    bench_report report;
    fault.device = "cpu";
    fault.status = CORNU_DEVICE;
    fault.after = "on cpu: round 2";
    expect_status(run(one, "cpu", &report), CORNU_DEVICE);
    expect_message("cifar100-mlp on cpu: device x: found a fault; expected none");
    bench_report_free(&report);
}

static bool should_stop(void *user)
{
    (void)user;
    return fault.armed;
}

/* A stop is no device's failure. */
static void a_comparison_that_is_stopped_stays_stopped(void **state)
{
    (void)state;
    bench_report report;
    const bench_options options = {.workloads = one,
                                   .device = "cpu",
                                   .quick = true,
                                   .steps = 1,
                                   .batch = 1,
                                   .on_notice = on_notice,
                                   .should_stop = should_stop};
    fault.after = "on cpu: round 2";
    expect_status(bench_run(&options, &report), CORNU_STOPPED);
    bench_report_free(&report);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, no_fault, no_fault)

int main(void)
{
    setenv("OCL_ICD_VENDORS", "/nowhere", 1);
    const struct CMUnitTest tests[] = {
        TEST(a_device_without_a_kernel_fails_alone_for_its_workload),
        TEST(a_device_that_is_lost_in_the_middle_leaves_the_others_figures),
        TEST(the_first_device_may_fail_when_it_warms_up),
        TEST(what_is_not_there_is_a_note),
        TEST(where_nothing_could_be_measured_the_failure_is_the_comparisons),
        TEST(a_comparison_that_is_stopped_stays_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
