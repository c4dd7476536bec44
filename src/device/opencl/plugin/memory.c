/* Buffers, by numbers, and what is copied between them and the host. An address is a buffer's
   number and an offset into it: OpenCL 1.2 knows no others. */
#include "device/opencl/plugin/core.h"
#include <stdlib.h>
#include <string.h>

/* An address is (number + 1) << OFFSET_BITS | offset. */
enum { OFFSET_BITS = 40 };

static size_t number_of(gpu_address at)
{
    return (size_t)(at >> OFFSET_BITS) - 1;
}

cl_mem opencl_buffer_of(const opencl *d, gpu_address at, size_t *offset)
{
    *offset = (size_t)(at & ((UINT64_C(1) << OFFSET_BITS) - 1));
    return at ? d->core->buffers[number_of(at)] : NULL;
}

/* ---- buffers ----------------------------------------------------------------------------------
 */

static cornu_status free_number(opencl *d, size_t *number)
{
    opencl_core *c = d->core;
    for (*number = 0; *number < c->buffer_count; (*number)++)
        if (!c->buffers[*number])
            return CORNU_OK;
    TRY(memory_grow(&c->buffers, &c->buffers_capacity, c->buffer_count + 1, sizeof *c->buffers));
    TRY(memory_grow(&c->buffer_bytes, &c->bytes_capacity, c->buffer_count + 1,
                    sizeof *c->buffer_bytes));
    c->buffers[c->buffer_count++] = NULL;
    return CORNU_OK;
}

/* Many drivers allocate at the first use: so that they refuse here what does not fit, and not in
   the middle of a run. */
static cornu_status touch(const opencl *d, cl_mem buffer)
{
    const cl_uchar zero = 0;
    TRY(CL(d, clEnqueueFillBuffer(d->queue, buffer, &zero, sizeof zero, 0, sizeof zero, 0, NULL,
                                  NULL)));
    return opencl_finish(d, d->queue);
}

cornu_status opencl_memory_new(gpu *g, size_t bytes, gpu_address *out)
{
    opencl *d = opencl_of(g);
    size_t number;
    cl_int error;
    *out = 0;
    if (bytes >> OFFSET_BITS)
        return status_fail(CORNU_OUT_OF_MEMORY,
                           "device %s: found %zu bytes; expected less than "
                           "2^40 in one piece",
                           g->name, bytes);
    TRY(free_number(d, &number));
    cl_mem buffer = d->lib->clCreateBuffer(d->context, CL_MEM_READ_WRITE, bytes, NULL, &error);
    TRY(opencl_check_on(d, error, "clCreateBuffer"));
    cornu_status status = touch(d, buffer);
    if (status != CORNU_OK) {
        (void)d->lib->clReleaseMemObject(buffer);
        return status;
    }
    d->core->buffers[number] = buffer;
    d->core->buffer_bytes[number] = bytes;
    d->core->taken += (double)bytes;
    *out = (gpu_address)(number + 1) << OFFSET_BITS;
    return CORNU_OK;
}

void opencl_memory_free(gpu *g, gpu_address at)
{
    opencl *d = opencl_of(g);
    size_t number = number_of(at);
    (void)d->lib->clReleaseMemObject(d->core->buffers[number]);
    d->core->buffers[number] = NULL;
    d->core->taken -= (double)d->core->buffer_bytes[number];
}

/* OpenCL does not say what is free: what the device has, less what was taken here. A CPU's memory
   is the host's. */
cornu_status opencl_memory_info(gpu *g, double *left, double *largest)
{
    opencl *d = opencl_of(g);
    cl_ulong all = 0, most = 0;
    TRY(CL(d, clGetDeviceInfo(d->id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof all, &all, NULL)));
    TRY(CL(d, clGetDeviceInfo(d->id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof most, &most, NULL)));
    *left = (double)all - d->core->taken;
    if (d->is_cpu && *left > (double)memory_available())
        *left = (double)memory_available();
    *left = *left > 0 ? *left : 0;
    *largest = (double)most;
    return CORNU_OK;
}

/* ---- pinned memory ----------------------------------------------------------------------------
 */

cornu_status opencl_pinned_new(gpu *g, size_t bytes, void **out)
{
    opencl *d = opencl_of(g);
    opencl_core *c = d->core;
    cl_int error;
    *out = NULL;
    TRY(memory_grow(&c->pinned, &c->pinned_capacity, c->pinned_count + 1, sizeof *c->pinned));
    cl_mem buffer = d->lib->clCreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                           bytes, NULL, &error);
    TRY(opencl_check_on(d, error, "clCreateBuffer"));
    void *memory = d->lib->clEnqueueMapBuffer(d->queue, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
                                              0, bytes, 0, NULL, NULL, &error);
    cornu_status status = opencl_check_on(d, error, "clEnqueueMapBuffer");
    if (status != CORNU_OK) {
        (void)d->lib->clReleaseMemObject(buffer);
        return status;
    }
    c->pinned[c->pinned_count++] = (opencl_pinned){buffer, memory};
    *out = memory;
    return CORNU_OK;
}

