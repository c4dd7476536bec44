#include "format/tensorboard/event_file.h"
#include "base/files.h"
#include "base/memory.h"
#include "format/tensorboard/event.pb-c.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct event_file {
    char *path; /* for messages */
    int fd;
};

/* TensorFlow's numbers of element types, and the classes of a tag's values. */
enum { TYPE_FLOAT = 1, TYPE_DOUBLE = 2, TYPE_STRING = 7 };
enum { CLASS_UNKNOWN, CLASS_SCALAR, CLASS_TENSOR, CLASS_BLOBS };
enum { STATUS_SUCCESS = 1 }; /* of hparams/api.proto */

/* ---- records: TFRecord's framing ---------------------------------------------------------- */

/* CRC-32C (RFC 3720), which zlib does not have, bit by bit: events are small. Masked as TFRecord
   requires, because data may itself contain checksums. */
static uint32_t masked_crc(const uint8_t *data, size_t size)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xa282ead8;
}

static void put(uint8_t *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

static cornu_status write_all(const event_file *f, const uint8_t *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = write(f->fd, data + done, size - done);
        if (n < 0 && errno != EINTR)
            return status_fail(CORNU_IO, "%s: cannot write: %s", f->path, strerror(errno));
        done += n > 0 ? (size_t)n : 0;
    }
    return CORNU_OK;
}

/* length (8 bytes), its checksum (4), the event, its checksum (4) */
static cornu_status write_event(const event_file *f, Tensorboard__Event *e)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    e->has_wall_time = e->has_step = true;
    e->wall_time = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    size_t size = tensorboard__event__get_packed_size(e);
    uint8_t *record;
    TRY(memory_new(size + 16, 1, "event", &record));
    put(record, size, 8);
    put(record + 8, masked_crc(record, 8), 4);
    tensorboard__event__pack(e, record + 12);
    put(record + 12 + size, masked_crc(record + 12, size), 4);
    cornu_status status = write_all(f, record, size + 16);
    free(record);
    return status;
}

/* ---- the file ----------------------------------------------------------------------------- */

/* TensorBoard finds files by "tfevents" in the name, and reads them in the order of names. */
static cornu_status make_file(int folder, const char *shown, event_file *f)
{
    char host[256], name[512];
    if (gethostname(host, sizeof host) != 0)
        snprintf(host, sizeof host, "localhost");
    host[sizeof host - 1] = 0;
    for (int number = 0; f->fd < 0; number++) {
        snprintf(name, sizeof name, "events.out.tfevents.%lld.%s.%d.%d.v2", (long long)time(NULL),
                 host, (int)getpid(), number);
        f->fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
        if (f->fd < 0 && errno != EEXIST)
            return status_fail(CORNU_IO, "%s/%s: cannot write: %s", shown, name, strerror(errno));
    }
    return memory_format(&f->path, "%s/%s", shown, name);
}

cornu_status event_file_open(int folder, const char *shown, event_file **out)
{
    *out = NULL;
    event_file *f;
    TRY(memory_new(1, sizeof *f, "event file", &f));
    f->fd = -1;
    cornu_status status = make_file(folder, shown, f);
    Tensorboard__Event e = TENSORBOARD__EVENT__INIT;
    e.file_version = (char *)(uintptr_t) "brain.Event:2";
    if (status == CORNU_OK)
        status = write_event(f, &e);
    if (status != CORNU_OK) {
        event_file_close(f);
        return status;
    }
    *out = f;
    return CORNU_OK;
}

cornu_status event_file_sync(event_file *f)
{
    if (!f || file_sync(f->fd))
        return CORNU_OK; /* file systems without fsync */
    return status_fail(CORNU_IO, "%s: cannot write: %s", f->path, strerror(errno));
}

void event_file_close(event_file *f)
{
    if (!f)
        return;
    if (f->fd >= 0)
        close(f->fd); /* each event is already written */
    free(f->path);
    free(f);
}

