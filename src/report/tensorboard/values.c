#include "report/tensorboard/values.h"
#include "base/memory.h"
#include "format/tensorboard/event_file.h"
#include <cornu/data.h>
#include <cornu/images.h>
#include <cornu/report.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- pictures ----------------------------------------------------------------------------- */

static const color white = {255, 255, 255};

bool tensorboard_has_pictures(const cornu_data *data)
{
    int64_t size[3];
    return !data->stream && cornu_data_picture_shape(data, size) == CORNU_OK;
}

typedef struct sampling {
    const cornu_data *data;
    int64_t shape[3]; /* height, width, channels */
    cornu_data_values range;
    float *values; /* [shape] */
} sampling;

static cornu_status draw_sample(const sampling *s, int64_t index, event_picture *out)
{
    canvas c;
    TRY(sample_picture(s->data, CORNU_TRAIN, index, &s->range, s->values,
                       s->shape[0] * s->shape[1] * s->shape[2]));
    TRY(canvas_open(s->shape[0], s->shape[1], white, &c));
    canvas_picture(&c, (box){0, 0, s->shape[0], s->shape[1]}, s->shape[0], s->shape[1], s->shape[2],
                   s->values);
    cornu_status status = canvas_encode_png(&c, &out->png, &out->size);
    canvas_close(&c);
    return status;
}

static cornu_status add_samples(event_file *f, const sampling *s, int64_t samples,
                                event_picture *pictures, int64_t count)
{
    int drawn = 0;
    for (int64_t i = 0; i < count; i++) {
        cornu_status status = draw_sample(s, samples * i / count, &pictures[drawn]);
        if (status != CORNU_OK && status != CORNU_BAD_FILE)
            return status;
        drawn += status == CORNU_OK;
    }
    if (drawn == 0)
        return CORNU_OK;
    return event_file_pictures(f, "samples", 0, s->shape[0], s->shape[1], pictures, drawn);
}

cornu_status tensorboard_add_samples(event_file *f, const cornu_data *data, int64_t samples,
                                     int64_t count)
{
    sampling s = {.data = data, .range.size = sizeof s.range};
    event_picture *pictures;
    if (count > samples)
        count = samples;
    TRY(cornu_data_picture_shape(data, s.shape));
    TRY(cornu_data_values_get(data, CORNU_TRAIN, &s.range));
    TRY(memory_new((size_t)(s.shape[0] * s.shape[1] * s.shape[2]), sizeof *s.values, "picture",
                   &s.values));
    cornu_status status = memory_new((size_t)count, sizeof *pictures, "pictures", &pictures);
    if (status == CORNU_OK) {
        status = add_samples(f, &s, samples, pictures, count);
        for (int64_t i = 0; i < count; i++)
            free(pictures[i].png);
        free(pictures);
    }
    free(s.values);
    return status;
}

cornu_status tensorboard_add_matrix(event_file *f, const cornu_report *r, int64_t step)
{
    canvas c;
    event_picture picture;
    TRY(report_draw(r, &c));
    cornu_status status = canvas_encode_png(&c, &picture.png, &picture.size);
    if (status == CORNU_OK) {
        status = event_file_pictures(f, "confusion_matrix", step, c.height, c.width, &picture, 1);
        free(picture.png);
    }
    canvas_close(&c);
    return status;
}

/* ---- settings ----------------------------------------------------------------------------- */

static cornu_status fail_memory(void)
{
    return status_fail(CORNU_OUT_OF_MEMORY, "not enough memory for hyperparameters");
}

/* {"class_name": C, "config": {K: V}} as KEY: C and PREFIX K: V, an object within it with KEY and a
   dot for a prefix; what is null is left out, as it has no value. */
static cornu_status flatten(json_t *out, const char *key, const char *prefix, const json_t *object)
{
    const char *name;
    const json_t *value;
    const json_t *class_name = json_object_get(object, "class_name");
    if (class_name && json_object_set(out, key, (json_t *)(uintptr_t)class_name) != 0)
        return fail_memory();
    json_object_foreach(json_object_get(object, "config"), name, value)
    {
        char *full, *within;
        cornu_status status = CORNU_OK;
        TRY(memory_format(&full, "%s%s", prefix, name));
        if (json_is_object(value)) {
            status = memory_format(&within, "%s.", full);
            if (status == CORNU_OK) {
                status = flatten(out, full, within, value);
                free(within);
            }
        } else if ((json_is_number(value) || json_is_boolean(value) || json_is_string(value)) &&
                   json_object_set(out, full, (json_t *)(uintptr_t)value) != 0)
            status = fail_memory();
        free(full);
        TRY(status);
    }
    return CORNU_OK;
}

static cornu_status add_settings(event_file *f, const cornu_model *m, const json_t *compile,
                                 json_t *all)
{
    const position *p = &m->training.position;
    const json_t *function = json_object_get(compile, "loss");
    if (json_object_set_new(all, "batch_size", json_integer(p->batch)) != 0 ||
        json_object_set_new(all, "epochs", json_integer(p->epochs)) != 0 ||
        json_object_set_new(all, "seed", json_integer((json_int_t)p->seed)) != 0 ||
        (json_is_string(function) &&
         json_object_set(all, "loss", (json_t *)(uintptr_t)function) != 0))
        return fail_memory();
    TRY(flatten(all, "loss", "loss.", function));
    TRY(flatten(all, "optimizer", "", json_object_get(compile, "optimizer")));
    return event_file_settings(f, all);
}

cornu_status tensorboard_add_settings(event_file *f, const cornu_model *model)
{
    json_t *all = json_object(), *compile = model_compile_to_json(model);
    cornu_status status = all && compile ? add_settings(f, model, compile, all) : fail_memory();
    json_decref(all);
    json_decref(compile);
    return status;
}

