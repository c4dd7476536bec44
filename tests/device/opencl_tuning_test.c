/* Tuning of OpenCL devices: candidates that compute the right results, the user's file, and the
   tuning in a model file. Skipped without such a device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/files.h"
#include "support/net.h"
#include "support/op_cases.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *opencl_name(void)
{
    for (int i = 0; net_device(i); i++)
        if (strncmp(net_device(i), "opencl", 6) == 0)
            return net_device(i);
    return NULL;
}

static cornu_status open_with(const device_options *options, device **out)
{
    device_id id;
    *out = NULL;
    expect_ok(device_find(opencl_name(), &id));
    return id.ops->open(id.number, options, out);
}

static device *open_device(const char *text, const char *kernel)
{
    device *d;
    expect_ok(open_with(&(device_options){.tuning = text, .kernel = kernel}, &d));
    return d;
}

/* The tuning of a device that is opened without options. */
static device_tuning used_now(void)
{
    device_tuning t;
    device *d = open_device(NULL, NULL);
    expect_ok(d->ops->tuning(d, &t));
    d->ops->close(d);
    return t;
}

/* Candidate `index` of a stage, in place of the current tuning. */
static bool candidate(int stage, int index, char text[TUNING_TEXT])
{
    device_tuning now;
    device *d = open_device(NULL, NULL);
    expect_ok(d->ops->tuning(d, &now));
    bool there = d->ops->tuning_candidate(d, now.text, stage, index, text);
    d->ops->close(d);
    return there;
}

static device_tuning keep(const char *text)
{
    device_tuning kept;
    device *d = open_device(text, NULL);
    expect_ok(d->ops->tuning_keep(d, text, &kept));
    d->ops->close(d);
    return kept;
}

/* A config folder of the test's own; *state NULL without a device. */
static int open_home(void **state)
{
    if (!opencl_name())
        return 0;
    if (scratch_open(state))
        return -1;
    setenv("XDG_CONFIG_HOME", scratch_path("config"), 1);
    return 0;
}

static int close_home(void **state)
{
    return opencl_name() ? scratch_close(state) : 0;
}

#define NEEDS_DEVICE()  \
    (void)state;        \
    if (!opencl_name()) \
    skip()

/* ---- candidates --------------------------------------------------------------------------- */

static op_case dense_of(op_kind kind)
{
    const shape x = {2, {37, 150}}, w = {2, {150, 71}}, y = {2, {37, 71}}, b = {1, {71}};
    op_case c = {.kind = kind, .label = "a dense layer"};
    c.in[0] = kind == OP_DENSE_BACKWARD_DATA ? y : x;
    c.in[1] = kind == OP_DENSE_BACKWARD_WEIGHTS ? y : w;
    c.out[0] = kind == OP_DENSE_FORWARD ? y : kind == OP_DENSE_BACKWARD_DATA ? x : w;
    if (kind == OP_DENSE_FORWARD)
        c.in[2] = b;
    if (kind == OP_DENSE_BACKWARD_WEIGHTS)
        c.out[1] = b;
    return c;
}

static op_case convolution(void)
{
    op_case c = {.kind = OP_CONV2D_FORWARD, .label = "a convolution"};
    c.a.conv.w = (window2d){.kernel = {3, 3},
                            .stride = {1, 1},
                            .dilation = {1, 1},
                            .before = {1, 1},
                            .after = {1, 1},
                            .groups = 1};
    c.in[0] = (shape){4, {3, 18, 18, 36}};
    c.in[1] = (shape){4, {3, 3, 36, 20}};
    c.out[0] = (shape){4, {3, 18, 18, 20}};
    return c;
}

/* The case with the tuning against the same by the reference. */
static int check_case(const char *text, const op_case *c)
{
    op_outputs expected, found;
    char name[64] = "";
    device *d = open_device(text, NULL);
    expect_ok(op_case_run(c, &reference_kernels[c->kind], NULL, false, &expected));
    expect_ok(op_case_run_on(c, d, false, name, &found));
    d->ops->close(d);
    int failures = op_outputs_compare(c, text, op_infos[c->kind].tolerance, &found, &expected);
    op_outputs_free(&expected);
    op_outputs_free(&found);
    return failures;
}

/* Compiling one takes PoCL a minute: so only one of the tiles, with dense layers. Convolutions
   consist of the same kernels. */
