/* Streams and events. Work waits on its stream until somebody waits for it (SIMULATED_CUDA_EAGER=1:
   it is done at once), so that a program that forgets to wait reads old values here too. */
#include "driver.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct task {
    struct task *next;
    simulated_work *work;
    bool always; /* even on a device that has failed: it keeps counts */
    _Alignas(16) unsigned char data[];
} task;

struct CUstream_st {
    stream s;
};

struct CUevent_st {
    marker *last; /* NULL: never recorded outside a capture */
    capture_mark capture;
    bool timed;
};

enum { QUEUE_MOST = 10000 };
static stream *streams;
static stream null_stream = {.legacy = true};
static long work_done;

long simulated_work_done(void)
{
    return work_done;
}

stream *stream_find(CUstream handle)
{
    if (!handle)
        return &null_stream;
    return simulated_is(handle, is_stream) ? &handle->s : NULL;
}

/* ---- running ------------------------------------------------------------------------------- */

void stream_run(stream *s, uint64_t number)
{
    memory_open();
    while (s->first && s->done < number) {
        task *t = s->first;
        s->first = t->next;
        s->last = s->first ? s->last : NULL;
        if (t->always || failed_device() == CUDA_SUCCESS)
            t->work(t->data);
        s->done++;
        free(t);
    }
    memory_close();
}

void streams_run_all(void)
{
    for (stream *s = streams; s; s = s->next)
        stream_run(s, s->added);
    stream_run(&null_stream, null_stream.added);
}

static CUresult add(stream *s, simulated_work *work, const void *data, size_t size, bool always)
{
    task *t = malloc(sizeof *t + size);
    if (!t)
        return CUDA_ERROR_OUT_OF_MEMORY;
    t->next = NULL;
    t->work = work;
    t->always = always;
    memcpy(t->data, data, size);
    if (s->last)
        s->last->next = t;
    else
        s->first = t;
    s->last = t;
    s->added++;
    if (s == &null_stream)
        streams_run_all();
    else if (wanted("SIMULATED_CUDA_EAGER"))
        stream_run(s, s->added);
    else if (s->added - s->done > QUEUE_MOST)
        stream_run(s, s->done + QUEUE_MOST / 2);
    return failed_device();
}

CUresult stream_add(stream *s, simulated_work *work, const void *data, size_t size)
{
    return add(s, work, data, size, true);
}

CUresult simulated_enqueue(CUstream handle, simulated_work *work, const void *data, size_t size)
{
    stream *s = stream_find(handle);
    if (!s)
        return CUDA_ERROR_INVALID_HANDLE;
    work_done++;
    if (s->capture)
        return capture_add(s, work, data, size);
    if (s == &null_stream && capture_of_legacy())
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    return add(s, work, data, size, false);
}

/* ---- streams ------------------------------------------------------------------------------- */

CUresult CUDAAPI cuStreamCreate(CUstream *handle, unsigned int flags)
{
    CUresult r = enter(__func__, NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS && flags > CU_STREAM_NON_BLOCKING)
        r = CUDA_ERROR_INVALID_VALUE;
    CUstream made = r == CUDA_SUCCESS ? calloc(1, sizeof *made) : NULL;
    if (made) {
        made->s.legacy = flags != CU_STREAM_NON_BLOCKING;
        made->s.next = streams;
        streams = &made->s;
        simulated_track(made, is_stream);
        *handle = made;
    } else if (r == CUDA_SUCCESS) {
        r = CUDA_ERROR_OUT_OF_MEMORY;
    }
    return leave(r);
}

CUresult CUDAAPI cuStreamDestroy(CUstream handle)
{
    CUresult r = enter(__func__, NEEDS_CONTEXT);
    stream *s = stream_find(handle), **link = &streams;
    if (r == CUDA_SUCCESS && (!s || s == &null_stream))
        r = CUDA_ERROR_INVALID_HANDLE;
    if (r == CUDA_SUCCESS) {
        stream_run(s, s->added);
        if (s->capture)
            simulated_complain("cuStreamDestroy: the stream is still being captured");
        while (*link != s)
            link = &(*link)->next;
        *link = s->next;
        simulated_forget(handle);
        free(handle);
    }
    return leave(r);
}

