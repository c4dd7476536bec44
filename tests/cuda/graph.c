/* Stream capture and graphs. A graph is a list of work in the order in which it was captured, which
   is one of the orders that its dependencies allow; SIMULATED_CUDA_ORDER=backwards takes another.
 */
#include "driver.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* One piece of work: graphs and executable graphs share it. */
struct CUgraphNode_st {
    int users, slot;
    capture_clock clock; /* itself counted */
    simulated_work *work;
    _Alignas(16) unsigned char data[];
};

struct CUgraph_st {
    CUgraphNode *nodes;
    size_t count, capacity;
};

struct CUgraphExec_st {
    int users; /* the handle, and launches that are not done */
    CUgraphNode *nodes;
    size_t count;
};

typedef struct capture {
    struct capture *next;
    long id;
    stream *streams[CAPTURE_STREAMS]; /* the first is where it began */
    int stream_count;
    CUstreamCaptureMode mode;
    pthread_t thread;
    bool broken;
    CUgraph graph;
} capture;

static capture *captures;
static long last_id;

/* ---- nodes --------------------------------------------------------------------------------- */

static void nodes_drop(CUgraphNode *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (--nodes[i]->users == 0)
            free(nodes[i]);
    free(nodes);
}

static void graph_free(CUgraph graph)
{
    nodes_drop(graph->nodes, graph->count);
    free(graph);
}

static bool graph_add(CUgraph graph, CUgraphNode node)
{
    if (graph->count == graph->capacity) {
        size_t capacity = graph->capacity ? 2 * graph->capacity : 64;
        CUgraphNode *grown = realloc(graph->nodes, capacity * sizeof *grown);
        if (!grown)
            return false;
        graph->nodes = grown;
        graph->capacity = capacity;
    }
    graph->nodes[graph->count++] = node;
    return true;
}

/* ---- capture ------------------------------------------------------------------------------- */

void capture_break(capture *c)
{
    c->broken = true;
}

