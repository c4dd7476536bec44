#include "format/tensorboard/operations.h"
#include "base/memory.h"
#include "format/tensorboard/event.pb-c.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ATTRIBUTES = 4, NAME_MOST = 256 };
typedef Tensorboard__Graph__Node graph_node;
typedef Tensorboard__Graph__Attribute attribute;
typedef Tensorboard__Tensor__Shape tensor_shape;
typedef Tensorboard__Tensor__Shape__Dim tensor_dim;
typedef Tensorboard__StepStats__Node node_times;
typedef Tensorboard__StepStats__Memory node_memory;

/* The messages of one operation, and the memory that they point to. */
typedef struct packing {
    graph_node node;
    char input[EVENT_INPUTS][NAME_MOST], *inputs[EVENT_INPUTS];
    attribute attribute[ATTRIBUTES], *attributes[ATTRIBUTES];
    Tensorboard__Graph__Value value[ATTRIBUTES];
    Tensorboard__Graph__List list;
    tensor_shape shape[EVENT_RESULTS], *shapes[EVENT_RESULTS];
    tensor_dim dim[EVENT_RESULTS][EVENT_RANK], *dims[EVENT_RESULTS][EVENT_RANK];
    node_times times;
    node_memory memory, *memories[1];
} packing;

/* ---- the graph ---------------------------------------------------------------------------- */

static Tensorboard__Graph__Value *add_attribute(packing *p, const char *key)
{
    size_t i = p->node.n_attr++;
    tensorboard__graph__attribute__init(&p->attribute[i]);
    tensorboard__graph__value__init(&p->value[i]);
    p->attribute[i].key = (char *)(uintptr_t)key;
    p->attribute[i].value = &p->value[i];
    p->attributes[i] = &p->attribute[i];
    return &p->value[i];
}

static void add_words(packing *p, const char *key, const char *words)
{
    Tensorboard__Graph__Value *value = add_attribute(p, key);
    value->has_s = true;
    value->s = (ProtobufCBinaryData){strlen(words), (uint8_t *)(uintptr_t)words};
}

/* The labels of edges. */
static void add_shapes(packing *p, const event_operation *o)
{
    tensorboard__graph__list__init(&p->list);
    for (int r = 0; r < o->result_count; r++) {
        tensorboard__tensor__shape__init(&p->shape[r]);
        for (int k = 0; k < o->results[r].rank; k++) {
            tensorboard__tensor__shape__dim__init(&p->dim[r][k]);
            p->dim[r][k].has_size = true;
            p->dim[r][k].size = o->results[r].dim[k];
            p->dims[r][k] = &p->dim[r][k];
        }
        p->shape[r].n_dim = (size_t)o->results[r].rank;
        p->shape[r].dim = p->dims[r];
        p->shapes[r] = &p->shape[r];
    }
    p->list.n_shape = (size_t)o->result_count;
    p->list.shape = p->shapes;
    add_attribute(p, "_output_shapes")->list = &p->list;
}

static void make_node(packing *p, const event_operation *all, const event_operation *o,
                      const char *on)
{
    tensorboard__graph__node__init(&p->node);
    p->node.name = (char *)(uintptr_t)o->name;
    p->node.op = (char *)(uintptr_t)o->kind;
    p->node.device = (char *)(uintptr_t)on;
    p->node.input = p->inputs;
    for (int i = 0; i < o->input_count; i++) {
        const event_input *from = &o->inputs[i];
        snprintf(p->input[i], NAME_MOST, from->result > 0 ? "%s:%d" : "%s",
                 all[from->operation].name, from->result);
        p->inputs[p->node.n_input++] = p->input[i];
    }
    p->node.attr = p->attributes;
    add_words(p, "kernel", o->kernel);
    add_words(p, "shape", o->shape);
    Tensorboard__Graph__Value *mflop = add_attribute(p, "MFLOP");
    mflop->has_f = true;
    mflop->f = (float)(o->flops / 1e6);
    add_shapes(p, o);
}

/* ---- times -------------------------------------------------------------------------------- */

