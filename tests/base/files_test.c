#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/files.h"
#include "support/scratch.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static void assert_content(const char *path, const char *expected)
{
    char *data;
    size_t size;
    assert_int_equal(file_read(path, 1000, &data, &size), CORNU_OK);
    assert_string_equal(data, expected);
    assert_int_equal(size, strlen(expected));
    free(data);
}

static void write_text(const char *path, const char *content)
{
    file_write w;
    assert_int_equal(file_write_open(path, &w), CORNU_OK);
    assert_int_equal(file_write_bytes(&w, content, strlen(content)), CORNU_OK);
    assert_int_equal(file_write_commit(&w), CORNU_OK);
    file_write_abandon(&w); /* harmless */
}

/* ~/.config/cornu, or $XDG_CONFIG_HOME; a relative path is ignored. */
static void the_users_decisions_have_a_folder(void **state)
{
    (void)state;
    static const struct {
        const char *config, *expected;
    } cases[] = {{NULL, "/home/me/.config/cornu"},
                 {"/here", "/here/cornu"},
                 {"here", "/home/me/.config/cornu"}};
    setenv("HOME", "/home/me", 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *found;
        unsetenv("XDG_CONFIG_HOME");
        if (cases[i].config)
            setenv("XDG_CONFIG_HOME", cases[i].config, 1);
        assert_int_equal(config_folder(&found), CORNU_OK);
        assert_string_equal(found, cases[i].expected);
        free(found);
    }
    unsetenv("XDG_CONFIG_HOME");
}

static void target_is_untouched_until_commit(void **state)
{
    (void)state;
    const char *path = scratch_write("a.txt", "old", 3);
    file_write w;
    assert_int_equal(file_write_open(path, &w), CORNU_OK);
    assert_int_equal(file_write_bytes(&w, "new", 3), CORNU_OK);
    fflush(w.stream);
    assert_content(path, "old");
    file_write_abandon(&w);
    assert_content(path, "old");
    assert_int_equal(scratch_count(), 1);
    write_text(path, "new");
    assert_content(path, "new");
    assert_int_equal(scratch_count(), 1);
}

/* A limit on the file size stands in for a full disk: both fail in write(). */
static void full_disk_is_reported_and_leaves_the_old_file(void **state)
{
    (void)state;
    const char *path = scratch_write("a.txt", "old", 3);
    struct rlimit before, small;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 10000;
    static char block[100000];
    cornu_status write_status, commit_status;
    file_write big, little;
    setrlimit(RLIMIT_FSIZE, &small);
    cornu_status open_status = file_write_open(path, &big);
    write_status = file_write_bytes(&big, block, sizeof block);
    const char *message = strdup(cornu_last_error());
    file_write_abandon(&big);
    small.rlim_cur = 10;
    setrlimit(RLIMIT_FSIZE, &small);
    open_status = open_status ? open_status : file_write_open(path, &little);
    cornu_status small_status = file_write_bytes(&little, block, 100); /* stays in the buffer */
    commit_status = file_write_commit(&little);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    assert_int_equal(open_status, CORNU_OK);
    assert_int_equal(write_status, CORNU_IO);
    assert_non_null(strstr(message, path));
    assert_non_null(strstr(message, "cannot write: File too large"));
    assert_int_equal(small_status, CORNU_OK);
    assert_int_equal(commit_status, CORNU_IO);
    assert_non_null(strstr(cornu_last_error(), "cannot write: File too large"));
    assert_content(path, "old");
    assert_int_equal(scratch_count(), 1);
    free((char *)message);
}

static void full_device_is_reported(void **state)
{
    (void)state;
    file_write w;
    if (access("/dev/full", W_OK) != 0)
        skip();
    assert_int_equal(file_write_open("/dev/full", &w), CORNU_OK);
    assert_int_equal(file_write_bytes(&w, "x", 1), CORNU_OK);
    assert_int_equal(file_write_commit(&w), CORNU_IO);
    assert_string_equal(cornu_last_error(), "/dev/full: cannot write: No space left on device");
}

