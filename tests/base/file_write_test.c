/* Writing files: the order of the calls that bring a file to the disk, and the result when a call
   fails or the process is killed. The linker replaces the system's functions by those below
   (tests/CMakeLists.txt). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/files.h"
#include "support/scratch.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- recorded calls and injected failures ------------------------------------------------- */

/* One letter per call: w some bytes of the file were written out, F the file was synced, R renamed,
   D its folder synced. The call in `failing` fails with `error`. */
static char events[64];
static char failing;
static int error;
static off_t synced_size;
static const char *beside; /* another process writes this at the next rename */
static bool stolen;        /* a temporary file was removed before it was locked */
static int interrupts;     /* number of the next calls that a signal interrupts */

static int happens(char event, int result)
{
    size_t length = strlen(events);
    if (length + 1 < sizeof events)
        events[length] = event;
    if (event != failing)
        return result;
    errno = error;
    return -1;
}

static bool is_interrupted(void)
{
    if (interrupts == 0)
        return false;
    interrupts--;
    errno = EINTR;
    return true;
}

/* At most a few bytes at a time, as after a signal. */
ssize_t __real_write(int fd, const void *data, size_t size);
ssize_t __wrap_write(int fd, const void *data, size_t size);
ssize_t __wrap_write(int fd, const void *data, size_t size)
{
    bool some = size > 3 && is_interrupted();
    if (!some && is_interrupted())
        return -1;
    return __real_write(fd, data, some ? 3 : size);
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    struct stat s;
    if (is_interrupted())
        return -1;
    assert_int_equal(fstat(fd, &s), 0);
    if (S_ISREG(s.st_mode))
        synced_size = s.st_size;
    return happens(S_ISDIR(s.st_mode) ? 'D' : 'F', __real_fsync(fd));
}

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to)
{
    int result = happens('R', 0);
    file_write other;
    if (beside) {
        assert_int_equal(file_write_open(beside, &other), CORNU_OK);
        file_write_abandon(&other);
    }
    return result ? result : __real_rename(from, to);
}

int __wrap_sync_file_range(int fd, off_t offset, off_t bytes, unsigned flags);
int __wrap_sync_file_range(int fd, off_t offset, off_t bytes, unsigned flags)
{
    (void)fd;
    (void)offset;
    (void)bytes;
    (void)flags;
    return happens('w', 0);
}

int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
int __wrap_flock(int fd, int operation)
{
    char link[64], path[1024];
    if (stolen) {
        stolen = false;
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(link, path, sizeof path - 1);
        assert_true(length > 0);
        path[length] = 0;
        unlink(path);
    }
    return __real_flock(fd, operation);
}

static int open_all(void **state)
{
    memset(events, 0, sizeof events);
    failing = 0;
    error = EIO;
    synced_size = -1;
    interrupts = 0;
    return scratch_open(state);
}

/* ---- helpers ------------------------------------------------------------------------------ */

enum { LARGE = 20 << 20 };
static char block[LARGE];

static void assert_content(const char *path, const char *expected)
{
    char *data;
    size_t size;
    assert_int_equal(file_read(path, LARGE, &data, &size), CORNU_OK);
    assert_string_equal(data, expected);
    free(data);
}

static cornu_status write_text(const char *path, const char *content)
{
    file_write w;
    cornu_status status = file_write_open(path, &w);
    if (status == CORNU_OK)
        status = file_write_bytes(&w, content, strlen(content));
    return status == CORNU_OK ? file_write_commit(&w) : status;
}

static bool exists(const char *name)
{
    struct stat s;
    return lstat(scratch_path(name), &s) == 0;
}

/* ---- order and failures ------------------------------------------------------------------- */

static void a_file_is_synced_before_it_is_renamed_and_its_folder_after(void **state)
{
    (void)state;
    const char *path = scratch_write("a.txt", "old", 3);
    assert_int_equal(write_text(path, "new bytes"), CORNU_OK);
    assert_string_equal(events, "FRD");
    assert_int_equal(synced_size, 9); /* all bytes were written by then */
    assert_content(path, "new bytes");
}

