/* The published figures against those of the posts, which are written down here once more. */
#include "base/files.h"
#include "bench/bench.h"
#include "model/model.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const published_figure *figure_of(const char *workload, const char *hardware)
{
    for (const published_figure *f = published_figures; f->workload; f++)
        if (strcmp(f->workload, workload) == 0 && strcmp(f->hardware, hardware) == 0)
            return f;
    fail_msg("no figure of %s on %s", workload, hardware);
    return NULL;
}

/* The seconds of each epoch. */
static void figures_of_the_photographs_are_those_of_the_posts_epochs(void **state)
{
    (void)state;
    static const struct {
        const char *hardware;
        double epochs[5], accuracy;
    } posts[] = {{"i7-10750H", {424, 413, 413, 408, 408}, 0.7906},
                 {"RTX 2060", {38, 42, 45, 44, 45}, 0.7594}};
    for (int i = 0; i < 2; i++) {
        const published_figure *f = figure_of("photos-cnn", posts[i].hardware);
        double sum = 0;
        for (int k = 0; k < 5; k++)
            sum += posts[i].epochs[k];
        assert_true(f->total_seconds == sum);
        assert_true(f->epoch_seconds == round(sum / 5));
        assert_true(f->accuracy == posts[i].accuracy);
    }
}

static void totals_are_the_posts_minutes_and_epochs_the_posts_or_a_share(void **state)
{
    (void)state;
    static const struct {
        const char *workload, *hardware;
        int minutes, seconds, epochs;
        double epoch, accuracy;
    } posts[] = {{"cifar10-mlp", "unnamed CPU", 9, 53, 10, 59, 0.5619},
                 {"cifar10-mlp", "unnamed GPU", 2, 26, 10, 9, 0.5606},
                 {"cifar100-mlp", "Azure NC4as T4 v3", 17, 55, 100, 0, 0},
                 {"cifar100-mlp", "Tesla T4", 5, 43, 100, 0, 0}};
    for (int i = 0; i < 4; i++) {
        const published_figure *f = figure_of(posts[i].workload, posts[i].hardware);
        double total = 60 * posts[i].minutes + posts[i].seconds;
        assert_true(f->total_seconds == total);
        double epoch = posts[i].epoch > 0 ? posts[i].epoch : total / posts[i].epochs;
        assert_true(fabs(f->epoch_seconds - epoch) < 1e-9);
        assert_true(f->accuracy == posts[i].accuracy);
    }
}

static void epochs_of_the_six_convolutions_are_the_posts(void **state)
{
    (void)state;
    static const struct {
        const char *hardware;
        double epoch;
    } posts[] = {{"i5-8250U", 320}, {"i7-9700K", 36},   {"MX150", 36},     {"Colab GPU", 16},
                 {"GTX 1060", 9},   {"GTX 1080 Ti", 4}, {"Colab TPU", 382}};
    for (int i = 0; i < 7; i++) {
        const published_figure *f = figure_of("cifar10-cnn", posts[i].hardware);
        assert_true(f->epoch_seconds == posts[i].epoch);
        assert_true(f->total_seconds == 0 && f->accuracy == 0);
    }
}

static void every_figure_says_what_it_is(void **state)
{
    (void)state;
    for (const published_figure *f = published_figures; f->workload; f++) {
        assert_true(*f->note != 0);
        if (f->accuracy > 0)
            assert_true(strstr(f->note, "accuracy") || strstr(f->note, "digits"));
        bool known = false;
        for (const bench_workload *w = bench_workloads; w->name; w++)
            known |= strcmp(w->name, f->workload) == 0;
        assert_true(known);
    }
}

/* The posts give no times for MNIST and no number of steps. */
static void recipes_claim_no_published_times_that_are_not_there(void **state)
{
    (void)state;
    for (const bench_workload *w = bench_workloads; w->name; w++) {
        bool timed = false;
        for (const published_figure *f = published_figures; f->workload; f++)
            timed |= strcmp(f->workload, w->name) == 0 && f->epoch_seconds > 0;
        const char *recipe = recipe_text(w->name);
        assert_non_null(recipe);
        if (!timed && (strstr(recipe, "as published") || strstr(recipe, "20,000")))
            fail_msg("%s claims what no post gives", w->name);
    }
}

/* "413 s i7-10750H", as the report prints it. */
static void the_page_of_the_benchmark_shows_these_figures(void **state)
{
    (void)state;
    char *readme;
    size_t size;
    assert_int_equal(file_read(SOURCE_FOLDER "/docs/command-line.md", 1 << 20, &readme, &size),
                     CORNU_OK);
    for (const published_figure *f = published_figures; f->workload; f++) {
        char shown[64];
        int digits = f->epoch_seconds < 99.5 ? 1 : 0;
        snprintf(shown, sizeof shown, "%.*f s %s", digits, f->epoch_seconds, f->hardware);
        if (f->epoch_seconds > 0 && !memmem(readme, size, shown, strlen(shown)))
            fail_msg("docs/command-line.md does not say %s", shown);
    }
    free(readme);
}

static void every_recipe_is_a_workload(void **state)
{
    (void)state;
    for (int i = 0; embedded_recipes[i].name; i++) {
        bool known = false;
        for (const bench_workload *w = bench_workloads; w->name; w++)
            known |= strcmp(w->name, embedded_recipes[i].name) == 0;
        if (!known)
            fail_msg("%s cannot be timed", embedded_recipes[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_of_the_photographs_are_those_of_the_posts_epochs),
        cmocka_unit_test(totals_are_the_posts_minutes_and_epochs_the_posts_or_a_share),
        cmocka_unit_test(epochs_of_the_six_convolutions_are_the_posts),
        cmocka_unit_test(every_figure_says_what_it_is),
        cmocka_unit_test(recipes_claim_no_published_times_that_are_not_there),
        cmocka_unit_test(the_page_of_the_benchmark_shows_these_figures),
        cmocka_unit_test(every_recipe_is_a_workload),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