/* `begin` and all times here are in microseconds; shorter times count as one. Returns the end. */
static int64_t make_times(packing *p, const event_operation *o, int64_t begin)
{
    int64_t length = o->seconds > 0 ? (int64_t)fmax(1, round(o->seconds * 1e6)) : 0;
    node_times *t = &p->times;
    tensorboard__step_stats__node__init(t);
    tensorboard__step_stats__memory__init(&p->memory);
    t->node_name = p->node.name;
    t->has_all_start_micros = t->has_op_end_rel_micros = t->has_all_end_rel_micros = length > 0;
    t->all_start_micros = begin;
    t->op_end_rel_micros = t->all_end_rel_micros = length;
    p->memory.allocator_name = p->node.device;
    p->memory.has_total_bytes = true;
    p->memory.total_bytes = o->bytes;
    p->memories[0] = &p->memory;
    t->n_memory = 1;
    t->memory = p->memories;
    return begin + length;
}

static int by_name(const void *a, const void *b)
{
    const packing *const *x = a, *const *y = b;
    return strcmp((*x)->node.name, (*y)->node.name);
}

/* For TensorBoard the time of a layer is from its first operation's start to its last one's end. So
   the operations of a layer, which are neighbours by name, get consecutive times, and the layer's
   time is their sum. The first start is not 0, which protobuf would not write. */
static void make_all_times(const event_operation *all, packing *packings, int count,
                           packing **sorted, node_times **times)
{
    int64_t at = 1;
    for (int i = 0; i < count; i++)
        sorted[i] = &packings[i];
    qsort(sorted, (size_t)count, sizeof(void *), by_name);
    for (int i = 0; i < count; i++) {
        at = make_times(sorted[i], &all[sorted[i] - packings], at);
        times[i] = &sorted[i]->times;
    }
}

/* ---- all together ------------------------------------------------------------------------- */

static cornu_status pack(char *on, graph_node **nodes, node_times **times, size_t count,
                         void **packed, size_t *size)
{
    Tensorboard__RunMetadata whole = TENSORBOARD__RUN_METADATA__INIT;
    Tensorboard__RunMetadata__Function function = TENSORBOARD__RUN_METADATA__FUNCTION__INIT;
    Tensorboard__RunMetadata__Function *functions = &function;
    Tensorboard__Graph graph = TENSORBOARD__GRAPH__INIT;
    Tensorboard__StepStats stats = TENSORBOARD__STEP_STATS__INIT;
    Tensorboard__StepStats__Device device = TENSORBOARD__STEP_STATS__DEVICE__INIT,
                                   *devices = &device;
    graph.n_node = count;
    graph.node = nodes;
    function.pre_optimization_graph = &graph;
    whole.n_function_graphs = 1;
    whole.function_graphs = &functions;
    device.device = on;
    device.n_node_stats = count;
    device.node_stats = times;
    stats.n_dev_stats = 1;
    stats.dev_stats = &devices;
    whole.step_stats = &stats;
    *size = tensorboard__run_metadata__get_packed_size(&whole);
    TRY(memory_new(*size + 1, 1, "operations", packed));
    tensorboard__run_metadata__pack(&whole, *packed);
    return CORNU_OK;
}

cornu_status event_operations_pack(const char *on, const event_operation *all, int count,
                                   void **packed, size_t *size)
{
    cornu_status status;
    const size_t most = (size_t)count + 1;
    packing *packings = NULL, **sorted = NULL;
    graph_node **nodes = NULL;
    node_times **times = NULL;
    char name[96]; /* TensorBoard leaves out devices with other names */
    *packed = NULL;
    snprintf(name, sizeof name, "/device:%.64s%s", on, strchr(on, ':') ? "" : ":0");
    TRY_GOTO(memory_new(most, sizeof *packings, "operations", &packings));
    TRY_GOTO(memory_new(most, sizeof *sorted, "operations", &sorted));
    TRY_GOTO(memory_new(most, sizeof *nodes, "operations", &nodes));
    TRY_GOTO(memory_new(most, sizeof *times, "operations", &times));
    for (int i = 0; i < count; i++) {
        make_node(&packings[i], all, &all[i], name);
        nodes[i] = &packings[i].node;
    }
    make_all_times(all, packings, count, sorted, times);
    status = pack(name, nodes, times, (size_t)count, packed, size);
done:
    free(packings);
    free(sorted);
    free(nodes);
    free(times);
    return status;
}
