/* How files become samples: the place of the decoded pixels, and decoding in the background, change
   none of them. Each picture has one grey, which identifies it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/data.h"
#include "support/made.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <cornu/data.h>
#include <cornu/images.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PICTURES = 40, BAD = 13 };

static notices said;

/* f/a/NN.pgm, of which number BAD is truncated. */
static void make_folder(void)
{
    char name[64];
    for (int i = 0; i < PICTURES; i++) {
        snprintf(name, sizeof name, "f/%s/%02d.pgm", i % 2 ? "b" : "a", i);
        made_grey(name, i);
        if (i == BAD)
            assert_int_equal(truncate(scratch_path(name), 11), 0);
    }
}

static cornu_status open_until(cornu_folder_options o, bool (*should_stop)(void *user),
                               cornu_data **data)
{
    static char folder[1100];
    snprintf(folder, sizeof folder, "%s", scratch_path(""));
    said = (notices){.count = 0};
    o.size = sizeof o;
    o.cache_folder = folder;
    o.height = o.height ? o.height : 1;
    o.width = o.channels = 1;
    const cornu_data_options options = {.size = sizeof options,
                                        .images = &o,
                                        .on_notice = notices_add,
                                        .should_stop = should_stop,
                                        .user = &said};
    return cornu_data_open(scratch_path("f"), &options, data);
}

static cornu_status open_with(cornu_folder_options o, cornu_data **data)
{
    return open_until(o, NULL, data);
}

static cornu_data *must_open(cornu_folder_options o)
{
    cornu_data *data = NULL;
    expect_ok(open_with(o, &data));
    return data;
}

static cornu_data_loading loading_of(const cornu_data *data)
{
    cornu_data_loading loading = {.size = sizeof loading};
    expect_ok(cornu_data_loading_get(data, &loading));
    return loading;
}

/* All but the bad one, by class, then name. */
static void expect_samples(const cornu_data *data)
{
    int64_t at = 0;
    for (int label = 0; label < 2; label++)
        for (int i = label; i < PICTURES; i += 2) {
            float grey;
            int found;
            if (i == BAD)
                continue;
            expect_ok(cornu_data_sample(data, CORNU_TRAIN, at++, &grey, 1, &found));
            assert_float_equal(grey * 255, i, 1e-3);
            assert_int_equal(found, label);
        }
    assert_int_equal(made_count(data, CORNU_TRAIN), PICTURES - 1);
}

static void no_cache_and_no_worker_changes_a_sample(void **state)
{
    (void)state;
    static const char *const caches[] = {NULL, "1GB", "1B", "file", "memory", "off"};
    make_folder();
    for (int i = 0; i < 6; i++)
        for (int workers = 0; workers <= 12; workers += 4)
            for (int background = 0; background < 2; background++) {
                cornu_folder_options o = {
                    .cache = caches[i], .workers = workers, .background = background};
                cornu_data *data = must_open(o);
                expect_samples(data);
                expect_samples(data); /* "off" decodes them again */
                assert_int_equal(loading_of(data).skipped, 1);
                assert_non_null(strstr(said.lines, "13.pgm: "));
                assert_null(strstr(strstr(said.lines, "13.pgm: ") + 1, "13.pgm: "));
                cornu_data_close(data);
            }
}

static void a_wrong_cache_is_told(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "4", "GB", "4 GB", "-1GB", "nanGB", "on", "infGB"};
    cornu_data *data = NULL;
    make_folder();
    for (int i = 0; i < 8; i++) {
        expect_status(open_with((cornu_folder_options){.cache = wrong[i]}, &data), CORNU_INVALID);
        expect_message("expected off, file, memory, or a size such as 4GB");
    }
    expect_status(open_with((cornu_folder_options){.workers = -1}, &data), CORNU_INVALID);
    expect_message("workers: found -1; expected 1 to 256");
    cornu_folder_options huge = {.cache = "900TB", .height = 10000};
    data = must_open(huge); /* the option is a limit, not a requirement */
    cornu_data_close(data);
}

/* ---- the cache file ----------------------------------------------------------------------- */

static void expect_from_file(int64_t cached)
{
    cornu_data *data = must_open((cornu_folder_options){.cache = "file"});
    expect_samples(data);
    cornu_data_loading loading = loading_of(data);
    assert_int_equal(loading.cached, cached);
    assert_int_equal(loading.decoded, PICTURES - 1 - cached);
    cornu_data_close(data);
}

