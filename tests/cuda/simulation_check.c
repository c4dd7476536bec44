/* The simulation itself: that it sees the mistakes which a device test relies on it to see. */
#include "simulated.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static CUcontext context;
static CUstream one, two;
static CUdeviceptr memory;
static float *pinned;
enum { COUNT = 16, BYTES = COUNT * sizeof(float) };

static int open_device(void **state)
{
    (void)state;
    return cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxPushCurrent(context) ||
           cuStreamCreate(&one, CU_STREAM_NON_BLOCKING) ||
           cuStreamCreate(&two, CU_STREAM_NON_BLOCKING) || cuMemAlloc(&memory, BYTES) ||
           cuMemHostAlloc((void **)&pinned, BYTES, 0);
}

static int close_device(void **state)
{
    (void)state;
    return cuMemFreeHost(pinned) || cuMemFree(memory) || cuStreamDestroy(two) ||
           cuStreamDestroy(one) || cuCtxPopCurrent(NULL) || cuDevicePrimaryCtxRelease(0) ||
           simulated_alive();
}

static void fill(unsigned char byte, CUstream stream)
{
    assert_int_equal(cuMemsetD8Async(memory, byte, BYTES, stream), CUDA_SUCCESS);
}

/* What is in device memory now. */
static unsigned char content(CUstream stream)
{
    unsigned char bytes[BYTES];
    assert_int_equal(cuMemcpyDtoHAsync(bytes, memory, BYTES, stream), CUDA_SUCCESS);
    return bytes[BYTES - 1];
}

static void fresh_memory_is_nan(void **state)
{
    (void)state;
    CUdeviceptr fresh;
    float value = 0;
    assert_int_equal(cuMemAlloc(&fresh, 4), CUDA_SUCCESS);
    assert_int_equal(cuMemcpyDtoHAsync(&value, fresh, 4, one), CUDA_SUCCESS);
    assert_true(value != value);
    assert_int_equal(cuMemFree(fresh), CUDA_SUCCESS);
}

static void pinned_memory_shows_what_was_not_waited_for(void **state)
{
    (void)state;
    fill(7, one);
    memset(pinned, 1, BYTES);
    assert_int_equal(cuMemcpyDtoHAsync(pinned, memory, BYTES, one), CUDA_SUCCESS);
    assert_int_equal(*(unsigned char *)pinned, 1);
    assert_int_equal(cuStreamSynchronize(one), CUDA_SUCCESS);
    assert_int_equal(*(unsigned char *)pinned, 7);
    memset(pinned, 2, BYTES);
    assert_int_equal(cuMemcpyHtoDAsync(memory, pinned, BYTES, one), CUDA_SUCCESS);
    memset(pinned, 3, BYTES); /* too early */
    assert_int_equal(content(one), 3);
}

static void pageable_memory_is_copied_at_once(void **state)
{
    (void)state;
    unsigned char bytes[BYTES];
    memset(bytes, 5, BYTES);
    assert_int_equal(cuMemcpyHtoDAsync(memory, bytes, BYTES, one), CUDA_SUCCESS);
    memset(bytes, 6, BYTES);
    assert_int_equal(content(one), 5);
}