CUresult CUDAAPI cuStreamSynchronize(CUstream handle)
{
    CUresult r = enter(__func__, UNSAFE_IN_CAPTURE);
    stream *s = stream_find(handle);
    if (r == CUDA_SUCCESS && !s)
        r = CUDA_ERROR_INVALID_HANDLE;
    if (r == CUDA_SUCCESS && s->capture) {
        capture_break(s->capture);
        r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if (r == CUDA_SUCCESS) {
        if (s == &null_stream)
            streams_run_all();
        stream_run(s, s->added);
        r = failed_device();
    }
    return leave(r);
}

/* ---- events -------------------------------------------------------------------------------- */

static void marker_drop(marker *m)
{
    if (m && --m->users == 0)
        free(m);
}

static void reach(const void *data)
{
    marker *m = *(marker *const *)data;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    m->seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    m->done = true;
    marker_drop(m);
}

static void marker_wait(marker *m)
{
    if (!m->done)
        stream_run(m->stream, m->number);
    m->done = true; /* also on a device that has failed */
}

static void wait(const void *data)
{
    marker *m = *(marker *const *)data;
    marker_wait(m);
    marker_drop(m);
}

static CUresult enter_event(const char *function, int needs, CUevent event)
{
    CUresult r = enter(function, needs);
    return r == CUDA_SUCCESS && !simulated_is(event, is_event) ? CUDA_ERROR_INVALID_HANDLE : r;
}

CUresult CUDAAPI cuEventCreate(CUevent *event, unsigned int flags)
{
    CUresult r = enter(__func__, NEEDS_CONTEXT);
    CUevent made = r == CUDA_SUCCESS ? calloc(1, sizeof *made) : NULL;
    if (made) {
        made->timed = !(flags & CU_EVENT_DISABLE_TIMING);
        simulated_track(made, is_event);
        *event = made;
    } else if (r == CUDA_SUCCESS) {
        r = CUDA_ERROR_OUT_OF_MEMORY;
    }
    return leave(r);
}

CUresult CUDAAPI cuEventDestroy(CUevent event)
{
    CUresult r = enter_event(__func__, NEEDS_CONTEXT, event);
    if (r == CUDA_SUCCESS) {
        simulated_forget(event);
        marker_drop(event->last);
        free(event);
    }
    return leave(r);
}

static CUresult record(CUevent event, stream *s)
{
    if (s->capture) {
        event->capture = capture_record(s);
        return CUDA_SUCCESS;
    }
    marker *m = calloc(1, sizeof *m);
    if (!m)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *m = (marker){.users = 2, .stream = s, .number = s->added + 1};
    marker_drop(event->last);
    event->last = m;
    event->capture = (capture_mark){0};
    return stream_add(s, reach, &m, sizeof m);
}

CUresult CUDAAPI cuEventRecord(CUevent event, CUstream handle)
{
    CUresult r = enter_event(__func__, NEEDS_CONTEXT, event);
    stream *s = stream_find(handle);
    if (r == CUDA_SUCCESS)
        r = s ? record(event, s) : CUDA_ERROR_INVALID_HANDLE;
    return leave(r);
}

static CUresult wait_for(stream *s, CUevent event)
{
    marker *m = event->last;
    if (event->capture.id != 0)
        return capture_wait(s, &event->capture);
    if (s->capture) { /* on work that the graph does not hold */
        capture_break(s->capture);
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    if (!m || m->done)
        return CUDA_SUCCESS;
    m->users++;
    return stream_add(s, wait, &m, sizeof m);
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream handle, CUevent event, unsigned int flags)
{
    CUresult r = enter_event(__func__, NEEDS_CONTEXT, event);
    stream *s = stream_find(handle);
    if (r == CUDA_SUCCESS && flags != CU_EVENT_WAIT_DEFAULT)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = s ? wait_for(s, event) : CUDA_ERROR_INVALID_HANDLE;
    return leave(r);
}

static CUresult enter_captured(const char *function, CUevent event)
{
    CUresult r = enter_event(function, UNSAFE_IN_CAPTURE, event);
    return r == CUDA_SUCCESS && event->capture.id != 0 ? CUDA_ERROR_CAPTURED_EVENT : r;
}

/* Each question lets the device do a little more, so that whoever asks often enough gets a yes. */
CUresult CUDAAPI cuEventQuery(CUevent event)
{
    CUresult r = enter_captured(__func__, event);
    if (r == CUDA_SUCCESS && event->last && !event->last->done) {
        stream *s = event->last->stream;
        stream_run(s, s->done + 1);
        r = failed_device();
        if (r == CUDA_SUCCESS)
            r = CUDA_ERROR_NOT_READY;
    }
    return leave(r);
}

CUresult CUDAAPI cuEventSynchronize(CUevent event)
{
    CUresult r = enter_captured(__func__, event);
    if (r == CUDA_SUCCESS && event->last) {
        marker_wait(event->last);
        r = failed_device();
    }
    return leave(r);
}

#ifdef OLDER_DRIVER
#undef cuEventElapsedTime
__attribute__((visibility("default"))) CUresult CUDAAPI cuEventElapsedTime(float *milliseconds,
                                                                           CUevent from,
                                                                           CUevent to);
#endif
CUresult CUDAAPI cuEventElapsedTime(float *milliseconds, CUevent from, CUevent to)
{
    CUresult r = enter_event(__func__, NEEDS_CONTEXT, from);
    if (r == CUDA_SUCCESS &&
        (!simulated_is(to, is_event) || !from->timed || !to->timed || !from->last || !to->last))
        r = CUDA_ERROR_INVALID_HANDLE;
    if (r == CUDA_SUCCESS && (!from->last->done || !to->last->done))
        r = CUDA_ERROR_NOT_READY;
    if (r == CUDA_SUCCESS)
        *milliseconds = (float)(1e3 * (to->last->seconds - from->last->seconds));
    return leave(r);
}
