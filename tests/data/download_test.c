/* Downloads are checked, resumed and atomic; archives stay in their folder. The server is a thread
   of this program on the loopback interface. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/files.h"
#include "base/memory.h"
#include "data/sets/datasets.h"
#include "data/sha256.h"
#include "support/made.h"
#include "support/scratch.h"
#include <archive.h>
#include <archive_entry.h>
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- a server ---- */

typedef struct server {
    int listener, port;
    pthread_t thread;
    const char *body;
    size_t size;
    bool ignores_range;
    size_t cut_after;   /* 0: never; only the first answer is truncated */
    const char *status; /* instead of 200 */
    int requests;
    long last_start; /* of the last Range; -1: none */
} server;

static void answer(server *s, int connection)
{
    char request[4096] = "", head[256];
    size_t got = 0;
    while (got < sizeof request - 1 && !strstr(request, "\r\n\r\n")) {
        ssize_t part = recv(connection, request + got, sizeof request - 1 - got, 0);
        if (part <= 0)
            return;
        got += (size_t)part;
        request[got] = 0;
    }
    const char *range = strstr(request, "Range: bytes=");
    s->requests++;
    s->last_start = range ? strtol(range + 13, NULL, 10) : -1;
    size_t start = range && !s->ignores_range ? (size_t)s->last_start : 0;
    start = start > s->size ? s->size : start;
    size_t send_bytes = s->size - start;
    int length =
        start ? snprintf(head, sizeof head,
                         "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes %zu-%zu/%zu\r\n"
                         "Content-Length: %zu\r\nConnection: close\r\n\r\n",
                         start, s->size - 1, s->size, send_bytes)
              : snprintf(head, sizeof head,
                         "HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
                         s->status ? s->status : "200 OK", send_bytes);
    if (s->cut_after && s->requests == 1)
        send_bytes = s->cut_after;
    if (send(connection, head, (size_t)length, MSG_NOSIGNAL) == length)
        while (send_bytes > 0) {
            ssize_t sent = send(connection, s->body + start, send_bytes, MSG_NOSIGNAL);
            if (sent <= 0)
                return;
            start += (size_t)sent;
            send_bytes -= (size_t)sent;
        }
}

static void *serve(void *user)
{
    server *s = user;
    for (int connection; (connection = accept(s->listener, NULL, NULL)) >= 0;) {
        answer(s, connection);
        close(connection);
    }
    return NULL;
}

static void server_open(server *s)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    s->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(s->listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(s->listener, 8), 0);
    assert_int_equal(getsockname(s->listener, (struct sockaddr *)&address, &size), 0);
    s->port = ntohs(address.sin_port);
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void server_close(server *s)
{
    shutdown(s->listener, SHUT_RDWR); /* accept returns */
    pthread_join(s->thread, NULL);
    close(s->listener);
}

/* ---- a file to download ---- */

#define BODY_SIZE 300000
static char body[BODY_SIZE], body_sha256[65], url[128];

static dataset_file served_file(server *s)
{
    for (int i = 0; i < BODY_SIZE; i++)
        body[i] = (char)(i * 31 + i / 251);
    assert_int_equal(sha256_of(body, BODY_SIZE, body_sha256), CORNU_OK);
    s->body = body;
    s->size = BODY_SIZE;
    server_open(s);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/file.bin", s->port);
    return (dataset_file){"file.bin", url, body_sha256, BODY_SIZE};
}

static void assert_is_body(const char *path)
{
    char *data;
    size_t size;
    assert_int_equal(file_read(path, 1 << 20, &data, &size), CORNU_OK);
    assert_int_equal(size, BODY_SIZE);
    assert_memory_equal(data, body, BODY_SIZE);
    free(data);
}

static void assert_failed(cornu_status found, cornu_status status, const char *message)
{
    if (found != status || !strstr(cornu_last_error(), message))
        fail_msg("found %s (%s); expected %s (%s)", cornu_status_name(found), cornu_last_error(),
                 cornu_status_name(status), message);
}

static int64_t last_done;

static void on_progress(void *user, const char *file, int64_t done, int64_t total)
{
    (void)user;
    assert_string_equal(file, "file.bin");
    assert_int_equal(total, BODY_SIZE);
    assert_true(done <= total);
    last_done = done;
}