/* ---- operations -------------------------------------------------------------------------- */

_Static_assert(EVENT_RANK >= SHAPE_MAX && EVENT_INPUTS >= OP_INPUTS_MAX &&
                   EVENT_RESULTS >= OP_OUTPUTS_MAX,
               "there is room for all of an operation");

/* The state of writing a plan's operations as a graph. */
typedef struct graph {
    const measured_step *step;
    const plan *plan;              /* step->plan */
    event_operation *operations;   /* [op_count] */
    char **names, **kernels;       /* [op_count] */
    char (*shapes)[OP_SHAPE_TEXT]; /* [op_count] */
} graph;

static void free_graph(graph *g)
{
    for (int i = 0; i < g->plan->op_count; i++) {
        if (g->names)
            free(g->names[i]);
        if (g->kernels)
            free(g->kernels[i]);
    }
    free(g->operations);
    free(g->names);
    free(g->kernels);
    free(g->shapes);
}

static cornu_status open_graph(const measured_step *m, graph *g)
{
    const size_t count = (size_t)m->plan->op_count + 1;
    *g = (graph){.step = m, .plan = m->plan};
    TRY(memory_new(count, sizeof *g->operations, "operations", &g->operations));
    TRY(memory_new(count, sizeof *g->names, "operations", &g->names));
    TRY(memory_new(count, sizeof *g->kernels, "operations", &g->kernels));
    return memory_new(count, sizeof *g->shapes, "operations", &g->shapes);
}

/* "conv2d/conv2d_forward"; of a variable "conv2d/kernel_update", within the layer, too; of a layer
   that has an operation twice, as dropout forwards and backwards, "dropout/dropout_2". */
static cornu_status name_operation(const plan *p, int i, char **name)
{
    const op *o = &p->ops[i];
    const char *of = o->name ? o->name : "", *kind = op_infos[o->kind].name;
    const char *between = !*of ? "" : strchr(of, '/') ? "_" : "/";
    char number[16] = "";
    int same = 1;
    for (int k = 0; k < i; k++)
        same += p->ops[k].kind == o->kind && p->ops[k].name && strcmp(p->ops[k].name, of) == 0;
    if (same > 1)
        snprintf(number, sizeof number, "_%d", same);
    return memory_format(name, "%s%s%s%s", of, between, kind, number);
}

/* "with 12" says which one, too. */
static cornu_status name_kernel(const graph *g, int i)
{
    const kernel_choice *c = &g->step->choices[i];
    int with = op_is_fused(c) ? atoi(c->kernel + strlen("with ")) : 0;
    if (with < 1 || with > g->plan->op_count)
        return memory_copy_string(c->kernel, &g->kernels[i]);
    return memory_format(&g->kernels[i], "with %s", g->names[with - 1]);
}

/* Find the operation that wrote `t` before operation `at` reads it. False: an earlier step wrote
   it, or no operation. */
static bool find_writer(const plan *p, tensor_ref t, int at, event_input *from)
{
    for (from->operation = at - 1; from->operation >= 0; from->operation--) {
        const op *o = &p->ops[from->operation];
        from->result = 0;
        for (int k = 0; k < OP_OUTPUTS_MAX; k++) {
            if (o->out[k] == NO_TENSOR)
                continue;
            if (plan_root(p, o->out[k]) == plan_root(p, t))
                return true;
            from->result++;
        }
    }
    return false;
}

static void add_tensors(const plan *p, int i, event_operation *to)
{
    const op *o = &p->ops[i];
    for (int k = 0; k < OP_INPUTS_MAX; k++)
        if (o->in[k] != NO_TENSOR)
            to->input_count += find_writer(p, o->in[k], i, &to->inputs[to->input_count]);
    for (int k = 0; k < OP_OUTPUTS_MAX; k++) {
        if (o->out[k] == NO_TENSOR)
            continue;
        const tensor *t = &p->tensors[o->out[k]];
        event_shape *s = &to->results[to->result_count++];
        s->rank = t->shape.rank;
        memcpy(s->dim, t->shape.dim, (size_t)s->rank * sizeof *s->dim);
        to->bytes += t->count * (int64_t)sizeof(float);
    }
    if (to->bytes == 0) /* a metric, which adds to its sum */
        to->bytes = sizeof(float);
}

static cornu_status fill_graph(graph *g)
{
    const plan *p = g->plan;
    for (int i = 0; i < p->op_count; i++)
        TRY(name_operation(p, i, &g->names[i]));
    for (int i = 0; i < p->op_count; i++) {
        event_operation *to = &g->operations[i];
        TRY(name_kernel(g, i));
        *to = (event_operation){.name = g->names[i],
                                .kind = op_infos[p->ops[i].kind].name,
                                .kernel = g->kernels[i],
                                .shape = op_shape_show(p, &p->ops[i], g->shapes[i]),
                                .flops = p->ops[i].flops,
                                .seconds = g->step->seconds[i]};
        add_tensors(p, i, to);
    }
    return CORNU_OK;
}

/* The operations of a measured step, for event_file_operations; release them with free(). */
static cornu_status tensorboard_pack_operations(const measured_step *m, void **packed, size_t *size)
{
    graph g;
    cornu_status status;
    TRY_GOTO(open_graph(m, &g));
    TRY_GOTO(fill_graph(&g));
    status = event_operations_pack(m->device, g.operations, m->plan->op_count, packed, size);
done:
    free_graph(&g);
    return status;
}

cornu_status tensorboard_add_operations(event_file *f, const measured_step *m, int64_t step)
{
    void *packed;
    size_t size;
    TRY(tensorboard_pack_operations(m, &packed, &size));
    cornu_status status = event_file_operations(f, "operations", step, packed, size);
    free(packed);
    return status;
}