static void candidates_compute_what_the_reference_does(void **state)
{
    NEEDS_DEVICE();
    static const op_kind kinds[] = {OP_DENSE_FORWARD, OP_DENSE_BACKWARD_DATA,
                                    OP_DENSE_BACKWARD_WEIGHTS};
    char text[TUNING_TEXT];
    int failures = 0;
    if (!candidate(0, 1, text)) /* little local memory: one size fits */
        assert_true(candidate(0, 0, text));
    for (int k = 0; k < 3; k++) {
        const op_case c = dense_of(kinds[k]);
        failures += check_case(text, &c);
    }
    assert_int_equal(failures, 0);
}

/* Each stage has candidates, all of which are accepted, and the stages end. On one device: opening
   one for each would compile its kernels. */
static void every_candidate_is_one_that_can_be_kept(void **state)
{
    NEEDS_DEVICE();
    char text[TUNING_TEXT];
    device_tuning now, kept;
    int stage = 0, count = 0;
    device *d = open_device(NULL, NULL);
    expect_ok(d->ops->tuning(d, &now));
    for (; d->ops->tuning_candidate(d, now.text, stage, 0, text); stage++)
        for (int i = 0; d->ops->tuning_candidate(d, now.text, stage, i, text); i++, count++) {
            expect_ok(d->ops->tuning_keep(d, text, &kept));
            assert_string_equal(kept.text, text);
        }
    d->ops->close(d);
    assert_true(stage >= 3 && count >= 10);
}

static const char *kernel_of(const char *text)
{
    const op_case c = convolution();
    static char name[64];
    op_outputs found;
    device *d = open_device(text, NULL);
    expect_ok(op_case_run_on(&c, d, false, name, &found));
    d->ops->close(d);
    op_outputs_free(&found);
    return name;
}

/* 36 * 20 / 56 = 12.9 channels: Winograd's algorithm from 8 on, and not from 16. */
static void a_tuning_says_from_how_many_channels_winograd_pays(void **state)
{
    NEEDS_DEVICE();
    char text[TUNING_TEXT];
    device_tuning now = used_now();
    char *end = strstr(now.text, "winograd_channels=");
    assert_non_null(end);
    snprintf(text, sizeof text, "%.*swinograd_channels=8", (int)(end - now.text), now.text);
    assert_string_equal(kernel_of(text), "winograd");
    snprintf(text, sizeof text, "%.*swinograd_channels=16", (int)(end - now.text), now.text);
    assert_string_equal(kernel_of(text), "direct");
}

/* ---- the file ------------------------------------------------------------------------------ */

static const char *file_path(void)
{
    return scratch_path("config/cornu/tuning");
}

/* At most one at a time. */
static const char *file_text(void)
{
    static char copy[4096];
    char *text;
    size_t size;
    expect_ok(file_read(file_path(), sizeof copy - 1, &text, &size));
    memcpy(copy, text, size + 1);
    free(text);
    return copy;
}

static void write_file(const char *content)
{
    file_write w;
    expect_ok(folder_make(scratch_path("config/cornu")));
    expect_ok(file_write_open(file_path(), &w));
    expect_ok(file_write_bytes(&w, content, strlen(content)));
    expect_ok(file_write_commit(&w));
}

/* The file with `from` replaced by `to`, in the one place where it is. */
static void change_file(const char *from, const char *to)
{
    char changed[4096];
    const char *content = file_text();
    const char *at = strstr(content, from);
    assert_non_null(at);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - content), content, to,
             at + strlen(from));
    write_file(changed);
}

static void what_is_kept_is_used_until_something_else_is(void **state)
{
    NEEDS_DEVICE();
    char one[TUNING_TEXT], two[TUNING_TEXT];
    assert_string_equal(used_now().source, "built in");
    assert_true(candidate(1, 0, one) && candidate(2, 0, two));
    device_tuning kept = keep(one);
    assert_string_equal(kept.source, file_path());
    assert_string_equal(used_now().text, one);
    assert_string_equal(used_now().source, file_path());
    keep(two);
    assert_string_equal(used_now().text, two);
    assert_null(strstr(file_text(), one));
    /* the option wins */
    device_tuning t;
    device *d = open_device(one, NULL);
    expect_ok(d->ops->tuning(d, &t));
    d->ops->close(d);
    assert_string_equal(t.text, one);
}