static void sha256_gives_the_published_digests(void **state)
{
    (void)state;
    static const struct {
        const char *text, *hex;
    } cases[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    char hex[65];
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sha256_of(cases[i].text, strlen(cases[i].text), hex), CORNU_OK);
        assert_string_equal(hex, cases[i].hex);
    }
    static char many[1000000]; /* a million times "a", read from a file in several pieces */
    memset(many, 'a', sizeof many);
    scratch_write("many", many, sizeof many);
    assert_int_equal(sha256_file(scratch_path("many"), hex), CORNU_OK);
    assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void a_file_arrives_whole_and_checked(void **state)
{
    (void)state;
    server s = {0};
    dataset_file file = served_file(&s);
    cornu_data_options options = {.size = sizeof options, .on_progress = on_progress};
    const char *path = scratch_path("new/folder/file.bin");
    assert_int_equal(download_file(&file, path, &options), CORNU_OK);
    assert_is_body(path);
    assert_int_equal(last_done, BODY_SIZE);
    assert_false(file_exists(scratch_path("new/folder/file.bin.part")));
    server_close(&s);
}

static void an_interrupted_download_goes_on_where_it_stopped(void **state)
{
    (void)state;
    server s = {.cut_after = 100000};
    dataset_file file = served_file(&s);
    const char *path = scratch_path("file.bin");
    assert_failed(download_file(&file, path, NULL), CORNU_NETWORK, "to do it by hand, put it into");
    assert_false(file_exists(path));
    assert_int_equal(download_file(&file, path, NULL), CORNU_OK);
    assert_int_equal(s.last_start, 100000);
    assert_is_body(path);
    server_close(&s);
}

static bool stop_at_once(void *user)
{
    (void)user;
    return true;
}

static void a_download_that_is_stopped_can_go_on_later(void **state)
{
    (void)state;
    server s = {0};
    dataset_file file = served_file(&s);
    cornu_data_options options = {.size = sizeof options, .should_stop = stop_at_once};
    const char *path = scratch_path("file.bin");
    assert_failed(download_file(&file, path, &options), CORNU_STOPPED,
                  "stopped; the next download");
    assert_false(file_exists(path));
    assert_int_equal(download_file(&file, path, NULL), CORNU_OK);
    assert_is_body(path);
    server_close(&s);
}

static void a_server_that_cannot_resume_sends_all_again(void **state)
{
    (void)state;
    server s = {.cut_after = 1000, .ignores_range = true};
    dataset_file file = served_file(&s);
    const char *path = scratch_path("file.bin");
    assert_int_equal(download_file(&file, path, NULL), CORNU_NETWORK);
    assert_int_equal(download_file(&file, path, NULL), CORNU_OK);
    assert_is_body(path);
    server_close(&s);
}

static void a_complete_part_is_only_checked(void **state)
{
    (void)state;
    server s = {0};
    dataset_file file = served_file(&s);
    scratch_write("file.bin.part", body, BODY_SIZE);
    assert_int_equal(download_file(&file, scratch_path("file.bin"), NULL), CORNU_OK);
    assert_int_equal(s.requests, 0);
    assert_is_body(scratch_path("file.bin"));
    server_close(&s);
}

static void a_wrong_digest_leaves_nothing(void **state)
{
    (void)state;
    server s = {0};
    dataset_file file = served_file(&s);
    scratch_write("file.bin.part", "damaged", 7);
    assert_failed(download_file(&file, scratch_path("file.bin"), NULL), CORNU_NETWORK,
                  "damaged or changed; removed");
    assert_int_equal(scratch_count(), 0);
    server_close(&s);
}

/* Neither a server's data nor its refusal reaches a file that the part links to. */
static void a_part_that_is_a_link_or_pipe_is_refused(void **state)
{
    (void)state;
    char *data;
    size_t size;
    server s = {0};
    alarm(60);
    dataset_file file = served_file(&s);
    for (int hard = 0; hard < 2; hard++) {
        const char *precious = scratch_write("precious", "my only copy", 12);
        const char *part = scratch_path("file.bin.part");
        assert_int_equal(hard ? link(precious, part) : symlink("precious", part), 0);
        assert_failed(download_file(&file, scratch_path("file.bin"), NULL), CORNU_IO,
                      "file.bin.part: found a link, pipe or folder");
        assert_int_equal(file_read(precious, 100, &data, &size), CORNU_OK);
        assert_string_equal(data, "my only copy");
        free(data);
        assert_int_equal(unlink(part), 0); /* it is still there */
    }
    assert_int_equal(mkfifo(scratch_path("file.bin.part"), 0600), 0);
    assert_failed(download_file(&file, scratch_path("file.bin"), NULL), CORNU_IO,
                  "found a link, pipe or folder");
    assert_int_equal(s.requests, 0);
    alarm(0);
    server_close(&s);
}