/* The old file stays, or (if only the folder could not be synced) the new one is complete. */
static void each_failure_is_reported_and_loses_nothing(void **state)
{
    (void)state;
    static const struct {
        char event;
        int error;
        const char *content, *message;
    } cases[] = {
        {'F', EIO, "old", "cannot write: Input/output error"},
        {'F', ENOSPC, "old", "cannot write: No space left on device"},
        {'R', EACCES, "old", "cannot write: Permission denied"},
        {'R', EXDEV, "old", "cannot write: Invalid cross-device link"},
        {'D', EIO, "new", "cannot write the folder of: Input/output error"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = scratch_write("a.txt", "old", 3);
        failing = cases[i].event;
        error = cases[i].error;
        assert_int_equal(write_text(path, "new"), CORNU_IO);
        assert_non_null(strstr(cornu_last_error(), path));
        assert_non_null(strstr(cornu_last_error(), cases[i].message));
        assert_content(path, cases[i].content);
        assert_int_equal(scratch_count(), 1);
    }
}

static void a_folder_that_knows_no_fsync_is_no_failure(void **state)
{
    (void)state;
    failing = 'D';
    error = EINVAL;
    assert_int_equal(write_text(scratch_path("a.txt"), "new"), CORNU_OK);
}

/* The caller may check the commit's status alone. */
static void an_earlier_failure_is_not_forgotten(void **state)
{
    (void)state;
    const char *path = scratch_write("a.txt", "old", 3);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    struct rlimit before, small;
    file_write w;
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 10000;
    assert_int_equal(file_write_open(path, &w), CORNU_OK);
    setrlimit(RLIMIT_FSIZE, &small);
    cornu_status first = file_write_bytes(&w, block, 100000);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    assert_int_equal(first, CORNU_IO);
    assert_int_equal(file_write_commit(&w), CORNU_IO);
    assert_content(path, "old");
    /* A disk that reports an error for some bytes does not report it again. */
    failing = 'w';
    assert_int_equal(file_write_open(path, &w), CORNU_OK);
    assert_int_equal(file_write_bytes(&w, block, LARGE), CORNU_IO);
    failing = 0;
    assert_int_equal(file_write_commit(&w), CORNU_IO);
    assert_content(path, "old");
    assert_int_equal(scratch_count(), 1);
}

static void a_signal_interrupts_no_write_and_no_sync(void **state)
{
    (void)state;
    const char *path = scratch_path("f");
    interrupts = 3;
    assert_int_equal(write_text(path, "0123456789"), CORNU_OK);
    assert_int_equal(interrupts, 0);
    assert_content(path, "0123456789");
    file_write w;
    assert_int_equal(file_write_open(path, &w), CORNU_OK);
    assert_int_equal(file_write_bytes(&w, "ab", 2), CORNU_OK);
    interrupts = 5; /* of the write, which makes no progress, and of the file's fsync */
    assert_int_equal(file_write_commit(&w), CORNU_OK);
    assert_int_equal(interrupts, 0);
    assert_content(path, "ab");
}

static void a_pipe_is_no_place_for_what_nobody_has_named(void **state)
{
    (void)state;
    file_write w;
    const char *path = scratch_path("pipe");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(file_write_open_regular(path, &w), CORNU_IO);
    assert_non_null(strstr(cornu_last_error(), "found a device or pipe; expected a regular file"));
    assert_int_equal(file_write_open_regular(scratch_path("f"), &w), CORNU_OK);
    file_write_abandon(&w);
}

/* ---- temporary files ---------------------------------------------------------------------- */

/* A process that is killed while it writes `name`. */
static void be_killed_while_writing(const char *name)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        file_write w;
        if (file_write_open(scratch_path(name), &w) == CORNU_OK)
            (void)file_write_bytes(&w, "half", 4);
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void what_a_killed_process_left_goes_with_the_next_write(void **state)
{
    (void)state;
    char name[256];
    memset(name, 'n', 255);
    name[255] = 0;
    be_killed_while_writing("a.txt");
    assert_int_equal(scratch_count(), 1);
    be_killed_while_writing(name); /* the write of this one came first */
    assert_int_equal(scratch_count(), 1);
    assert_int_equal(write_text(scratch_path("b.txt"), "b"), CORNU_OK);
    assert_int_equal(scratch_count(), 1);
    assert_content(scratch_path("b.txt"), "b");
}

static void make_file(const char *name)
{
    int fd = open(scratch_path(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
}

/* An archive of an earlier cornu also leaves libzip's own file; while that cornu lives, it locks
   the file beside it. */
static void what_libzip_left_goes_when_its_writer_has_died(void **state)
{
    (void)state;
    make_file(".x.keras.cornu-AAAAAA.bbbbbb");
    make_file(".x.keras.cornu-BBBBBB");
    make_file(".x.keras.cornu-BBBBBB.cccccc");
    make_file(".x.keras.cornu-CCCCCC");
    make_file(".x.keras.cornu-CCCCCC.dddddd");
    make_file(".x.keras.cornu-DDDDDD.dddd"); /* no file of cornu's */
    make_file(".x.keras.bbbbbb");
    make_file(".a.bbbbbb");
    int writer = open(scratch_path(".x.keras.cornu-CCCCCC"), O_RDWR | O_CLOEXEC);
    assert_int_equal(__real_flock(writer, LOCK_EX), 0);
    assert_int_equal(write_text(scratch_path("b.txt"), "b"), CORNU_OK);
    assert_false(exists(".x.keras.cornu-AAAAAA.bbbbbb"));
    assert_false(exists(".x.keras.cornu-BBBBBB"));
    assert_false(exists(".x.keras.cornu-BBBBBB.cccccc"));
    assert_true(exists(".x.keras.cornu-CCCCCC") && exists(".x.keras.cornu-CCCCCC.dddddd"));
    close(writer);
    assert_int_equal(write_text(scratch_path("b.txt"), "b"), CORNU_OK);
    assert_int_equal(scratch_count(), 4);
}

static void what_is_being_written_stays(void **state)
{
    (void)state;
    file_write w;
    assert_int_equal(file_write_open(scratch_path("a.txt"), &w), CORNU_OK);
    assert_int_equal(write_text(scratch_path("b.txt"), "b"), CORNU_OK);
    assert_int_equal(write_text(scratch_path("a.txt"), "first"), CORNU_OK);
    assert_int_equal(scratch_count(), 3);
    assert_int_equal(file_write_bytes(&w, "second", 6), CORNU_OK);
    assert_int_equal(file_write_commit(&w), CORNU_OK);
    assert_content(scratch_path("a.txt"), "second");
    assert_int_equal(scratch_count(), 2);
}

/* Even when its stream is closed. */
static void what_is_about_to_be_renamed_stays(void **state)
{
    (void)state;
    beside = scratch_path("b.txt");
    cornu_status status = write_text(scratch_path("a.txt"), "new");
    beside = NULL;
    assert_int_equal(status, CORNU_OK);
    assert_content(scratch_path("a.txt"), "new");
}

static void files_of_other_names_and_kinds_stay(void **state)
{
    (void)state;
    static const char *const others[] = {
        ".a.txt.backup",       "a.txt.cornu-abcdef",   ".a.txt.cornu-abcde",
        ".a.txt.cornu-abcde-", ".a.txt.cornu-abcdef.", ".cornu-abcdef/x",
    };
    assert_int_equal(folder_make(scratch_path(".cornu-abcdef")), CORNU_OK);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        scratch_write(others[i], "x", 1);
    scratch_write("target", "x", 1);
    assert_int_equal(symlink("target", scratch_path(".link.cornu-abcdef")), 0);
    assert_int_equal(mkfifo(scratch_path(".pipe.cornu-abcdef"), 0600), 0);
    scratch_write(".a.txt.cornu-aZ09bc", "x", 1); /* this one is removed */
    assert_int_equal(write_text(scratch_path("a.txt"), "new"), CORNU_OK);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_true(exists(others[i]));
    assert_true(exists("target") && exists(".link.cornu-abcdef") && exists(".pipe.cornu-abcdef"));
    assert_false(exists(".a.txt.cornu-aZ09bc"));
}

/* Between creation and locking, a file looks like that of a dead process. */
static void a_file_that_is_removed_before_it_is_locked_is_made_again(void **state)
{
    (void)state;
    stolen = true;
    assert_int_equal(write_text(scratch_path("a.txt"), "new"), CORNU_OK);
    assert_false(stolen);
    assert_content(scratch_path("a.txt"), "new");
    assert_int_equal(scratch_count(), 1);
}

static void checking_makes_no_file_and_refuses_as_writing_does(void **state)
{
    (void)state;
    char name[300];
    memset(name, 'n', 299);
    name[299] = 0;
    scratch_write("file", "x", 1);
    assert_int_equal(symlink("sub/none", scratch_path("dangling")), 0);
    const char *const names[] = {"", "none/x", "file/x", "dangling", name, "file", "new"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cornu_status checked = file_write_check(scratch_path(names[i]));
        assert_int_equal(scratch_count(), 2);
        file_write w = {0};
        assert_int_equal(file_write_open(scratch_path(names[i]), &w), checked);
        assert_true((checked == CORNU_OK) == (i >= 5));
        file_write_abandon(&w);
    }
    assert_int_equal(file_write_check(""), CORNU_INVALID);
    assert_int_equal(file_write_check("/dev/null"), CORNU_OK);
}

/* ---- progress reports --------------------------------------------------------------------- */

typedef struct told {
    int before, parts, complete; /* numbers of calls */
    int64_t done;
    bool right;
} told;

static void note(void *user, const cornu_saving *now)
{
    told *t = user;
    struct stat s;
    bool there = now->temporary && stat(now->temporary, &s) == 0 && s.st_size <= now->done;
    if (now->complete)
        t->right &= !now->temporary && now->done == LARGE &&
                    strcmp(events + strlen(events) - 3, "FRD") == 0;
    else
        t->right &= t->before == 0 ? !now->temporary && scratch_count() == 0 : there;
    t->right &= now->total == LARGE && now->done >= t->done && !t->complete;
    t->parts += t->before > 0 && !now->complete;
    t->before = 1;
    t->complete += now->complete;
    t->done = now->done;
}

static void who_watches_is_told_before_between_and_after(void **state)
{
    (void)state;
    told t = {.right = true};
    file_write w;
    file_watch watch = {.on_write = note, .user = &t};
    const char *path = scratch_path("a.txt");
    assert_int_equal(file_write_open_watched(path, LARGE, &watch, &w), CORNU_OK);
    assert_int_equal(file_write_bytes(&w, block, LARGE), CORNU_OK);
    assert_int_equal(file_write_commit(&w), CORNU_OK);
    assert_true(t.right);
    assert_int_equal(t.complete, 1);
    assert_int_equal(t.parts, 1 + LARGE / (8 << 20));
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, open_all, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_is_synced_before_it_is_renamed_and_its_folder_after),
        TEST(each_failure_is_reported_and_loses_nothing),
        TEST(a_folder_that_knows_no_fsync_is_no_failure),
        TEST(an_earlier_failure_is_not_forgotten),
        TEST(what_a_killed_process_left_goes_with_the_next_write),
        TEST(a_signal_interrupts_no_write_and_no_sync),
        TEST(a_pipe_is_no_place_for_what_nobody_has_named),
        TEST(what_libzip_left_goes_when_its_writer_has_died),
        TEST(what_is_being_written_stays),
        TEST(what_is_about_to_be_renamed_stays),
        TEST(files_of_other_names_and_kinds_stay),
        TEST(a_file_that_is_removed_before_it_is_locked_is_made_again),
        TEST(checking_makes_no_file_and_refuses_as_writing_does),
        TEST(who_watches_is_told_before_between_and_after),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
