/* Limits on the size and memory of a picture, alone and together with others (docs/images.md). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/images/image.h"
#include "support/made.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <cornu/images.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

static void sides_pixels_and_bytes_are_bounded(void **state)
{
    (void)state;
    static const struct {
        int64_t height, width, channels, besides;
        size_t file_bytes;
        int orientation;
        const char *refusal; /* or NULL */
    } cases[] = {
        {1, 65535, 3, 0, 100, 1, NULL},
        {65535, 1, 3, 0, 100, 1, NULL},
        {1, 65536, 1, 0, 1000000000, 1, "image of 65536x1 pixels; expected sides of 1 to 65535"},
        {65536, 1, 1, 0, 1000000000, 1, "image of 1x65536 pixels"},
        {0, 5, 1, 0, 100, 1, "image of 5x0 pixels"},
        {5, -1, 1, 0, 100, 1, "image of -1x5 pixels"},
        {10001, 20000, 1, 0, 1000000000, 1, "at most 200 million pixels"},
        {10000, 16000, 1, 0, 1, 1, NULL},
        {10000, 16001, 1, 0, 1, 1,
         "image of 16001x10000 pixels: decoding takes 160 MB, of a file of 1 B; expected at most "
         "160 MB (160 times the file's size, or that of 1 MB)"},
        {10000, 16001, 1, 0, 1000000, 1, "of a file of 1.0 MB"},
        {10000, 16001, 1, 0, 1000100, 1, NULL},
        {8000, 10000, 1, 80000001, 1, 1, "image of 10000x8000"},
        {8000, 10000, 1, 80000000, 1, 1, NULL},
        {8001, 10000, 1, 0, 1, 6, "image of 10000x8001"},
        {8000, 10000, 1, 0, 1, 6, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        image out = {.file_bytes = cases[i].file_bytes, .orientation = cases[i].orientation};
        cornu_status status = image_allocate(cases[i].height, cases[i].width, cases[i].channels,
                                             cases[i].besides, &out);
        if (!cases[i].refusal) {
            expect_ok(status);
        } else {
            expect_status(status, CORNU_BAD_FILE);
            expect_message(cases[i].refusal);
        }
        image_close(&out);
    }
}

/* Larger than any camera's single shot, and as wide as a panorama. */
static void large_photographs_are_read(void **state)
{
    (void)state;
    float v[3];
    made_jpeg("photo.jpg", 8752, 11662, 1, (uint8_t[]){77});
    expect_ok(made_read(scratch_path("photo.jpg"), 1, 1, 1, v));
    assert_float_equal(v[0] * 255, 77, 1.01);
    float *row = calloc(30000 * 3, sizeof *row);
    row[3 * 15000 + 1] = 1;
    expect_ok(cornu_image_write_png(scratch_path("wide.png"), 1, 30000, 3, row));
    expect_ok(made_read(scratch_path("wide.png"), 1, 1, 3, v));
    assert_float_equal(v[1], 1, 0);
    free(row);
}

/* ---- concurrent decoding ---- */

enum { THREADS = 8, TURNS = 200, ROOM = 1000 };

static void *take_turns(void *context)
{
    image_budget *b = context;
    for (int i = 0; i < TURNS; i++) {
        int64_t bytes = 100 + 97 * i % 700;
        image_budget_take(b, bytes, 0);
        sched_yield();
        image_budget_return(b, bytes, 0);
    }
    return NULL;
}

static void together_they_stay_within_the_budget(void **state)
{
    (void)state;
    image_budget b;
    pthread_t threads[THREADS];
    image_budget_open(&b, ROOM, 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_turns, &b), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_in_range(b.peak, 1, ROOM);
    assert_int_equal(b.taken, 0);
    assert_int_equal(b.serving, THREADS * TURNS);
    image_budget_close(&b);
}

static void files_bring_room_of_their_own(void **state)
{
    (void)state;
    image_budget b;
    image_budget_open(&b, ROOM, 100000);
    image_budget_take(&b, ROOM, 0);
    image_budget_take(&b, IMAGE_BUDGET_TIMES * 50, 50); /* must not wait */
    assert_int_equal(b.taken, ROOM + IMAGE_BUDGET_TIMES * 50);
    image_budget_return(&b, ROOM, 0);
    image_budget_return(&b, IMAGE_BUDGET_TIMES * 50, 50);
    assert_int_equal(b.taken + b.files, 0);
    image_budget_close(&b);
}

typedef struct waiter {
    image_budget *budget;
    int64_t bytes;
    pthread_t thread;
} waiter;

static void *take_one(void *context)
{
    waiter *w = context;
    image_budget_take(w->budget, w->bytes, 0);
    return NULL;
}

static uint64_t locked(image_budget *b, const uint64_t *value)
{
    pthread_mutex_lock(&b->lock);
    uint64_t found = *value;
    pthread_mutex_unlock(&b->lock);
    return found;
}

/* Start a thread that takes, and wait until it stands in line. */
static void stand_in_line(waiter *w)
{
    uint64_t before = locked(w->budget, &w->budget->next);
    assert_int_equal(pthread_create(&w->thread, NULL, take_one, w), 0);
    while (locked(w->budget, &w->budget->next) == before)
        sched_yield();
}

/* So a picture larger than the whole budget does not wait for ever. */
static void who_comes_first_is_served_first(void **state)
{
    (void)state;
    image_budget b;
    image_budget_open(&b, ROOM, 0);
    image_budget_take(&b, ROOM / 2, 0);
    waiter large = {&b, 5 * ROOM, 0}, small = {&b, 1, 0};
    stand_in_line(&large);
    stand_in_line(&small);
    assert_int_equal(locked(&b, &b.serving), 1);
    image_budget_return(&b, ROOM / 2, 0);
    pthread_join(large.thread, NULL);
    assert_int_equal(locked(&b, &b.serving), 2); /* the small one waits, though it came before */
    image_budget_return(&b, 5 * ROOM, 0);
    pthread_join(small.thread, NULL);
    image_budget_return(&b, 1, 0);
    assert_int_equal(b.peak, 5 * ROOM);
    image_budget_close(&b);
}

static void a_picture_takes_its_part_until_it_is_closed(void **state)
{
    (void)state;
    image_budget b;
    image i;
    char path[1024];
    image_budget_open(&b, ROOM, 0);
    snprintf(path, sizeof path, "%s", made_file("a.pgm", "P5 2 2 255\n1234", 15));
    expect_ok(image_open_within(path, &b, &i));
    assert_int_equal(b.taken, 4);
    assert_int_equal(b.files, 15);
    image_close(&i);
    assert_int_equal(b.taken + b.files, 0);
    expect_status(image_open_within(made_file("a.pgm", "P5 2 2 255\n123", 14), &b, &i),
                  CORNU_BAD_FILE);
    assert_int_equal(b.taken + b.files, 0);
    image_budget_close(&b);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, made_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sides_pixels_and_bytes_are_bounded),
        TEST(large_photographs_are_read),
        TEST(together_they_stay_within_the_budget),
        TEST(files_bring_room_of_their_own),
        TEST(who_comes_first_is_served_first),
        TEST(a_picture_takes_its_part_until_it_is_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