static void link_is_kept_and_its_target_replaced(void **state)
{
    (void)state;
    const char *target = scratch_path("sub/target.txt"), *link = scratch_path("link");
    struct stat s;
    assert_int_equal(folder_make(scratch_path("sub")), CORNU_OK);
    assert_int_equal(symlink("sub/target.txt", link), 0);
    write_text(link, "first"); /* the target does not exist yet */
    assert_content(target, "first");
    write_text(link, "second");
    assert_content(target, "second");
    assert_int_equal(lstat(link, &s), 0);
    assert_true(S_ISLNK(s.st_mode));
}

static void new_file_has_the_usual_mode_and_an_old_one_keeps_its_own(void **state)
{
    (void)state;
    struct stat s;
    const char *path = scratch_path("a.txt");
    mode_t before = umask(027);
    write_text(path, "x");
    umask(before);
    assert_int_equal(stat(path, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0640);
    assert_int_equal(chmod(path, 0600), 0);
    write_text(path, "y");
    assert_int_equal(stat(path, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0600);
}

static void long_names_and_plain_names_can_be_written(void **state)
{
    (void)state;
    char name[256];
    memset(name, 'n', 255);
    name[255] = 0;
    write_text(scratch_path(name), "long");
    assert_content(scratch_path(name), "long");
    char *before = getcwd(NULL, 0);
    assert_int_equal(chdir(scratch_path("")), 0);
    write_text("plain", "here");
    int back = chdir(before);
    free(before);
    assert_int_equal(back, 0);
    assert_content(scratch_path("plain"), "here");
}

static void reading_names_what_is_wrong(void **state)
{
    (void)state;
    char *data;
    size_t size;
    assert_int_equal(file_read(scratch_path("none"), 10, &data, &size), CORNU_NOT_FOUND);
    assert_non_null(strstr(cornu_last_error(), "none: cannot open: No such file"));
    assert_int_equal(file_read(scratch_path(""), 10, &data, &size), CORNU_IO);
    assert_non_null(strstr(cornu_last_error(), "Is a directory"));
    assert_int_equal(file_read(scratch_write("big", "0123456789x", 11), 10, &data, &size),
                     CORNU_BAD_FILE);
    assert_non_null(strstr(cornu_last_error(), "found 11 bytes; expected at most 10"));
    assert_null(data);
    assert_int_equal(file_write_open(scratch_path("no/where"), &(file_write){0}), CORNU_NOT_FOUND);
    assert_int_equal(file_write_open(scratch_path(""), &(file_write){0}), CORNU_IO);
}

/* No process ever writes into the pipe: if the test hangs, it has failed. */
static void only_regular_files_are_read_and_none_is_waited_for(void **state)
{
    (void)state;
    char *data;
    size_t size;
    int fd;
    uint64_t there;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    assert_int_equal(mkfifo(scratch_path("pipe"), 0600), 0);
    assert_int_equal(symlink("pipe", scratch_path("link")), 0);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%.100s", scratch_path("socket"));
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    const char *const cases[][2] = {
        {scratch_path("pipe"), "pipe: found a pipe; expected a regular file"},
        {scratch_path("link"), "link: found a pipe; expected a regular file"},
        {scratch_path("socket"), "socket: found a socket; expected a regular file"},
        {"/dev/zero", "/dev/zero: found a device; expected a regular file"},
        {scratch_path(""), "cannot read: Is a directory"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(file_read(cases[i][0], 1000, &data, &size), CORNU_IO);
        assert_non_null(strstr(cornu_last_error(), cases[i][1]));
        assert_int_equal(file_open_regular(cases[i][0], &fd, &there), CORNU_IO);
        assert_int_equal(fd, -1);
    }
    close(listener);
}

static void a_file_that_is_cut_while_it_is_read_is_an_error(void **state)
{
    (void)state;
    int fd;
    uint64_t size;
    char data[8] = "";
    const char *path = scratch_write("a", "01234567", 8);
    assert_int_equal(file_open_regular(path, &fd, &size), CORNU_OK);
    assert_int_equal(size, 8);
    assert_int_equal(file_read_at(path, fd, 2, data, 6), CORNU_OK);
    assert_memory_equal(data, "234567", 6);
    assert_int_equal(truncate(path, 5), 0);
    assert_int_equal(file_read_at(path, fd, 2, data, 6), CORNU_BAD_FILE);
    assert_non_null(strstr(cornu_last_error(), "found its end at byte 5; expected it at 8"));
    close(fd);
}

static void an_empty_file_can_be_read(void **state)
{
    (void)state;
    assert_content(scratch_write("empty", "", 0), "");
}

static void paths_are_taken_apart_and_joined(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"", "b", "b"}, {"/", "b", "/b"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *joined;
        assert_int_equal(path_join(cases[i][0], cases[i][1], &joined), CORNU_OK);
        assert_string_equal(joined, cases[i][2]);
        free(joined);
    }
    assert_string_equal(path_base("/a/b.c"), "b.c");
    assert_string_equal(path_base("b"), "b");
    assert_true(path_has_ending("x/Y.NPZ", ".npz"));
    assert_false(path_has_ending("npz", ".npz"));
    assert_int_equal(folder_make(scratch_path("p/q/r/")), CORNU_OK);
    assert_int_equal(folder_make(scratch_path("p/q/r")), CORNU_OK);
    assert_true(folder_exists(scratch_path("p/q/r")));
    scratch_write("file", "x", 1);
    assert_int_not_equal(folder_make(scratch_path("file/x")), CORNU_OK);
    assert_int_not_equal(folder_make(scratch_path("file")), CORNU_OK);
    assert_true(file_exists(scratch_path("file")));
    assert_false(file_exists(scratch_path("p")));
}

/* Not "No such file or directory", which a later look would find. */
static void a_folder_that_cannot_be_made_says_why(void **state)
{
    (void)state;
    static const char *const places[] = {"/sys/cornu-test", "/cornu-test"};
    for (int i = 0; i < 2; i++) {
        if (mkdir(places[i], 0777) == 0) {
            rmdir(places[i]); /* root may do it */
            continue;
        }
        const char *why = strerror(errno);
        char inside[64];
        snprintf(inside, sizeof inside, "%s/x", places[i]);
        assert_int_equal(folder_make(inside), CORNU_IO);
        assert_non_null(strstr(cornu_last_error(), why));
    }
}

#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_open, scratch_close)

/* A file whose stated size is 0: its length is unknown before its end. */
static cornu_status read_unsized(size_t limit, size_t *size)
{
    char *data = NULL;
    cornu_status status = file_read("/proc/version", limit, &data, size);
    free(data);
    return status;
}

static void as_many_bytes_as_the_limit_are_read_and_one_more_is_refused(void **state)
{
    (void)state;
    const char *path = scratch_write("ten", "0123456789", 10);
    char *data;
    size_t size;
    assert_int_equal(file_read(path, 10, &data, &size), CORNU_OK);
    assert_int_equal(size, 10);
    assert_string_equal(data, "0123456789");
    free(data);
    assert_int_equal(file_read(path, 9, &data, &size), CORNU_BAD_FILE);
    assert_int_equal(read_unsized(10000, &size), CORNU_OK);
    size_t whole = size;
    assert_true(whole > 0);
    assert_int_equal(read_unsized(whole, &size), CORNU_OK);
    assert_int_equal(size, whole);
    assert_int_equal(read_unsized(whole - 1, &size), CORNU_BAD_FILE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_users_decisions_have_a_folder),
        IN_SCRATCH(target_is_untouched_until_commit),
        IN_SCRATCH(full_disk_is_reported_and_leaves_the_old_file),
        IN_SCRATCH(full_device_is_reported),
        IN_SCRATCH(link_is_kept_and_its_target_replaced),
        IN_SCRATCH(new_file_has_the_usual_mode_and_an_old_one_keeps_its_own),
        IN_SCRATCH(long_names_and_plain_names_can_be_written),
        IN_SCRATCH(reading_names_what_is_wrong),
        IN_SCRATCH(only_regular_files_are_read_and_none_is_waited_for),
        IN_SCRATCH(a_file_that_is_cut_while_it_is_read_is_an_error),
        IN_SCRATCH(an_empty_file_can_be_read),
        cmocka_unit_test(a_folder_that_cannot_be_made_says_why),
        IN_SCRATCH(paths_are_taken_apart_and_joined),
        cmocka_unit_test_setup_teardown(as_many_bytes_as_the_limit_are_read_and_one_more_is_refused,
                                        scratch_open, scratch_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
