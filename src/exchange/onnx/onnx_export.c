/* cornu_model_export_onnx: the graph as a whole. */
#include "exchange/onnx/onnx_export.h"
#include "base/memory.h"
#include "data/data.h"
#include "exchange/checkpoint.h"
#include "exchange/onnx.h"
#include <cornu/exchange.h>
#include <stdlib.h>
#include <string.h>

/* Programs that use the file read the names of classes and the scale of pixels from the
   metadata. */
static cornu_status add_metadata(onnx_export *e, const cornu_export_options *options)
{
    const cornu_model *m = e->plan->model;
    data_spec spec;
    shape picture;
    char number[32];
    TRY(data_spec_read(m->data, &spec));
    if (!options->preprocess && shape_picture(&m->input, &picture)) {
        snprintf(number, sizeof number, "%.9g",
                 spec.scale > 0 ? spec.scale : (double)model_pixel_scale(m));
        onnx_graph_metadata(e->graph, "pixel_scale", number);
    }
    if (!m->class_names)
        return CORNU_OK;
    json_t *names = checkpoint_class_names(m);
    char *listed = json_dumps(names, JSON_COMPACT);
    json_decref(names);
    if (!listed)
        return status_fail(CORNU_OUT_OF_MEMORY, "ONNX: not enough memory for the names of classes");
    onnx_graph_metadata(e->graph, "class_names", listed);
    free(listed);
    return CORNU_OK;
}

static cornu_status build(onnx_export *e, const cornu_export_options *options)
{
    const plan *p = e->plan;
    const shape *out = &p->model->output;
    onnx_add_input(e, options->preprocess);
    for (int i = 0; i < p->op_count; i++)
        if (p->ops[i].kind != OP_GATHER)
            onnx_add_operation(e, &p->ops[i]);
    const char *y = onnx_plain(e, p->output);
    TRY(e->status);
    if (strcmp(y, ONNX_OUTPUT) != 0) /* no operation at all */
        onnx_apply(e, "Identity", y, NULL, ONNX_OUTPUT);
    onnx_graph_output(e->graph, ONNX_OUTPUT, ONNX_FLOAT, out->dim, out->rank);
    return add_metadata(e, options);
}

static void free_export(onnx_export *e)
{
    onnx_graph_free(e->graph);
    for (size_t i = 0; i < e->name_count; i++)
        free(e->names[i]);
    free(e->names);
    free(e->values);
}

static cornu_status export_plan(const plan *p, const cornu_export_options *options,
                                const char *path)
{
    onnx_export e = {.plan = p};
    cornu_status status;
    TRY_GOTO(memory_new((size_t)p->tensor_count + 1, sizeof *e.values, "ONNX", &e.values));
    TRY_GOTO(onnx_graph_new(p->model->name ? p->model->name : "model", &e.graph));
    TRY_GOTO(build(&e, options));
    status = onnx_graph_write(e.graph, path);
done:
    free_export(&e);
    return status;
}

cornu_status export_onnx(const cornu_model *model, const char *path,
                         const cornu_export_options *options)
{
    plan *p;
    TRY(plan_build(model, &(plan_options){.mode = PLAN_PREDICT, .batch = 1, .no_fusion = true},
                   &p));
    cornu_status status = export_plan(p, options, path);
    plan_free(p);
    return status;
}