static void a_later_run_finds_the_pixels_of_files_that_did_not_change(void **state)
{
    (void)state;
    make_folder();
    expect_from_file(0);
    expect_from_file(PICTURES - 1);
    struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    assert_int_equal(utimensat(AT_FDCWD, scratch_path("f/a/04.pgm"), times, 0), 0);
    expect_from_file(PICTURES - 2);
    expect_from_file(PICTURES - 1);
}

static void another_size_makes_the_file_anew(void **state)
{
    (void)state;
    make_folder();
    expect_from_file(0);
    cornu_data *data = must_open((cornu_folder_options){.cache = "file", .height = 2});
    assert_int_equal(loading_of(data).cached, 0);
    cornu_data_close(data);
    expect_from_file(0);
}

/* Every byte in turn would take too long: some bytes of each section of the file. */
static void a_damaged_cache_gives_no_wrong_pixel(void **state)
{
    (void)state;
    char path[1100];
    struct stat s;
    make_folder();
    expect_from_file(0);
    snprintf(path, sizeof path, "%s", scratch_path("f.pixels"));
    assert_int_equal(stat(path, &s), 0);
    for (off_t at = 0; at < s.st_size; at += at < 200 ? 7 : at < 4096 ? 61 : 3) {
        FILE *f = fopen(path, "r+b");
        assert_non_null(f);
        fseek(f, at, SEEK_SET);
        int byte = fgetc(f);
        fseek(f, at, SEEK_SET);
        fputc(byte ^ 0x55, f);
        fclose(f);
        if (at < 16) { /* no longer ours */
            cornu_data *data;
            expect_status(open_with((cornu_folder_options){.cache = "file"}, &data),
                          CORNU_BAD_FILE);
            unlink(path);
        }
        cornu_data *data = must_open((cornu_folder_options){.cache = "file"});
        expect_samples(data);
        cornu_data_close(data);
    }
}

static void a_file_that_is_no_cache_is_left_alone(void **state)
{
    (void)state;
    cornu_data *data = NULL;
    char found[32] = "";
    make_folder();
    scratch_write("f.pixels", "my only copy", 12);
    expect_status(open_with((cornu_folder_options){.cache = "file"}, &data), CORNU_BAD_FILE);
    expect_message("f.pixels: found a file that is no cache of pixels");
    FILE *f = fopen(scratch_path("f.pixels"), "rb");
    assert_non_null(f);
    assert_int_equal(fread(found, 1, sizeof found, f), 12);
    assert_string_equal(found, "my only copy");
    fclose(f);
}

/* A link is never followed. */
static void a_link_in_place_of_the_cache_is_refused(void **state)
{
    (void)state;
    cornu_data *data = NULL;
    struct stat s;
    make_folder();
    scratch_write("precious", "", 0); /* an empty file would be accepted */
    assert_int_equal(symlink("precious", scratch_path("f.pixels")), 0);
    expect_status(open_with((cornu_folder_options){.cache = "file"}, &data), CORNU_BAD_FILE);
    expect_message("f.pixels: found a link; expected a cache of pixels, or none");
    assert_int_equal(stat(scratch_path("precious"), &s), 0);
    assert_int_equal(s.st_size, 0);
    assert_int_equal(unlink(scratch_path("f.pixels")), 0);
    assert_int_equal(mkfifo(scratch_path("f.pixels"), 0600), 0);
    expect_status(open_with((cornu_folder_options){.cache = "file"}, &data), CORNU_BAD_FILE);
    expect_message("f.pixels: found a file that is no cache of pixels");
}

/* A mapping of the file would end the process with SIGBUS. */
static void a_cache_that_is_cut_while_it_is_used_changes_no_sample(void **state)
{
    (void)state;
    static const char *const caches[] = {"file", "1B"};
    make_folder();
    for (int i = 0; i < 2; i++)
        for (int background = 0; background < 2; background++)
            for (off_t size = 0; size <= 5000; size += 1000) {
                cornu_folder_options o = {.cache = caches[i], .background = background};
                cornu_data *data = must_open(o);
                expect_samples(data);
                assert_int_equal(truncate(scratch_path("f.pixels"), size), 0);
                expect_samples(data);
                expect_samples(data);
                cornu_data_close(data);
                assert_int_equal(unlink(scratch_path("f.pixels")), 0); /* its header may be gone */
            }
}

/* Once in the cache file, a picture is not decoded again, though memory holds none. */
static void what_memory_does_not_hold_comes_from_the_file(void **state)
{
    (void)state;
    make_folder();
    cornu_data *data = must_open((cornu_folder_options){.cache = "1B"});
    for (int i = 0; i < 3; i++)
        expect_samples(data);
    assert_int_equal(loading_of(data).decoded, PICTURES - 1);
    assert_int_equal(loading_of(data).cached, 0);
    cornu_data_close(data);
    expect_from_file(PICTURES - 1);
}