/* ---- events ------------------------------------------------------------------------------- */

typedef struct tag_kind {
    const char *plugin;
    int data_class;
    const void *content; /* bytes, for the plugin */
    size_t size;
} tag_kind;

static const tag_kind scalars = {"scalars", CLASS_SCALAR, NULL, 0};
static const tag_kind histograms = {"histograms", CLASS_TENSOR, NULL, 0};
static const tag_kind pictures_kind = {"images", CLASS_BLOBS, NULL, 0};
static const tag_kind networks = {"graph_keras_model", CLASS_UNKNOWN, "1", 1};
static const tag_kind profiles = {"graph_run_metadata", CLASS_UNKNOWN, "1", 1};

/* One value under a tag. */
static cornu_status write_value(const event_file *f, const tag_kind *kind, const char *tag,
                                int64_t step, Tensorboard__Tensor *tensor)
{
    Tensorboard__Event e = TENSORBOARD__EVENT__INIT;
    Tensorboard__Summary summary = TENSORBOARD__SUMMARY__INIT;
    Tensorboard__Summary__Value value = TENSORBOARD__SUMMARY__VALUE__INIT, *values = &value;
    Tensorboard__Metadata metadata = TENSORBOARD__METADATA__INIT;
    Tensorboard__Metadata__PluginData plugin = TENSORBOARD__METADATA__PLUGIN_DATA__INIT;
    plugin.plugin_name = (char *)(uintptr_t)kind->plugin;
    plugin.has_content = kind->size > 0;
    plugin.content.data = (uint8_t *)(uintptr_t)kind->content;
    plugin.content.len = kind->size;
    metadata.plugin_data = &plugin;
    metadata.has_data_class = kind->data_class != CLASS_UNKNOWN;
    metadata.data_class = kind->data_class;
    value.tag = (char *)(uintptr_t)tag;
    value.tensor = tensor;
    value.metadata = &metadata;
    summary.n_value = 1;
    summary.value = &values;
    e.summary = &summary;
    e.step = step;
    return write_event(f, &e);
}

static void describe(Tensorboard__Tensor *tensor, Tensorboard__Tensor__Shape *shape, int type,
                     void *content, size_t bytes)
{
    tensor->has_dtype = true;
    tensor->dtype = type;
    tensor->tensor_shape = shape;
    tensor->has_tensor_content = content != NULL;
    tensor->tensor_content.data = content;
    tensor->tensor_content.len = bytes;
}

cornu_status event_file_scalar(event_file *f, const char *tag, int64_t step, double value)
{
    Tensorboard__Tensor tensor = TENSORBOARD__TENSOR__INIT;
    Tensorboard__Tensor__Shape shape = TENSORBOARD__TENSOR__SHAPE__INIT;
    float content = (float)value;
    describe(&tensor, &shape, TYPE_FLOAT, &content, sizeof content);
    return write_value(f, &scalars, tag, step, &tensor);
}

/* A scalar of one string, or a row of several. */
static cornu_status write_strings(const event_file *f, const tag_kind *kind, const char *tag,
                                  int64_t step, ProtobufCBinaryData *strings, size_t count)
{
    Tensorboard__Tensor tensor = TENSORBOARD__TENSOR__INIT;
    Tensorboard__Tensor__Shape shape = TENSORBOARD__TENSOR__SHAPE__INIT;
    Tensorboard__Tensor__Shape__Dim dim = TENSORBOARD__TENSOR__SHAPE__DIM__INIT, *dims = &dim;
    dim.has_size = true;
    dim.size = (int64_t)count;
    shape.n_dim = count > 1;
    shape.dim = &dims;
    describe(&tensor, &shape, TYPE_STRING, NULL, 0);
    tensor.n_string_val = count;
    tensor.string_val = strings;
    return write_value(f, kind, tag, step, &tensor);
}

