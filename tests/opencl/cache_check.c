/* The cache of compiled kernels: what is read is what was written under the same key, whole, or
   nothing; and no writer leaves anything else behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/opencl/plugin/core.h"
#include "support/scratch.h"
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 300000 };
static unsigned char content[2][SIZE];
static const opencl_cache_key key = {"unit", "kernel void f() {}", "-D N=1", "a device\n1.0\n"};

static int open_cache(void **state)
{
    for (int i = 0; i < SIZE; i++) {
        content[0][i] = (unsigned char)(i * 7);
        content[1][i] = (unsigned char)(i * 13 + 1);
    }
    int failed = scratch_open(state);
    setenv("XDG_CACHE_HOME", scratch_path(""), 1);
    setenv("HOME", scratch_path("home"), 1);
    return failed;
}

/* Is `content[which]` read? -1: there is nothing. */
static int read_content(const opencl_cache_key *k)
{
    unsigned char *data;
    size_t size;
    int which = -1;
    opencl_cache_read(k, &data, &size);
    if (!data)
        return -1;
    for (int i = 0; i < 2; i++)
        if (size == SIZE && memcmp(data, content[i], SIZE) == 0)
            which = i;
    free(data);
    if (which < 0)
        fail_msg("found %zu bytes that nobody wrote", size);
    return which;
}

static void write_content(const opencl_cache_key *k, int which)
{
    opencl_cache_write(k, content[which], SIZE);
}

/* Files in the folder; *path: the last of those that are no temporary ones. */
static int files(char *path, size_t size)
{
    int count = 0;
    DIR *folder = opendir(scratch_path("cornu/opencl"));
    for (struct dirent *e; folder && (e = readdir(folder));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        count++;
        if (*e->d_name != '.')
            snprintf(path, size, "%s/%s", scratch_path("cornu/opencl"), e->d_name);
    }
    if (folder)
        closedir(folder);
    return count;
}

static void what_was_written_is_read_under_the_same_key_alone(void **state)
{
    (void)state;
    opencl_cache_key other[4] = {key, key, key, key};
    assert_int_equal(read_content(&key), -1);
    write_content(&key, 0);
    assert_int_equal(read_content(&key), 0);
    other[0].unit = "other";
    other[1].source = "kernel void f(){}";
    other[2].options = "-D N=2";
    other[3].device = "a device\n1.1\n";
    for (int i = 0; i < 4; i++)
        assert_int_equal(read_content(&other[i]), -1);
    write_content(&key, 1);
    assert_int_equal(read_content(&key), 1);
}

/* ---- damage ---------------------------------------------------------------------------------- */

static size_t load(const char *path, unsigned char *data, size_t room)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t size = fread(data, 1, room, f);
    fclose(f);
    return size;
}

static void store(const char *path, const unsigned char *data, size_t size)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    fclose(f);
}

static void a_damaged_file_is_as_good_as_none(void **state)
{
    static unsigned char whole[SIZE + 4096], bad[SIZE + 4096];
    char path[2048] = "";
    (void)state;
    write_content(&key, 0);
    assert_int_equal(files(path, sizeof path), 1);
    size_t size = load(path, whole, sizeof whole);
    for (size_t at = 0; at < size; at += at < 200 ? 1 : 9973) { /* one bit */
        memcpy(bad, whole, size);
        bad[at] ^= 4;
        store(path, bad, size);
        assert_int_equal(read_content(&key), -1);
    }
    for (size_t length = 0; length < size; length += length < 200 ? 1 : 9973) { /* cut short */
        store(path, whole, length);
        assert_int_equal(read_content(&key), -1);
    }
    memcpy(bad, whole, size);
    store(path, bad, size + 1); /* and one byte too long */
    assert_int_equal(read_content(&key), -1);
    write_content(&key, 1);
    assert_int_equal(read_content(&key), 1);
}