void opencl_pinned_free(gpu *g, void *memory)
{
    opencl *d = opencl_of(g);
    opencl_core *c = d->core;
    for (size_t i = 0; i < c->pinned_count; i++) {
        if (c->pinned[i].memory != memory)
            continue;
        opencl_finish_all(d); /* copies may still read it */
        (void)d->lib->clEnqueueUnmapMemObject(d->queue, c->pinned[i].buffer, memory, 0, NULL, NULL);
        (void)opencl_finish(d, d->queue);
        (void)d->lib->clReleaseMemObject(c->pinned[i].buffer);
        c->pinned[i] = c->pinned[--c->pinned_count];
        return;
    }
}

/* ---- copies -----------------------------------------------------------------------------------
 */

cornu_status opencl_copy_in(gpu *g, gpu_address to, const void *from, size_t bytes, bool beside)
{
    opencl *d = opencl_of(g);
    size_t offset;
    cl_mem buffer = opencl_buffer_of(d, to, &offset);
    return CL(d, clEnqueueWriteBuffer(beside ? d->copies : d->queue, buffer, CL_FALSE, offset,
                                      bytes, from, 0, NULL, NULL));
}

cornu_status opencl_copy_out(gpu *g, void *to, gpu_address from, size_t bytes)
{
    opencl *d = opencl_of(g);
    size_t offset;
    cl_mem buffer = opencl_buffer_of(d, from, &offset);
    return CL(d, clEnqueueReadBuffer(d->queue, buffer, CL_TRUE, offset, bytes, to, 0, NULL, NULL));
}

cornu_status opencl_clear(gpu *g, gpu_address at, size_t bytes)
{
    opencl *d = opencl_of(g);
    size_t offset;
    cl_mem buffer = opencl_buffer_of(d, at, &offset);
    const cl_uchar zero = 0;
    const cl_uint zeros = 0;
    if (bytes % sizeof zeros)
        return CL(d, clEnqueueFillBuffer(d->queue, buffer, &zero, sizeof zero, offset, bytes, 0,
                                         NULL, NULL));
    return CL(d, clEnqueueFillBuffer(d->queue, buffer, &zeros, sizeof zeros, offset, bytes, 0, NULL,
                                     NULL));
}

cornu_status opencl_join(gpu *g)
{
    opencl *d = opencl_of(g);
    cl_event copied;
    TRY(CL(d, clEnqueueMarkerWithWaitList(d->copies, 0, NULL, &copied)));
    cornu_status status = CL(d, clFlush(d->copies));
    if (status == CORNU_OK)
        status = CL(d, clEnqueueBarrierWithWaitList(d->queue, 1, &copied, NULL));
    (void)d->lib->clReleaseEvent(copied);
    return status;
}

/* ---- marks ------------------------------------------------------------------------------------
 */

cornu_status opencl_mark(gpu *g, int number)
{
    opencl *d = opencl_of(g);
    cl_event *mark = &d->core->marks[number];
    if (*mark)
        (void)d->lib->clReleaseEvent(*mark);
    *mark = NULL;
    TRY(CL(d, clEnqueueMarkerWithWaitList(d->queue, 0, NULL, mark)));
    return CL(d, clFlush(d->queue));
}

cornu_status opencl_wait(gpu *g, int number)
{
    opencl *d = opencl_of(g);
    return CL(d, clWaitForEvents(1, &d->core->marks[number]));
}

cornu_status opencl_reached(gpu *g, int number, bool *yes)
{
    opencl *d = opencl_of(g);
    cl_int state = CL_QUEUED;
    *yes = false;
    TRY(CL(d, clGetEventInfo(d->core->marks[number], CL_EVENT_COMMAND_EXECUTION_STATUS,
                             sizeof state, &state, NULL)));
    *yes = state == CL_COMPLETE;
    return state >= 0 ? CORNU_OK : opencl_check_on(d, state, OPENCL_COMMAND);
}

/* ---- the end ----------------------------------------------------------------------------------
 */

/* Mesa's rusticl (22.3) does not wait for commands that clFlush sent to the device, only for later
   ones: the marker is one (tests/opencl/drivers/README.md). */
cornu_status opencl_finish(const opencl *d, cl_command_queue queue)
{
    TRY(CL(d, clEnqueueMarkerWithWaitList(queue, 0, NULL, NULL)));
    return CL(d, clFinish(queue));
}

void opencl_finish_all(const opencl *d)
{
    if (d->copies)
        (void)opencl_finish(d, d->copies);
    if (d->queue)
        (void)opencl_finish(d, d->queue);
}

void opencl_memory_close(opencl *d)
{
    opencl_core *c = d->core;
    while (c->pinned_count > 0)
        opencl_pinned_free(&d->g, c->pinned[c->pinned_count - 1].memory);
    for (int i = 0; i < GPU_QUEUE; i++)
        if (c->marks[i])
            (void)d->lib->clReleaseEvent(c->marks[i]);
    for (size_t i = 0; i < c->buffer_count; i++)
        if (c->buffers[i])
            (void)d->lib->clReleaseMemObject(c->buffers[i]);
    free(c->buffers);
    free(c->buffer_bytes);
    free(c->pinned);
}