cornu_status event_file_network(event_file *f, const char *json)
{
    ProtobufCBinaryData content = {strlen(json), (uint8_t *)(uintptr_t)json};
    return write_strings(f, &networks, "keras", 0, &content, 1);
}

cornu_status event_file_operations(event_file *f, const char *tag, int64_t step, const void *packed,
                                   size_t size)
{
    ProtobufCBinaryData content = {size, (uint8_t *)(uintptr_t)packed};
    return write_strings(f, &profiles, tag, step, &content, 1);
}

/* The plugin's row: width, height, and each picture. */
cornu_status event_file_pictures(event_file *f, const char *tag, int64_t step, int64_t height,
                                 int64_t width, const event_picture *pictures, int count)
{
    char sizes[2][24];
    ProtobufCBinaryData *row;
    TRY(memory_new((size_t)count + 2, sizeof *row, "pictures", &row));
    snprintf(sizes[0], sizeof sizes[0], "%jd", (intmax_t)width);
    snprintf(sizes[1], sizeof sizes[1], "%jd", (intmax_t)height);
    for (int i = 0; i < 2; i++)
        row[i] = (ProtobufCBinaryData){strlen(sizes[i]), (uint8_t *)sizes[i]};
    for (int i = 0; i < count; i++)
        row[i + 2] = (ProtobufCBinaryData){pictures[i].size, pictures[i].png};
    cornu_status status = write_strings(f, &pictures_kind, tag, step, row, (size_t)count + 2);
    free(row);
    return status;
}

/* ---- hyperparameters ---------------------------------------------------------------------- */

/* The plugin reads only the metadata beside the value, which is an empty row of floats. */
static cornu_status write_hyperparameters(const event_file *f, const char *tag,
                                          Tensorboard__Hyperparameters *h)
{
    Tensorboard__Tensor tensor = TENSORBOARD__TENSOR__INIT;
    Tensorboard__Tensor__Shape shape = TENSORBOARD__TENSOR__SHAPE__INIT;
    Tensorboard__Tensor__Shape__Dim dim = TENSORBOARD__TENSOR__SHAPE__DIM__INIT, *dims = &dim;
    uint8_t *content;
    size_t size = tensorboard__hyperparameters__get_packed_size(h);
    TRY(memory_new(size + 1, 1, "hyperparameters", &content));
    tensorboard__hyperparameters__pack(h, content);
    dim.has_size = true;
    shape.n_dim = 1;
    shape.dim = &dims;
    describe(&tensor, &shape, TYPE_FLOAT, NULL, 0);
    cornu_status status =
        write_value(f, &(tag_kind){"hparams", CLASS_TENSOR, content, size}, tag, 0, &tensor);
    free(content);
    return status;
}

typedef struct setting {
    Tensorboard__Hyperparameters__Entry entry;
    Tensorboard__Hyperparameters__Setting value;
} setting;

static void set(setting *s, const char *key, const json_t *value)
{
    tensorboard__hyperparameters__entry__init(&s->entry);
    tensorboard__hyperparameters__setting__init(&s->value);
    s->entry.key = (char *)(uintptr_t)key;
    s->entry.value = &s->value;
    s->value.has_number_value = json_is_number(value);
    s->value.number_value = json_number_value(value);
    s->value.has_bool_value = json_is_boolean(value);
    s->value.bool_value = json_is_true(value);
    s->value.string_value = (char *)(uintptr_t)json_string_value(value);
}