static void two_at_once_do_not_share_a_cache_file(void **state)
{
    (void)state;
    cornu_data *other = NULL;
    make_folder();
    cornu_data *data = must_open((cornu_folder_options){.cache = "file"});
    expect_status(open_with((cornu_folder_options){.cache = "file"}, &other), CORNU_IO);
    expect_message("f.pixels: found another process at work with it");
    expect_samples(data);
    cornu_data_close(data);
}

/* A limit on the file size stands in for a full disk. */
static struct rlimit disk_before;
static bool disk_is_full;

static void fill_disk(rlim_t bytes)
{
    struct rlimit small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &disk_before), 0);
    small = disk_before;
    small.rlim_cur = bytes;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    disk_is_full = true;
}

static void empty_disk(void)
{
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &disk_before), 0);
    signal(SIGXFSZ, SIG_DFL);
    disk_is_full = false;
}

/* A test that failed may have left the disk full. */
static int close_test(void **state)
{
    if (disk_is_full)
        empty_disk();
    return scratch_close(state);
}

static int count_of(const char *part)
{
    int count = 0;
    for (const char *at = said.lines; (at = strstr(at, part)); at++)
        count++;
    return count;
}

static void a_full_disk_is_told_before_anything_is_decoded(void **state)
{
    (void)state;
    cornu_data *data = NULL;
    make_folder();
    for (rlim_t left = 0; left <= 4000; left += 40) {
        fill_disk(left);
        cornu_status status = open_with((cornu_folder_options){.cache = "file"}, &data);
        empty_disk();
        expect_status(status, CORNU_IO);
        expect_message("f.pixels: cannot make room for");
        struct stat s;
        assert_int_not_equal(stat(scratch_path("f.pixels"), &s), 0);
    }
}

/* The file is only for pixels that do not fit into memory: the run can do without. */
static void without_room_for_a_file_that_nobody_asked_for_a_run_goes_on(void **state)
{
    (void)state;
    make_folder();
    for (int background = 0; background < 2; background++) {
        fill_disk(4000);
        cornu_data *data =
            must_open((cornu_folder_options){.cache = "1B", .background = background});
        expect_samples(data);
        expect_samples(data);
        empty_disk();
        assert_true(loading_of(data).decoded > PICTURES);
        assert_int_equal(count_of("f.pixels: cannot make room for"), 1);
        assert_int_equal(count_of("; this run goes on without it"), 1);
        cornu_data_close(data);
        struct stat s;
        assert_int_not_equal(stat(scratch_path("f.pixels"), &s), 0);
    }
}

/* Not every file system keeps its promise: here the file exists, but takes no more data. */
static void a_disk_that_fills_up_meanwhile_is_told_once_and_changes_no_sample(void **state)
{
    (void)state;
    static const char *const caches[] = {"file", "1B"};
    make_folder();
    for (int i = 0; i < 2; i++)
        for (int background = 0; background < 2; background++) {
            cornu_folder_options o = {.cache = caches[i], .background = background};
            cornu_data_close(must_open(o));
            for (int k = 0; k < PICTURES; k += 2) { /* those of the other class are still good */
                struct timespec times[2] = {{.tv_sec = 1000000000 + 4 * i + background},
                                            {.tv_sec = 1000000000 + 4 * i + background}};
                char name[64];
                snprintf(name, sizeof name, "f/a/%02d.pgm", k);
                assert_int_equal(utimensat(AT_FDCWD, scratch_path(name), times, 0), 0);
            }
            fill_disk(4000);
            cornu_data *data = must_open(o);
            expect_samples(data);
            expect_samples(data);
            empty_disk();
            assert_int_equal(count_of("f.pixels: cannot write: File too large; this run goes on"),
                             1);
            cornu_data_close(data);
            assert_int_equal(unlink(scratch_path("f.pixels")), 0);
        }
}

/* See tests/CMakeLists.txt. `left_behind`: the file that a process killed in the first call would
   leave. */
int __real_posix_fallocate(int fd, off_t offset, off_t bytes);
int __wrap_posix_fallocate(int fd, off_t offset, off_t bytes);
static const char *left_behind;

int __wrap_posix_fallocate(int fd, off_t offset, off_t bytes)
{
    int error = __real_posix_fallocate(fd, offset, bytes);
    static char content[8192];
    if (left_behind) {
        ssize_t size = pread(fd, content, sizeof content, 0);
        assert_true(size > 0);
        scratch_write(left_behind, content, (size_t)size);
        left_behind = NULL;
    }
    return error;
}