static void lines_of_others_stay_and_are_not_used(void **state)
{
    NEEDS_DEVICE();
    char one[TUNING_TEXT];
    assert_true(candidate(1, 0, one));
    keep(one);
    change_file("opencl | ", "opencl | other ");
    assert_string_equal(used_now().source, "built in");
    keep(one);
    assert_string_equal(used_now().text, one);
    assert_non_null(strstr(file_text(), "opencl | other "));
}

/* The driver's version comes before the fields. */
static void another_driver_is_not_used_by_the_old_line(void **state)
{
    NEEDS_DEVICE();
    char one[TUNING_TEXT];
    assert_true(candidate(1, 0, one));
    keep(one);
    change_file(" | gemm_m", "x | gemm_m");
    assert_string_equal(used_now().source, "built in");
}

static void must_be_refused(const char *says)
{
    device *d;
    expect_status(open_with(NULL, &d), CORNU_BAD_FILE);
    assert_null(d);
    expect_message(file_path());
    expect_message(says);
}

/* Each is a way in which a line for this device may be wrong. */
static void a_damaged_file_is_refused_by_name(void **state)
{
    NEEDS_DEVICE();
    static const struct {
        const char *from, *to;
    } faults[] = {
        {"gemm_m=", "gemm_q="},
        {"gemm_m=", "gemm_m=7"},
        {"gemm_m=", "gemm_n=8 gemm_m="},
        {"split_groups=", "split_groups=-"},
        {"split_groups=", "split_groups=x"},
        {" winograd_channels=", "\nwinograd_channels="},
        {"winograd_channels=", "winograd_channels=99999999999999999999"},
        {" | gemm_m", " gemm_m"},
        {"cornu tuning 1", "cornu tuning 2"},
        {"cornu tuning 1", "\x7f\x45\x4c\x46"},
    };
    char one[TUNING_TEXT];
    assert_true(candidate(1, 0, one));
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        (void)remove(file_path());
        keep(one);
        change_file(faults[i].from, faults[i].to);
        must_be_refused("expected");
    }
    write_file("");
    must_be_refused("expected \"cornu tuning 1\"");
    device_tuning kept;
    device *d = open_device(one, NULL);
    expect_status(d->ops->tuning_keep(d, one, &kept), CORNU_BAD_FILE);
    d->ops->close(d);
    assert_string_equal(file_text(), ""); /* it may belong to another user */
}

static void a_tuning_that_does_not_fit_is_refused(void **state)
{
    NEEDS_DEVICE();
    static const char *const texts[] = {
        "",
        "fast",
        "gemm_m=256 gemm_n=256 gemm_k=256 item_m=2 item_n=4 split_groups=16 winograd_channels=32",
        "gemm_m=16 gemm_n=64 gemm_k=64 item_m=8 item_n=16 split_groups=16 winograd_channels=32",
        "gemm_m=32 gemm_n=64 gemm_k=8 item_m=8 item_n=16 split_groups=16 winograd_channels=32",
        "gemm_m=32 gemm_n=64 gemm_k=64 item_m=8 item_n=16 split_groups=0 winograd_channels=32",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        device *d;
        expect_status(open_with(&(device_options){.tuning = texts[i]}, &d), CORNU_INVALID);
        expect_message("tuning: found");
    }
}

/* ---- training ------------------------------------------------------------------------------ */

/* Train for `steps` steps (0: to the end), from the start or from the saved model. */
static void train(const cornu_data *data, int steps, bool resume, const char *device)
{
    cornu_model *model = NULL;
    char save[1100];
    snprintf(save, sizeof save, "%s", scratch_path("m.safetensors"));
    if (resume)
        expect_ok(cornu_model_open(save, &model));
    else
        model = runs_usual("{epochs: 2, batch_size: 16}");
    cornu_fit_options o = {
        .size = sizeof o, .where.device = device, .save = save, .resume = resume};
    int left = steps;
    o.should_stop = steps ? stop_after : NULL;
    o.user = &left;
    cornu_status status = cornu_fit(model, data, &o, NULL);
    expect_status(status, steps ? CORNU_STOPPED : CORNU_OK);
    cornu_model_close(model);
}

/* Resume it without saving: does a notice mention the tuning? */
static int tuning_notices(const cornu_data *data, const char *device)
{
    notices n = {.count = 0};
    cornu_model *model = NULL;
    expect_ok(cornu_model_open(scratch_path("m.safetensors"), &model));
    cornu_fit_options o = {.size = sizeof o,
                           .where.device = device,
                           .resume = true,
                           .epochs = 3,
                           .on_notice = notices_add,
                           .user = &n};
    expect_ok(cornu_fit(model, data, &o, NULL));
    cornu_model_close(model);
    return strstr(n.lines, "found the tuning") != NULL;
}

