/* The cpu device's description of itself, and settings of the process that it must not change. */
#include "support/net.h"
#include "support/op_cases.h"
#include <cornu/tables.h>
#include <omp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include <cmocka.h>

static void description_names_cores_instructions_and_library(void **state)
{
    (void)state;
    device_id cpu;
    cornu_device_info info;
    assert_true(device_at(0, &cpu, &info));
    assert_string_equal(info.name, "cpu");
    assert_true(info.available);
    assert_non_null(strstr(info.description, " core"));
    assert_non_null(strrchr(info.description, ','));
    assert_memory_equal(info.libraries, "oneDNN ", 7);
    assert_true(info.libraries[7] >= '1' && info.libraries[7] <= '9');
    assert_string_equal(info.reason, "");
    assert_int_equal(info.threads, threads_default());
    assert_true(info.memory_bytes >= info.memory_free_bytes && info.memory_free_bytes > 0);
}

/* oneDNN is run with OpenMP set to one thread; the program around us may use OpenMP itself. */
static void callers_openmp_setting_is_kept(void **state)
{
    (void)state;
    device *d = NULL;
    int count, before = omp_get_max_threads();
    bool seen[OP_COUNT] = {false};
    const op_case *table = op_cases(&count);
    d = net_device_open("cpu", &(device_options){.threads = 2});
    const host_device *h = (const host_device *)(const void *)d;
    omp_set_num_threads(3);
    for (int i = 0; i < count; i++) {
        op_outputs out;
        const char *why;
        kernel_list list = h->kernels[table[i].kind];
        while (list && *list && !op_case_accepted(&table[i], *list, &why))
            list++;
        const kernel *k = list ? *list : NULL;
        if (seen[table[i].kind] || !k)
            continue;
        seen[table[i].kind] = true;
        assert_int_equal(op_case_run(&table[i], k, h->pool, false, &out), CORNU_OK);
        op_outputs_free(&out);
        assert_int_equal(omp_get_max_threads(), 3);
    }
    omp_set_num_threads(before);
    host_close(d);
}

static void on_alarm(int number)
{
    (void)number;
}

/* A handler's frame must not land in memory of the step (see onednn_begin). */
static void signals_do_not_disturb_a_product(void **state)
{
    (void)state;
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART}, old_action;
    struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    const op_case product = {.kind = OP_DENSE_FORWARD,
                             .label = "dense_forward 10x784 -> 10",
                             .in = {{2, {10, 784}}, {2, {784, 10}}, {1, {10}}},
                             .out = {{2, {10, 10}}}};
    device *d = NULL;
    d = net_device_open("cpu", &(device_options){.threads = 1});
    const host_device *h = (const host_device *)(const void *)d;
    const kernel *const *k = h->kernels[OP_DENSE_FORWARD];
    const char *why;
    while (!op_case_accepted(&product, *k, &why))
        k++;
    sigaction(SIGALRM, &action, &old_action);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 3000; i++) {
        op_outputs out;
        void *neighbour = malloc(256);
        assert_int_equal(op_case_run(&product, *k, h->pool, false, &out), CORNU_OK);
        op_outputs_free(&out);
        free(neighbour);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &old_action, NULL);
    host_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(description_names_cores_instructions_and_library),
        cmocka_unit_test(callers_openmp_setting_is_kept),
        cmocka_unit_test(signals_do_not_disturb_a_product),
    };
    return cmocka_run_group_tests(tests, NULL, op_cases_free);
}