static void streams_are_ordered_by_events_alone(void **state)
{
    (void)state;
    CUevent event;
    assert_int_equal(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    fill(1, one);
    assert_int_equal(cuStreamSynchronize(one), CUDA_SUCCESS);
    fill(2, one);
    assert_int_equal(content(two), 1); /* `two` does not know of it */
    fill(3, one);
    assert_int_equal(cuEventRecord(event, one), CUDA_SUCCESS);
    assert_int_equal(cuStreamWaitEvent(two, event, 0), CUDA_SUCCESS);
    assert_int_equal(content(two), 3);
    fill(4, one);
    assert_int_equal(cuEventRecord(event, one), CUDA_SUCCESS);
    int asked = 0;
    while (cuEventQuery(event) == CUDA_ERROR_NOT_READY)
        asked++;
    assert_true(asked > 0 && asked < 100);
    assert_int_equal(cuEventDestroy(event), CUDA_SUCCESS);
}

static void copies_beyond_an_allocation_are_refused(void **state)
{
    (void)state;
    unsigned char bytes[2 * BYTES] = {0};
    assert_int_equal(cuMemcpyHtoDAsync(memory + 4, bytes, BYTES, one), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemFree(memory + 4), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(simulated_forgive(), 2);
}

#ifndef __SANITIZE_ADDRESS__ /* which would end the program there */
static void overrun(const void *data)
{
    CUdeviceptr at = *(const CUdeviceptr *)data;
    ((volatile unsigned char *)(uintptr_t)at)[BYTES] = 1;
}

static void writes_beyond_an_allocation_are_found(void **state)
{
    (void)state;
    CUdeviceptr other;
    assert_int_equal(cuMemAlloc(&other, BYTES), CUDA_SUCCESS);
    assert_int_equal(simulated_enqueue(one, overrun, &other, sizeof other), CUDA_SUCCESS);
    assert_int_equal(cuMemFree(other), CUDA_SUCCESS);
    assert_int_equal(simulated_forgive(), 1);
}
#endif

static void handles_that_are_not_alive_are_refused(void **state)
{
    (void)state;
    CUstream gone;
    assert_int_equal(cuStreamCreate(&gone, 0), CUDA_SUCCESS);
    assert_int_equal(cuStreamDestroy(gone), CUDA_SUCCESS);
    assert_int_equal(cuStreamSynchronize(gone), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(cuStreamDestroy(gone), CUDA_ERROR_INVALID_HANDLE);
}

static void calls_need_a_current_context(void **state)
{
    (void)state;
    CUdeviceptr at;
    CUcontext popped;
    assert_int_equal(cuCtxPopCurrent(&popped), CUDA_SUCCESS);
    assert_ptr_equal(popped, context);
    assert_int_equal(cuMemAlloc(&at, 1), CUDA_ERROR_INVALID_CONTEXT);
    assert_int_equal(cuCtxPushCurrent(context), CUDA_SUCCESS);
    assert_int_equal(simulated_forgive(), 1);
}

/* ---- capture ------------------------------------------------------------------------------- */

static void begin(CUstreamCaptureMode mode)
{
    assert_int_equal(cuStreamBeginCapture(one, mode), CUDA_SUCCESS);
}

static void end_fails_with(CUresult expected)
{
    CUgraph graph;
    assert_int_equal(cuStreamEndCapture(one, &graph), expected);
    assert_null(graph);
}

static void a_graph_does_at_each_launch_what_was_captured(void **state)
{
    (void)state;
    CUgraph graph;
    CUgraphExec exec;
    size_t nodes;
    fill(1, one);
    begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    fill(2, one);
    assert_int_equal(cuMemcpyDtoHAsync(pinned, memory, BYTES, one), CUDA_SUCCESS);
    assert_int_equal(cuStreamEndCapture(one, &graph), CUDA_SUCCESS);
    assert_int_equal(content(one), 1);
    assert_int_equal(cuGraphGetNodes(graph, NULL, &nodes), CUDA_SUCCESS);
    assert_int_equal(nodes, 2);
    assert_int_equal(cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS);
    assert_int_equal(cuGraphDestroy(graph), CUDA_SUCCESS);
    for (int i = 0; i < 2; i++) {
        fill(3, one);
        assert_int_equal(cuGraphLaunch(exec, one), CUDA_SUCCESS);
        assert_int_equal(content(one), 2);
    }
    assert_int_equal(cuGraphExecDestroy(exec), CUDA_SUCCESS);
}

static void what_may_not_be_captured_breaks_the_capture(void **state)
{
    (void)state;
    CUdeviceptr at;
    float pageable = 0;
    begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    assert_int_equal(cuStreamSynchronize(one), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_int_equal(cuMemsetD8Async(memory, 0, 1, one), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    end_fails_with(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
    assert_int_equal(cuMemAlloc(&at, 1), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    end_fails_with(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(CU_STREAM_CAPTURE_MODE_RELAXED);
    assert_int_equal(cuMemAlloc(&at, 1), CUDA_SUCCESS);
    assert_int_equal(cuMemFree(at), CUDA_SUCCESS);
    assert_int_equal(cuMemcpyHtoDAsync(memory, &pageable, 4, one),
                     CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    end_fails_with(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assert_int_equal(cuStreamEndCapture(one, &(CUgraph){0}), CUDA_ERROR_ILLEGAL_STATE);
}

static void streams_of_a_capture_must_be_joined(void **state)
{
    (void)state;
    CUevent fork, done;
    CUgraph graph;
    assert_int_equal(cuEventCreate(&fork, 0), CUDA_SUCCESS);
    assert_int_equal(cuEventCreate(&done, 0), CUDA_SUCCESS);
    for (int joined = 0; joined < 2; joined++) {
        begin(CU_STREAM_CAPTURE_MODE_RELAXED);
        assert_int_equal(cuEventRecord(fork, one), CUDA_SUCCESS);
        assert_int_equal(cuStreamWaitEvent(two, fork, 0), CUDA_SUCCESS);
        fill(1, two);
        assert_int_equal(cuEventQuery(fork), CUDA_ERROR_CAPTURED_EVENT);
        assert_int_equal(cuEventRecord(done, two), CUDA_SUCCESS);
        if (joined)
            assert_int_equal(cuStreamWaitEvent(one, done, 0), CUDA_SUCCESS);
        assert_int_equal(cuStreamEndCapture(one, &graph),
                         joined ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    }
    assert_int_equal(cuGraphDestroy(graph), CUDA_SUCCESS);
    assert_int_equal(cuEventRecord(done, two), CUDA_SUCCESS);
    begin(CU_STREAM_CAPTURE_MODE_RELAXED);
    assert_int_equal(cuStreamWaitEvent(one, done, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    end_fails_with(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assert_int_equal(cuEventDestroy(fork), CUDA_SUCCESS);
    assert_int_equal(cuEventDestroy(done), CUDA_SUCCESS);
}

/* ---- failures ------------------------------------------------------------------------------ */

static void the_environment_makes_calls_fail(void **state)
{
    (void)state;
    CUdeviceptr at;
    setenv("SIMULATED_CUDA_FAIL", "cuMemAlloc:2:CUDA_ERROR_OUT_OF_MEMORY,cuStreamCreate:1+:999", 1);
    assert_int_equal(cuMemAlloc(&at, 1), CUDA_SUCCESS);
    assert_int_equal(cuMemFree(at), CUDA_SUCCESS);
    assert_int_equal(cuMemAlloc(&at, 1), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(cuMemAlloc(&at, 1), CUDA_SUCCESS);
    assert_int_equal(cuMemFree(at), CUDA_SUCCESS);
    CUstream none;
    assert_int_equal(cuStreamCreate(&none, 0), CUDA_ERROR_UNKNOWN);
    assert_int_equal(cuMemFree(memory), CUDA_ERROR_UNKNOWN); /* the device is lost */
    unsetenv("SIMULATED_CUDA_FAIL");
    assert_int_equal(cuStreamSynchronize(one), CUDA_SUCCESS);
}

static void memory_is_what_the_environment_says(void **state)
{
    (void)state;
    CUdeviceptr at;
    size_t free_bytes, total;
    setenv("SIMULATED_CUDA_MEMORY", "100000", 1);
    assert_int_equal(cuMemAlloc(&at, 100000), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(cuMemAlloc(&at, 90000), CUDA_SUCCESS);
    assert_int_equal(cuMemGetInfo(&free_bytes, &total), CUDA_SUCCESS);
    assert_int_equal(total, 100000);
    assert_true(free_bytes < 10000);
    assert_int_equal(cuMemFree(at), CUDA_SUCCESS);
    unsetenv("SIMULATED_CUDA_MEMORY");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fresh_memory_is_nan),
        cmocka_unit_test(pinned_memory_shows_what_was_not_waited_for),
        cmocka_unit_test(pageable_memory_is_copied_at_once),
        cmocka_unit_test(streams_are_ordered_by_events_alone),
        cmocka_unit_test(copies_beyond_an_allocation_are_refused),
#ifndef __SANITIZE_ADDRESS__
        cmocka_unit_test(writes_beyond_an_allocation_are_found),
#endif
        cmocka_unit_test(handles_that_are_not_alive_are_refused),
        cmocka_unit_test(calls_need_a_current_context),
        cmocka_unit_test(a_graph_does_at_each_launch_what_was_captured),
        cmocka_unit_test(what_may_not_be_captured_breaks_the_capture),
        cmocka_unit_test(streams_of_a_capture_must_be_joined),
        cmocka_unit_test(the_environment_makes_calls_fail),
        cmocka_unit_test(memory_is_what_the_environment_says),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