/* With its first tuning, on the cpu (which has none), and with another one. */
static void a_resume_with_another_tuning_is_told(void **state)
{
    NEEDS_DEVICE();
    char device[64], one[TUNING_TEXT];
    snprintf(device, sizeof device, "%s", opencl_name());
    assert_true(candidate(1, 0, one));
    cornu_data *data = runs_data(70, 0);
    train(data, 3, false, device);
    assert_int_equal(tuning_notices(data, device), 0);
    assert_int_equal(tuning_notices(data, "cpu"), 0);
    keep(one);
    assert_int_equal(tuning_notices(data, device), 1);
    train(data, 0, true, "cpu"); /* which forgets it */
    assert_int_equal(tuning_notices(data, device), 0);
    cornu_data_close(data);
}

/* ---- the queue ------------------------------------------------------------------------------ */

#define NETWORK                                                                            \
    "model: {input: [8, 8, 3], layers: [{Conv2D: {filters: 4, kernel_size: 3}}, Flatten, " \
    "{Dense: {units: 5, activation: softmax}}]}\n"                                         \
    "compile: {optimizer: adam, loss: categorical_crossentropy}\n"

/* Watched steps compute the same as others, and the device is idle for some of the time. */
static void a_watched_queue_computes_the_same(void **state)
{
    NEEDS_DEVICE();
    float *weights[2];
    device_idle share = {-1, -1};
    for (int watched = 0; watched < 2; watched++) {
        cornu_model *model = net_model(NETWORK);
        const plan_options options = {.mode = PLAN_TRAIN, .batch = 4};
        net *n = net_open(model, opencl_name(), &options);
        if (watched)
            expect_ok(n->device->ops->idle(n->device, NULL));
        for (int i = 0; i < 100; i++, n->input.iteration++)
            expect_ok(n->device->ops->run(n->device, n->prepared, &n->input, 1));
        if (watched)
            expect_ok(n->device->ops->idle(n->device, &share));
        net_run(n);
        weights[watched] = net_read_variable(n, "dense/kernel");
        net_close(n);
        cornu_model_close(model);
    }
    assert_memory_equal(weights[0], weights[1], 6 * 6 * 4 * 5 * sizeof(float));
    if (!isnan(share.empty)) /* the device has a clock */
        assert_true(share.empty >= 0 && share.between >= 0 && share.empty + share.between < 1);
    free(weights[0]);
    free(weights[1]);
}

/* Longer than the gap between any two small steps. */
static void a_queue_that_waits_for_the_host_is_empty(void **state)
{
    NEEDS_DEVICE();
    device_idle share = {-1, -1};
    cornu_model *model = net_model(NETWORK);
    const plan_options options = {.mode = PLAN_TRAIN, .batch = 4};
    net *n = net_open(model, opencl_name(), &options);
    net_run(n);
    expect_ok(n->device->ops->idle(n->device, NULL));
    for (int i = 0; i < 2; i++) {
        net_run(n);
        expect_ok(n->device->ops->synchronize(n->device));
        nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    }
    net_run(n);
    expect_ok(n->device->ops->idle(n->device, &share));
    if (!isnan(share.empty))
        assert_true(share.empty > 0.5 && share.empty + share.between < 1);
    net_close(n);
    cornu_model_close(model);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_home, close_home)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(candidates_compute_what_the_reference_does),
        TEST(every_candidate_is_one_that_can_be_kept),
        TEST(a_tuning_says_from_how_many_channels_winograd_pays),
        TEST(what_is_kept_is_used_until_something_else_is),
        TEST(lines_of_others_stay_and_are_not_used),
        TEST(another_driver_is_not_used_by_the_old_line),
        TEST(a_damaged_file_is_refused_by_name),
        TEST(a_tuning_that_does_not_fit_is_refused),
        TEST(a_resume_with_another_tuning_is_told),
        TEST(a_watched_queue_computes_the_same),
        TEST(a_queue_that_waits_for_the_host_is_empty),
    };
    return cmocka_run_group_tests_name("tuning of the OpenCL device", tests, NULL, NULL);
}