static void a_cache_that_was_left_unfinished_is_made_anew(void **state)
{
    (void)state;
    make_folder();
    left_behind = "left";
    expect_from_file(0);
    assert_int_equal(rename(scratch_path("left"), scratch_path("f.pixels")), 0);
    expect_from_file(0);
    expect_from_file(PICTURES - 1);
}

/* ---- files that change meanwhile ---------------------------------------------------------- */

static void a_file_that_vanishes_is_named_where_it_is_needed_again(void **state)
{
    (void)state;
    float grey;
    make_folder();
    cornu_data *kept = must_open((cornu_folder_options){.cache = "1GB"});
    cornu_data *passing = must_open((cornu_folder_options){.cache = "off"});
    assert_int_equal(unlink(scratch_path("f/a/02.pgm")), 0);
    expect_ok(cornu_data_sample(kept, CORNU_TRAIN, 1, &grey, 1, NULL));
    assert_float_equal(grey * 255, 2, 1e-3);
    expect_status(cornu_data_sample(passing, CORNU_TRAIN, 1, &grey, 1, NULL), CORNU_BAD_FILE);
    expect_message("02.pgm: no such file (it could be read before: changed meanwhile?)");
    cornu_data_close(kept);
    cornu_data_close(passing);
}

static void in_the_background_a_missing_file_is_left_out(void **state)
{
    (void)state;
    make_folder();
    cornu_folder_options o = {.background = true, .cache = "off"}; /* nothing is read ahead */
    cornu_data *data = must_open(o);
    assert_int_equal(made_count(data, CORNU_TRAIN), PICTURES); /* none is known to be bad */
    assert_int_equal(unlink(scratch_path("f/a/02.pgm")), 0);
    float grey;
    expect_ok(cornu_data_sample(data, CORNU_TRAIN, 1, &grey, 1, NULL));
    assert_float_equal(grey * 255, 4, 1e-3);
    assert_int_equal(made_count(data, CORNU_TRAIN), PICTURES - 2);
    assert_non_null(strstr(said.lines, "02.pgm: no such file; skipped"));
    cornu_data_close(data);
}

static void with_strict_all_files_are_read_first(void **state)
{
    (void)state;
    cornu_data *data = NULL;
    make_folder();
    cornu_folder_options o = {.background = true, .strict = true};
    expect_status(open_with(o, &data), CORNU_BAD_FILE);
    expect_message("(strict: found 1 such file in ");
}

static void closing_waits_for_nothing_that_is_not_begun(void **state)
{
    (void)state;
    make_folder();
    for (int i = 0; i < 50; i++)
        cornu_data_close(must_open((cornu_folder_options){.background = true, .workers = 3}));
}

static bool stop_after_some(void *user)
{
    (void)user;
    static int calls;
    return ++calls % 5 == 0;
}

/* The stop comes while files are awaited. */
static void decoding_can_be_stopped(void **state)
{
    (void)state;
    cornu_data *data = NULL;
    make_folder();
    cornu_folder_options o = {.cache = "off", .workers = 1};
    expect_status(open_until(o, stop_after_some, &data), CORNU_STOPPED);
    expect_message("stopped while waiting for ");
    assert_null(data);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, made_open, close_test)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(no_cache_and_no_worker_changes_a_sample),
        TEST(a_wrong_cache_is_told),
        TEST(a_later_run_finds_the_pixels_of_files_that_did_not_change),
        TEST(another_size_makes_the_file_anew),
        TEST(a_damaged_cache_gives_no_wrong_pixel),
        TEST(a_file_that_is_no_cache_is_left_alone),
        TEST(a_link_in_place_of_the_cache_is_refused),
        TEST(a_cache_that_is_cut_while_it_is_used_changes_no_sample),
        TEST(what_memory_does_not_hold_comes_from_the_file),
        TEST(two_at_once_do_not_share_a_cache_file),
        TEST(a_full_disk_is_told_before_anything_is_decoded),
        TEST(without_room_for_a_file_that_nobody_asked_for_a_run_goes_on),
        TEST(a_disk_that_fills_up_meanwhile_is_told_once_and_changes_no_sample),
        TEST(a_cache_that_was_left_unfinished_is_made_anew),
        TEST(a_file_that_vanishes_is_named_where_it_is_needed_again),
        TEST(in_the_background_a_missing_file_is_left_out),
        TEST(with_strict_all_files_are_read_first),
        TEST(closing_waits_for_nothing_that_is_not_begun),
        TEST(decoding_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