static cornu_status write_start(const event_file *f, const json_t *settings, setting *all,
                                Tensorboard__Hyperparameters__Entry **list)
{
    Tensorboard__Hyperparameters h = TENSORBOARD__HYPERPARAMETERS__INIT;
    Tensorboard__Hyperparameters__Start start = TENSORBOARD__HYPERPARAMETERS__START__INIT;
    const char *key;
    const json_t *value;
    json_object_foreach((json_t *)(uintptr_t)settings, key, value)
    {
        set(&all[start.n_hparams], key, value);
        list[start.n_hparams] = &all[start.n_hparams].entry;
        start.n_hparams++;
    }
    start.hparams = list;
    start.has_start_time_secs = true;
    start.start_time_secs = (double)time(NULL);
    h.session_start_info = &start;
    return write_hyperparameters(f, "_hparams_/session_start_info", &h);
}

cornu_status event_file_settings(event_file *f, const json_t *settings)
{
    const size_t count = json_object_size(settings) + 1;
    setting *all;
    Tensorboard__Hyperparameters__Entry **list;
    TRY(memory_new(count, sizeof *all, "hyperparameters", &all));
    cornu_status status = memory_new(count, sizeof(void *), "hyperparameters", &list);
    if (status == CORNU_OK) {
        status = write_start(f, settings, all, list);
        free(list);
    }
    free(all);
    return status;
}

cornu_status event_file_end(event_file *f)
{
    Tensorboard__Hyperparameters h = TENSORBOARD__HYPERPARAMETERS__INIT;
    Tensorboard__Hyperparameters__End end = TENSORBOARD__HYPERPARAMETERS__END__INIT;
    end.has_status = end.has_end_time_secs = true;
    end.status = STATUS_SUCCESS;
    end.end_time_secs = (double)time(NULL);
    h.session_end_info = &end;
    return write_hyperparameters(f, "_hparams_/session_end_info", &h);
}

/* ---- histograms --------------------------------------------------------------------------- */

enum { INTERVALS = 30 };

/* Rows [left, right, count], as in tensorboard's own summaries: where all values are equal, the
   last interval holds them. */
static void count_values(const float *values, int64_t count, double rows[INTERVALS][3])
{
    double least = INFINITY, most = -INFINITY;
    for (int64_t i = 0; i < count; i++)
        if (isfinite(values[i])) {
            least = fmin(least, (double)values[i]);
            most = fmax(most, (double)values[i]);
        }
    double width = most > least ? (most - least) / INTERVALS : 0;
    for (int k = 0; k < INTERVALS; k++) {
        rows[k][0] = width > 0 ? least + k * width : most;
        rows[k][1] = width > 0 && k + 1 < INTERVALS ? least + (k + 1) * width : most;
        rows[k][2] = 0;
    }
    for (int64_t i = 0; i < count; i++)
        if (isfinite(values[i])) {
            double at = width > 0 ? floor(((double)values[i] - least) / width) : INTERVALS;
            rows[at < INTERVALS ? (int)at : INTERVALS - 1][2]++;
        }
}

cornu_status event_file_histogram(event_file *f, const char *tag, int64_t step, const float *values,
                                  int64_t count)
{
    Tensorboard__Tensor tensor = TENSORBOARD__TENSOR__INIT;
    Tensorboard__Tensor__Shape shape = TENSORBOARD__TENSOR__SHAPE__INIT;
    Tensorboard__Tensor__Shape__Dim dims[2] = {TENSORBOARD__TENSOR__SHAPE__DIM__INIT,
                                               TENSORBOARD__TENSOR__SHAPE__DIM__INIT};
    Tensorboard__Tensor__Shape__Dim *list[2] = {&dims[0], &dims[1]};
    double rows[INTERVALS][3];
    count_values(values, count, rows);
    if (!isfinite(rows[0][0])) /* no value is finite */
        memset(rows, 0, sizeof rows);
    dims[0].has_size = dims[1].has_size = true;
    dims[0].size = INTERVALS;
    dims[1].size = 3;
    shape.n_dim = 2;
    shape.dim = list;
    describe(&tensor, &shape, TYPE_DOUBLE, rows, sizeof rows);
    return write_value(f, &histograms, tag, step, &tensor);
}

/* ---- the operations of a step ----------------------------------------------------------- */

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