static void another_length_is_refused(void **state)
{
    (void)state;
    server s = {0};
    dataset_file file = served_file(&s);
    file.bytes = BODY_SIZE - 1;
    assert_failed(download_file(&file, scratch_path("file.bin"), NULL), CORNU_NETWORK,
                  "found more than 299999 bytes; expected 299999");
    file.bytes = BODY_SIZE + 1;
    assert_failed(download_file(&file, scratch_path("file.bin"), NULL), CORNU_NETWORK,
                  "found only 300000 bytes; expected 300001");
    s.status = "404 Not Found";
    assert_failed(download_file(&file, scratch_path("file.bin"), NULL), CORNU_NETWORK, "404");
    server_close(&s);
    assert_failed(download_file(&file, scratch_path("file.bin"), NULL), CORNU_NETWORK, url);
    assert_int_equal(scratch_count(), 1 - !file_exists(scratch_path("file.bin.part")));
}

/* ---- archives ---- */

typedef struct member {
    const char *name;
    mode_t type;
    const char *link;
} member;

static const char *make_archive(const char *name, const member *members, int count)
{
    const char *path = scratch_path(name);
    struct archive *a = archive_write_new();
    archive_write_add_filter_gzip(a);
    archive_write_set_format_ustar(a);
    archive_write_open_filename(a, path);
    for (int i = 0; i < count; i++) {
        struct archive_entry *entry = archive_entry_new();
        archive_entry_set_pathname(entry, members[i].name);
        archive_entry_set_filetype(entry, members[i].type ? members[i].type : AE_IFREG);
        archive_entry_set_perm(entry, 0777);
        archive_entry_set_size(entry, members[i].type || members[i].link ? 0 : 1000);
        if (members[i].link && members[i].type == AE_IFLNK)
            archive_entry_set_symlink(entry, members[i].link);
        else if (members[i].link)
            archive_entry_set_hardlink(entry, members[i].link);
        assert_int_equal(archive_write_header(a, entry), ARCHIVE_OK);
        if (!members[i].type && !members[i].link)
            archive_write_data(a, body, 1000);
        archive_entry_free(entry);
    }
    archive_write_close(a);
    archive_write_free(a);
    return path;
}

static void archives_unpack(void **state)
{
    (void)state;
    const member good[] = {{"d", AE_IFDIR, NULL}, {"d/a.bin", 0, NULL}, {"e/f/b..bin", 0, NULL}};
    make_archive("good.tar.gz", good, 3);
    assert_int_equal(archive_unpack(scratch_path("good.tar.gz"), scratch_path("out"), 2000, NULL),
                     CORNU_OK);
    struct stat info;
    assert_int_equal(stat(scratch_path("out/d/a.bin"), &info), 0);
    assert_int_equal(info.st_size, 1000);
    assert_int_equal(info.st_mode & 0111, 0); /* data is never made executable */
    assert_true(file_exists(scratch_path("out/e/f/b..bin")));
    assert_int_equal(folder_remove(scratch_path("out")), CORNU_OK);
    assert_false(folder_exists(scratch_path("out")));
}