static void what_is_no_file_is_as_good_as_none(void **state)
{
    char path[2048] = "";
    (void)state;
    write_content(&key, 0);
    files(path, sizeof path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0); /* nobody writes: it must not wait */
    assert_int_equal(read_content(&key), -1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(read_content(&key), -1);
    write_content(&key, 0);
    assert_int_equal(read_content(&key), -1);
    assert_int_equal(files(path, sizeof path), 1);
}

/* ---- writers --------------------------------------------------------------------------------- */

/* A process that writes one content after the other, without end. */
static pid_t writer(void)
{
    pid_t pid = fork();
    if (pid == 0)
        for (int i = 0;; i++)
            write_content(&key, i % 2);
    return pid;
}

static void killed_at_any_moment_a_writer_leaves_a_whole_file(void **state)
{
    enum { MOMENTS = 100 };
    char path[2048];
    int found[3] = {0};
    (void)state;
    srand(1);
    for (int i = 0; i < MOMENTS; i++) {
        pid_t pid = writer();
        nanosleep(&(struct timespec){.tv_nsec = 1000L * (rand() % 60000)}, NULL);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        found[1 + read_content(&key)]++;
    }
    assert_true(found[1] > 0 && found[2] > 0);
    write_content(&key, 0); /* removes what the killed ones left */
    assert_int_equal(read_content(&key), 0);
    assert_int_equal(files(path, sizeof path), 1);
}

static void readers_see_whole_files_while_two_write(void **state)
{
    char path[2048];
    (void)state;
    write_content(&key, 0);
    pid_t pid[2] = {writer(), writer()};
    for (int i = 0; i < 300; i++)
        assert_true(read_content(&key) >= 0);
    for (int i = 0; i < 2; i++) {
        kill(pid[i], SIGKILL);
        waitpid(pid[i], NULL, 0);
    }
    write_content(&key, 1);
    assert_int_equal(read_content(&key), 1);
    assert_int_equal(files(path, sizeof path), 1);
}

static void a_full_disk_costs_the_new_file_and_no_old_one(void **state)
{
    struct rlimit before, small;
    char path[2048];
    (void)state;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    write_content(&key, 0);
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    for (rlim_t size = 0; size < SIZE; size += SIZE / 4) {
        small.rlim_cur = size;
        setrlimit(RLIMIT_FSIZE, &small);
        write_content(&key, 1);
        setrlimit(RLIMIT_FSIZE, &before);
        assert_int_equal(read_content(&key), 0);
        assert_int_equal(files(path, sizeof path), 1);
    }
    signal(SIGXFSZ, handler);
    write_content(&key, 1);
    assert_int_equal(read_content(&key), 1);
}

static void without_a_home_nothing_is_kept(void **state)
{
    static const char *const caches[] = {NULL, "", "relative", "/proc/nowhere"};
    (void)state;
    unsetenv("HOME");
    for (size_t i = 0; i < sizeof caches / sizeof *caches; i++) {
        if (caches[i])
            setenv("XDG_CACHE_HOME", caches[i], 1);
        else
            unsetenv("XDG_CACHE_HOME");
        write_content(&key, 0);
        assert_int_equal(read_content(&key), -1);
    }
    setenv("XDG_CACHE_HOME", scratch_write("file", "", 0), 1); /* no folder */
    write_content(&key, 0);
    assert_int_equal(read_content(&key), -1);
    assert_int_equal(access("relative", F_OK), -1);
}

/* Neither its reader nor its writer is waited for. */
static void a_pipe_in_place_of_an_entry_keeps_nobody(void **state)
{
    (void)state;
    char path[1024];
    write_content(&key, 0);
    assert_int_equal(files(path, sizeof path), 1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    alarm(60); /* ends the process that waits */
    assert_int_equal(read_content(&key), -1);
    write_content(&key, 1);
    assert_int_equal(read_content(&key), -1);
    alarm(0);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, open_cache, scratch_close)
    const struct CMUnitTest tests[] = {
        TEST(what_was_written_is_read_under_the_same_key_alone),
        TEST(a_damaged_file_is_as_good_as_none),
        TEST(what_is_no_file_is_as_good_as_none),
        TEST(a_pipe_in_place_of_an_entry_keeps_nobody),
        TEST(killed_at_any_moment_a_writer_leaves_a_whole_file),
        TEST(readers_see_whole_files_while_two_write),
        TEST(a_full_disk_costs_the_new_file_and_no_old_one),
        TEST(without_a_home_nothing_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
