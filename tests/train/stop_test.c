/* Where a run stops, what it has written then, and who is told of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/files.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <string.h>
#include <unistd.h>

enum { SAMPLES = 50, BATCH = 10, STEPS = 5 };
static const char fit[] = "{epochs: 3, batch_size: 10}";

/* A run that is asked to stop after some calls; what it says of its saving. */
typedef struct run {
    cornu_model *model;
    int left;      /* calls of should_stop; 0: never */
    int completed; /* model files */
    bool began, right;
    int64_t done;
    char path[1100]; /* of the last one */
} run;

static bool should_stop(void *user)
{
    run *r = user;
    return r->left > 0 && --r->left == 0;
}

static void on_save(void *user, const cornu_saving *now)
{
    run *r = user;
    if (!r->began) {
        r->right &= !now->temporary && now->done == 0 && !now->complete;
        r->done = 0;
    }
    r->right &= now->done >= r->done && now->done <= now->total && now->total > 0;
    r->right &= !now->complete || (now->done == now->total && file_exists(now->path));
    r->done = now->done;
    r->began = !now->complete;
    r->completed += now->complete;
    snprintf(r->path, sizeof r->path, "%s", now->path);
}

static cornu_status train(run *r, cornu_fit_options o)
{
    cornu_data *data = runs_data(SAMPLES, 0);
    if (!r->model)
        r->model = runs_usual(fit);
    r->right = true;
    o.on_save = on_save;
    o.should_stop = should_stop;
    o.user = r;
    cornu_status status = cornu_fit(r->model, data, &o, NULL);
    cornu_data_close(data);
    assert_true(r->right && !r->began);
    return status;
}

static void expect_position(const cornu_model *model, int64_t epoch, int64_t step)
{
    cornu_position p = {.size = sizeof p};
    expect_ok(cornu_model_position(model, &p));
    assert_int_equal(p.epoch, epoch);
    assert_int_equal(p.step, step);
    assert_int_equal(p.iterations, epoch * STEPS + step);
    assert_int_equal(p.epochs, 3);
}

/* The same as the file says. */
static void expect_saved(const char *path, int64_t epoch, int64_t step)
{
    cornu_model *model;
    expect_ok(cornu_model_open(path, &model));
    expect_position(model, epoch, step);
    cornu_model_close(model);
}

static void every_model_file_is_told_of(void **state)
{
    (void)state;
    run r = {.left = 0};
    const char *path = scratch_path("m.safetensors");
    expect_ok(train(&r, (cornu_fit_options){.size = sizeof(cornu_fit_options), .save = path}));
    assert_int_equal(r.completed, 3);
    assert_string_equal(r.path, path);
    expect_saved(path, 3, 0);
    cornu_model_close(r.model);
}

static void files_of_a_checkpoint_callback_are_told_of_as_well(void **state)
{
    (void)state;
    run r = {.model = runs_usual("{epochs: 3, batch_size: 10, "
                                 "callbacks: [{checkpoint: {path: c.safetensors}}]}")};
    expect_ok(train(
        &r, (cornu_fit_options){.size = sizeof(cornu_fit_options), .output = scratch_path("")}));
    assert_int_equal(r.completed, 3);
    cornu_model_close(r.model);
}

/* Asked after the epoch, too: no step more, and no second file of the same. */
static void a_run_can_be_stopped_between_two_epochs(void **state)
{
    (void)state;
    run r = {.left = STEPS + 1};
    const char *path = scratch_path("m.safetensors");
    expect_status(train(&r, (cornu_fit_options){.size = sizeof(cornu_fit_options), .save = path}),
                  CORNU_STOPPED);
    expect_message("stopped after step 5 of 5 in epoch 1 of 3; saved ");
    assert_int_equal(r.completed, 1);
    expect_saved(path, 1, 0);
    cornu_model_close(r.model);
}

static void a_run_without_a_file_is_saved_where_it_is_stopped(void **state)
{
    (void)state;
    char path[1100] = ""; /* named when it is asked to stop */
    run r = {.left = 0};
    expect_ok(
        train(&r, (cornu_fit_options){.size = sizeof(cornu_fit_options), .save_stopped = path}));
    assert_int_equal(r.completed, 0);
    cornu_model_close(r.model);
    for (int stop = STEPS + 1; stop <= STEPS + 3; stop++) {
        snprintf(path, sizeof path, "%s", scratch_path("stopped.safetensors"));
        r = (run){.left = stop};
        expect_status(
            train(&r, (cornu_fit_options){.size = sizeof(cornu_fit_options), .save_stopped = path}),
            CORNU_STOPPED);
        assert_int_equal(r.completed, 1);
        expect_saved(path, 1, stop - STEPS - 1);
        expect_position(r.model, 1, stop - STEPS - 1);
        cornu_model_close(r.model);
    }
    *path = 0;
    r = (run){.left = 1};
    expect_status(
        train(&r, (cornu_fit_options){.size = sizeof(cornu_fit_options), .save_stopped = path}),
        CORNU_STOPPED);
    assert_int_equal(r.completed, 0);
    cornu_model_close(r.model);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_open, scratch_close)
    const struct CMUnitTest tests[] = {
        TEST(every_model_file_is_told_of),
        TEST(files_of_a_checkpoint_callback_are_told_of_as_well),
        TEST(a_run_can_be_stopped_between_two_epochs),
        TEST(a_run_without_a_file_is_saved_where_it_is_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