static void members_that_would_leave_the_folder_are_refused(void **state)
{
    (void)state;
    static const struct {
        member members[2];
        int count;
        const char *message;
    } cases[] = {
        {{{"../evil", 0, NULL}}, 1, "member \"../evil\" would leave the folder"},
        {{{"a/../../evil", 0, NULL}}, 1, "would leave the folder"},
        {{{"/tmp/cornu-evil", 0, NULL}}, 1, "would leave the folder"},
        {{{"a/..", AE_IFDIR, NULL}}, 1, "would leave the folder"},
        {{{"a\\..\\evil", 0, NULL}}, 1, "would leave the folder"},
        {{{"link", AE_IFLNK, "/tmp"}, {"link/evil", 0, NULL}}, 2, "member \"link\" is a link"},
        {{{"a", 0, NULL}, {"b", 0, "a"}}, 2, "member \"b\" is a link"},
        {{{"pipe", AE_IFIFO, NULL}}, 1, "member \"pipe\" is a device or the like"},
        {{{"a", 0, NULL}, {"a", 0, NULL}}, 2, "holds a twice"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_archive("bad.tar.gz", cases[i].members, cases[i].count);
        assert_failed(
            archive_unpack(scratch_path("bad.tar.gz"), scratch_path("out"), 1 << 20, NULL),
            CORNU_BAD_FILE, cases[i].message);
        assert_false(file_exists(scratch_path("evil")));
        assert_false(file_exists("/tmp/cornu-evil"));
        folder_remove(scratch_path("out"));
    }
}

static void archives_that_are_too_large_or_damaged_are_refused(void **state)
{
    (void)state;
    const member good[] = {{"a", 0, NULL}, {"b", 0, NULL}};
    make_archive("two.tar.gz", good, 2);
    assert_failed(archive_unpack(scratch_path("two.tar.gz"), scratch_path("out"), 1999, NULL),
                  CORNU_BAD_FILE, "unpacks to more than 1999 bytes");
    struct stat info;
    stat(scratch_path("two.tar.gz"), &info);
    assert_int_equal(truncate(scratch_path("two.tar.gz"), info.st_size / 2), 0);
    assert_failed(archive_unpack(scratch_path("two.tar.gz"), scratch_path("out2"), 1 << 20, NULL),
                  CORNU_BAD_FILE, "truncated");
    scratch_write("text.tar.gz", "no archive", 10);
    assert_failed(archive_unpack(scratch_path("text.tar.gz"), scratch_path("out3"), 1 << 20, NULL),
                  CORNU_BAD_FILE, "text.tar.gz");
    assert_failed(archive_unpack(scratch_path("none.tar.gz"), scratch_path("out4"), 1 << 20, NULL),
                  CORNU_NOT_FOUND, "none.tar.gz");
}

/* ---- whole sets ---- */

/* A small CIFAR-10 in an archive, and a row for it. */
typedef struct small_set {
    dataset row;
    dataset_file files[2];
    char hex[65], url[600];
} small_set;

static void small_set_open(small_set *s)
{
    struct stat info;
    char command[2048];
    made_cifar10("made/cifar-10-batches-bin", 2);
    snprintf(command, sizeof command, "tar -czf %s -C %s cifar-10-batches-bin",
             scratch_path("small.tar.gz"), scratch_path("made"));
    assert_int_equal(system(command), 0);
    assert_int_equal(sha256_file(scratch_path("small.tar.gz"), s->hex), CORNU_OK);
    assert_int_equal(stat(scratch_path("small.tar.gz"), &info), 0);
    snprintf(s->url, sizeof s->url, "file://%s", scratch_path("small.tar.gz"));
    s->files[0] = (dataset_file){"cifar-10-binary.tar.gz", s->url, s->hex, info.st_size};
    s->files[1] = (dataset_file){NULL, NULL, NULL, 0};
    s->row = *dataset_named("cifar10");
    s->row.files = s->files;
    setenv("CORNU_DATA", scratch_path("cache"), 1);
}

static void a_set_is_downloaded_unpacked_and_found(void **state)
{
    (void)state;
    small_set s;
    data_location location = {0};
    small_set_open(&s);
    char guessed[64];
    snprintf(guessed, sizeof guessed, "cache/.cifar-10-batches-bin.%ld/mine", (long)getpid());
    made_file(guessed, "mine", 4); /* the folder where it unpacks cannot be guessed */
    assert_int_equal(dataset_fetch(&s.row, NULL, &location), CORNU_OK);
    assert_true(file_exists(scratch_path(guessed)));
    assert_string_equal(location.folder, scratch_path("cache/cifar-10-batches-bin"));
    free(location.folder);
    cornu_data *data = NULL;
    assert_int_equal(cornu_data_open("cifar10", NULL, &data), CORNU_OK);
    assert_int_equal(data->block[0].count, 10);
    cornu_data_close(data);
    assert_false(file_exists(scratch_path("cache/cifar-10-binary.tar.gz")));
    unsetenv("CORNU_DATA");
}

/* Its folder also appears complete or not at all. */
static void unpacking_that_is_stopped_leaves_nothing(void **state)
{
    (void)state;
    small_set s;
    data_location location = {.set = &s.row};
    cornu_data_options options = {.size = sizeof options, .should_stop = stop_at_once};
    small_set_open(&s);
    assert_int_equal(memory_copy_string(scratch_path(""), &location.folder), CORNU_OK);
    assert_int_equal(rename(scratch_path("small.tar.gz"), scratch_path("cifar-10-binary.tar.gz")),
                     0);
    int before = scratch_count();
    assert_failed(dataset_unpack_found(&options, &location), CORNU_STOPPED, "stopped while");
    assert_int_equal(rmdir(scratch_path("cache")), 0); /* empty */
    assert_int_equal(scratch_count(), before);
    free(location.folder);
    unsetenv("CORNU_DATA");
}

static void an_archive_that_lies_there_is_checked_and_unpacked(void **state)
{
    (void)state;
    small_set s;
    data_location location = {0};
    small_set_open(&s);
    mkdir(scratch_path("given"), 0755);
    assert_int_equal(
        rename(scratch_path("small.tar.gz"), scratch_path("given/cifar-10-binary.tar.gz")), 0);
    cornu_data_options options = {.size = sizeof options, .folder = scratch_path("given")};
    assert_int_equal(dataset_find(&s.row, options.folder, &location, NULL), CORNU_OK);
    assert_string_equal(location.folder, scratch_path("given"));
    assert_null(location.reader);
    assert_int_equal(dataset_unpack_found(&options, &location), CORNU_OK);
    assert_string_equal(location.folder, scratch_path("cache/cifar-10-batches-bin"));
    assert_non_null(location.reader);
    free(location.folder);
    unsetenv("CORNU_DATA");
}

static void an_archive_with_another_digest_is_refused(void **state)
{
    (void)state;
    cornu_data *data = NULL;
    setenv("CORNU_DATA", scratch_path("cache"), 1);
    made_file("given/cifar-10-binary.tar.gz", "x", 1);
    cornu_data_options options = {.size = sizeof options, .folder = scratch_path("given")};
    assert_failed(cornu_data_open("cifar10", &options, &data), CORNU_BAD_FILE,
                  "cifar-10-binary.tar.gz: SHA-256 is");
    assert_false(folder_exists(scratch_path("cache/cifar-10-batches-bin")));
    unsetenv("CORNU_DATA");
}

static void a_set_whose_archive_is_bad_leaves_nothing(void **state)
{
    (void)state;
    small_set s;
    data_location location = {0};
    const member bad[] = {{"cifar-10-batches-bin/data_batch_1.bin", 0, NULL}, {"../x", 0, NULL}};
    struct stat info;
    small_set_open(&s);
    make_archive("small.tar.gz", bad, 2);
    assert_int_equal(sha256_file(scratch_path("small.tar.gz"), s.hex), CORNU_OK);
    stat(scratch_path("small.tar.gz"), &info);
    s.files[0].bytes = info.st_size;
    assert_failed(dataset_fetch(&s.row, NULL, &location), CORNU_BAD_FILE, "would leave the folder");
    assert_false(folder_exists(scratch_path("cache/cifar-10-batches-bin")));
    assert_false(file_exists(scratch_path("x")));
    free(location.folder);
    unsetenv("CORNU_DATA");
}

static int open_offline(void **state)
{
    setenv("no_proxy", "127.0.0.1", 1);
    return made_open(state);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_offline, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sha256_gives_the_published_digests),
        TEST(a_file_arrives_whole_and_checked),
        TEST(an_interrupted_download_goes_on_where_it_stopped),
        TEST(a_download_that_is_stopped_can_go_on_later),
        TEST(a_server_that_cannot_resume_sends_all_again),
        TEST(a_complete_part_is_only_checked),
        TEST(a_wrong_digest_leaves_nothing),
        TEST(a_part_that_is_a_link_or_pipe_is_refused),
        TEST(another_length_is_refused),
        TEST(archives_unpack),
        TEST(members_that_would_leave_the_folder_are_refused),
        TEST(archives_that_are_too_large_or_damaged_are_refused),
        TEST(a_set_is_downloaded_unpacked_and_found),
        TEST(unpacking_that_is_stopped_leaves_nothing),
        TEST(an_archive_that_lies_there_is_checked_and_unpacked),
        TEST(an_archive_with_another_digest_is_refused),
        TEST(a_set_whose_archive_is_bad_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
