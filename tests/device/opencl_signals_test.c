/* An OpenCL driver compiles and starts threads; the process's signals must still reach the
   caller. */
#include "device/device.h"
#include "support/net.h"
#include <dirent.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void own_handler(int number)
{
    (void)number;
}

static bool is_opencl(void)
{
    const char *name = net_device(0);
    return name && strncmp(name, "opencl", 6) == 0;
}

/* Does thread `name` of this process block the signal? */
static bool blocks(const char *name, int number)
{
    char path[320], line[256];
    uint64_t mask = 0;
    snprintf(path, sizeof path, "/proc/self/task/%s/status", name);
    FILE *f = fopen(path, "r");
    if (!f)
        return true; /* it has ended */
    while (fgets(line, sizeof line, f))
        if (strncmp(line, "SigBlk:", 7) == 0)
            mask = strtoull(line + 7, NULL, 16);
    fclose(f);
    return mask >> (number - 1) & 1;
}

/* Threads other than this one that could receive the signal. */
static int threads_open_to(int number, int *others)
{
    int open_to = 0;
    DIR *folder = opendir("/proc/self/task");
    assert_non_null(folder);
    for (struct dirent *e; (e = readdir(folder));)
        if (*e->d_name != '.' && atoi(e->d_name) != getpid()) {
            (*others)++;
            open_to += !blocks(e->d_name, number);
        }
    closedir(folder);
    return open_to;
}

static void a_driver_leaves_handlers_and_masks_as_they_were(void **state)
{
    (void)state;
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGSEGV, SIGPIPE};
    struct sigaction own = {.sa_handler = own_handler}, now;
    sigset_t mask;
    int others = 0;
    if (!is_opencl())
        skip();
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        assert_int_equal(sigaction(numbers[i], &own, NULL), 0);
    device_id id;
    device *d;
    assert_int_equal(device_find(net_device(0), &id), CORNU_OK);
    assert_int_equal(id.ops->open(id.number, NULL, &d), CORNU_OK);
    device_limits limits;
    assert_int_equal(d->ops->limits(d, &limits), CORNU_OK); /* compiles and runs */
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        assert_int_equal(sigaction(numbers[i], NULL, &now), 0);
        assert_ptr_equal(now.sa_handler, own_handler);
    }
    assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &mask), 0);
    assert_false(sigismember(&mask, SIGINT));
    assert_int_equal(threads_open_to(SIGINT, &others), 0);
    assert_true(others > 0);
    d->ops->close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_driver_leaves_handlers_and_masks_as_they_were),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