CUresult capture_add(stream *s, simulated_work *work, const void *data, size_t size)
{
    if (s->capture->broken)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    CUgraphNode node = malloc(sizeof *node + size);
    if (!node || !graph_add(s->capture->graph, node)) {
        free(node);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    s->clock.at[s->slot]++;
    node->users = 1;
    node->slot = s->slot;
    node->clock = s->clock;
    node->work = work;
    memcpy(node->data, data, size);
    return CUDA_SUCCESS;
}

capture_mark capture_record(stream *s)
{
    return (capture_mark){s->capture->id, s->clock};
}

static capture *find_capture(long id)
{
    for (capture *c = captures; c; c = c->next)
        if (c->id == id)
            return c;
    return NULL;
}

static CUresult join(stream *s, capture *c)
{
    if (c->stream_count == CAPTURE_STREAMS)
        return CUDA_ERROR_NOT_SUPPORTED;
    s->capture = c;
    s->slot = c->stream_count;
    s->clock = (capture_clock){{0}};
    c->streams[c->stream_count++] = s;
    return CUDA_SUCCESS;
}

CUresult capture_wait(stream *s, const capture_mark *mark)
{
    capture *c = find_capture(mark->id);
    if (!c)
        return CUDA_ERROR_CAPTURED_EVENT;
    if (s->capture && s->capture != c) {
        capture_break(s->capture);
        capture_break(c);
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    CUresult r = s->capture ? CUDA_SUCCESS : join(s, c);
    for (int i = 0; r == CUDA_SUCCESS && i < CAPTURE_STREAMS; i++)
        if (s->clock.at[i] < mark->clock.at[i])
            s->clock.at[i] = mark->clock.at[i];
    return r;
}

CUresult capture_unsafe(void)
{
    CUresult r = CUDA_SUCCESS;
    for (capture *c = captures; c; c = c->next) {
        bool own = pthread_equal(c->thread, pthread_self());
        if (own ? c->mode == CU_STREAM_CAPTURE_MODE_RELAXED
                : c->mode != CU_STREAM_CAPTURE_MODE_GLOBAL)
            continue;
        capture_break(c);
        r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return r;
}

bool capture_of_legacy(void)
{
    bool found = false;
    for (capture *c = captures; c; c = c->next)
        for (int i = 0; i < c->stream_count; i++)
            if (c->streams[i]->legacy) {
                capture_break(c);
                found = true;
            }
    return found;
}

static CUresult begin(stream *s, CUstreamCaptureMode mode)
{
    if (!s || s == stream_find(NULL))
        return s ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_ERROR_INVALID_HANDLE;
    if (s->capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    capture *c = calloc(1, sizeof *c);
    CUgraph graph = calloc(1, sizeof *graph);
    if (!c || !graph) {
        free(c);
        free(graph);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *c = (capture){
        .next = captures, .id = ++last_id, .mode = mode, .thread = pthread_self(), .graph = graph};
    captures = c;
    return join(s, c);
}

CUresult CUDAAPI cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode mode)
{
    CUresult r = enter(__func__, NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS)
        r = begin(stream_find(handle), mode);
    return leave(r);
}

/* All streams' work must be known to the one that the capture began on. */
static bool is_joined(const capture *c)
{
    const stream *origin = c->streams[0];
    for (int i = 1; i < c->stream_count; i++)
        if (origin->clock.at[i] < c->streams[i]->clock.at[i])
            return false;
    return true;
}

static CUresult end(stream *s, CUgraph *graph)
{
    capture *c = s ? s->capture : NULL, **link = &captures;
    CUresult r = CUDA_SUCCESS;
    *graph = NULL;
    if (!c)
        return s ? CUDA_ERROR_ILLEGAL_STATE : CUDA_ERROR_INVALID_HANDLE;
    if (c->streams[0] != s)
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && !pthread_equal(c->thread, pthread_self()))
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    if (c->broken)
        r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (!is_joined(c))
        r = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    for (int i = 0; i < c->stream_count; i++)
        c->streams[i]->capture = NULL;
    while (*link != c)
        link = &(*link)->next;
    *link = c->next;
    if (r == CUDA_SUCCESS) {
        *graph = c->graph;
        simulated_track(c->graph, is_graph);
    } else {
        graph_free(c->graph);
    }
    free(c);
    return r;
}

CUresult CUDAAPI cuStreamEndCapture(CUstream handle, CUgraph *graph)
{
    CUresult r = enter(__func__, NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS)
        r = end(stream_find(handle), graph);
    return leave(r);
}

/* ---- graphs -------------------------------------------------------------------------------- */

static CUresult enter_graph(const char *function, const void *handle, const char *kind)
{
    CUresult r = enter(function, NEEDS_CONTEXT);
    return r == CUDA_SUCCESS && !simulated_is(handle, kind) ? CUDA_ERROR_INVALID_VALUE : r;
}

CUresult CUDAAPI cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    CUresult r = enter_graph(__func__, graph, is_graph);
    if (r == CUDA_SUCCESS && nodes) {
        size_t room = *count;
        for (size_t i = 0; i < room; i++)
            nodes[i] = i < graph->count ? graph->nodes[i] : NULL;
        *count = room < graph->count ? room : graph->count;
    } else if (r == CUDA_SUCCESS) {
        *count = graph->count;
    }
    return leave(r);
}

CUresult CUDAAPI cuGraphDestroy(CUgraph graph)
{
    CUresult r = enter_graph(__func__, graph, is_graph);
    if (r == CUDA_SUCCESS) {
        simulated_forget(graph);
        graph_free(graph);
    }
    return leave(r);
}

/* Is work `b` known to be done before `a` begins? */
static bool comes_after(const struct CUgraphNode_st *a, const struct CUgraphNode_st *b)
{
    return a != b && a->clock.at[b->slot] >= b->clock.at[b->slot];
}

/* The latest first, wherever that is allowed. */
static void order_backwards(CUgraphNode *nodes, size_t count)
{
    for (size_t done = 0; done + 1 < count; done++) {
        size_t pick = count - 1;
        for (size_t i = done; i < pick;) {
            bool blocked = comes_after(nodes[pick], nodes[i]);
            pick -= blocked;
            i = blocked ? done : i + 1;
        }
        CUgraphNode node = nodes[pick];
        memmove(nodes + done + 1, nodes + done, (pick - done) * sizeof *nodes);
        nodes[done] = node;
    }
}

CUresult CUDAAPI cuGraphInstantiate(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
    const char *order = getenv("SIMULATED_CUDA_ORDER");
    CUresult r = enter_graph(__func__, graph, is_graph);
    if (r == CUDA_SUCCESS && flags != 0)
        r = CUDA_ERROR_INVALID_VALUE;
    CUgraphExec made = r == CUDA_SUCCESS ? calloc(1, sizeof *made) : NULL;
    if (made && (made->nodes = malloc((graph->count + 1) * sizeof *made->nodes))) {
        made->users = 1;
        made->count = graph->count;
        for (size_t i = 0; i < graph->count; i++) {
            made->nodes[i] = graph->nodes[i];
            made->nodes[i]->users++;
        }
        if (order && strcmp(order, "backwards") == 0)
            order_backwards(made->nodes, made->count);
        simulated_track(made, is_exec);
        *exec = made;
    } else if (r == CUDA_SUCCESS) {
        free(made);
        r = CUDA_ERROR_OUT_OF_MEMORY;
    }
    return leave(r);
}

static void exec_drop(CUgraphExec exec)
{
    if (--exec->users > 0)
        return;
    nodes_drop(exec->nodes, exec->count);
    free(exec);
}

static void run_graph(const void *data)
{
    CUgraphExec exec = *(const CUgraphExec *)data;
    for (size_t i = 0; i < exec->count && failed_device() == CUDA_SUCCESS; i++)
        exec->nodes[i]->work(exec->nodes[i]->data);
    exec_drop(exec);
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec exec, CUstream handle)
{
    CUresult r = enter_graph(__func__, exec, is_exec);
    stream *s = stream_find(handle);
    if (r == CUDA_SUCCESS && !s)
        r = CUDA_ERROR_INVALID_HANDLE;
    if (r == CUDA_SUCCESS && s->capture) {
        simulated_complain("cuGraphLaunch: graphs within graphs are not simulated");
        r = CUDA_ERROR_NOT_SUPPORTED;
    }
    if (r == CUDA_SUCCESS) {
        exec->users++;
        r = stream_add(s, run_graph, &exec, sizeof exec);
    }
    return leave(r);
}

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec exec)
{
    CUresult r = enter_graph(__func__, exec, is_exec);
    if (r == CUDA_SUCCESS) {
        simulated_forget(exec);
        exec_drop(exec);
    }
    return leave(r);
}
