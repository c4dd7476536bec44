/* ONNX files, read back by the messages that they are made of; what they compute is compared with
   onnxruntime by peers/onnx_files.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/files.h"
#include "support/net.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <cornu/exchange.h>
#include <stdlib.h>
#include <string.h>

#if CORNU_ONNX
#include "format/onnx/onnx.pb-c.h"

static Onnx__ModelProto *read_model(const char *path)
{
    char *content;
    size_t size;
    expect_ok(file_read(path, 1 << 24, &content, &size));
    Onnx__ModelProto *m = onnx__model_proto__unpack(NULL, size, (const uint8_t *)content);
    free(content);
    assert_non_null(m);
    return m;
}

static Onnx__ModelProto *export_of(const cornu_model *model, const cornu_export_options *options)
{
    const char *path = scratch_path("m.onnx");
    expect_ok(cornu_model_export_onnx(model, path, options));
    return read_model(path);
}

/* A model of this input and these layers, in YAML's flow form, exported. */
static Onnx__ModelProto *export_net(const char *input, const char *layers)
{
    char yaml[1024];
    snprintf(yaml, sizeof yaml, "model: {input: [%s], layers: [%s]}\n", input, layers);
    cornu_model *model = net_model(yaml);
    Onnx__ModelProto *m = export_of(model, NULL);
    cornu_model_close(model);
    return m;
}

static int count_nodes(const Onnx__ModelProto *m, const char *kind)
{
    int count = 0;
    for (size_t i = 0; i < m->graph->n_node; i++)
        count += strcmp(m->graph->node[i]->op_type, kind) == 0;
    return count;
}

static const Onnx__NodeProto *node_of(const Onnx__ModelProto *m, const char *kind)
{
    for (size_t i = 0; i < m->graph->n_node; i++)
        if (strcmp(m->graph->node[i]->op_type, kind) == 0)
            return m->graph->node[i];
    fail_msg("found no %s", kind);
    return NULL;
}

static const int64_t *ints_of(const Onnx__NodeProto *n, const char *name)
{
    for (size_t i = 0; i < n->n_attribute; i++)
        if (strcmp(n->attribute[i]->name, name) == 0)
            return n->attribute[i]->ints;
    fail_msg("%s has no %s", n->name, name);
    return NULL;
}

static const Onnx__TensorProto *tensor_of(const Onnx__ModelProto *m, const char *name)
{
    for (size_t i = 0; i < m->graph->n_initializer; i++)
        if (strcmp(m->graph->initializer[i]->name, name) == 0)
            return m->graph->initializer[i];
    fail_msg("found no tensor %s", name);
    return NULL;
}

static const char *metadata_of(const Onnx__ModelProto *m, const char *key)
{
    for (size_t i = 0; i < m->n_metadata_props; i++)
        if (strcmp(m->metadata_props[i]->key, key) == 0)
            return m->metadata_props[i]->value;
    return NULL;
}

static bool is_made(const Onnx__ModelProto *m, size_t before, const char *name)
{
    const Onnx__GraphProto *g = m->graph;
    bool made = strcmp(g->input[0]->name, name) == 0;
    for (size_t i = 0; i < g->n_initializer; i++)
        made |= strcmp(g->initializer[i]->name, name) == 0;
    for (size_t i = 0; i < before; i++)
        for (size_t k = 0; k < g->node[i]->n_output; k++)
            made |= strcmp(g->node[i]->output[k], name) == 0;
    return made;
}

static void expect_described(const Onnx__ValueInfoProto *v, const char *name, const shape *s)
{
    const Onnx__TensorShapeProto *found = v->type->tensor_type->shape;
    assert_string_equal(v->name, name);
    assert_int_equal(found->n_dim, s->rank + 1);
    assert_string_equal(found->dim[0]->dim_param, "batch");
    for (int i = 0; i < s->rank; i++)
        assert_int_equal(found->dim[i + 1]->dim_value, s->dim[i]);
}

/* Of one input and one output of any batch, every node after those that it reads. */
static void expect_whole(const Onnx__ModelProto *m, const cornu_model *model)
{
    assert_int_equal(m->opset_import[0]->version, 17);
    assert_int_equal(m->graph->n_input, 1);
    assert_int_equal(m->graph->n_output, 1);
    expect_described(m->graph->input[0], "input", &model->input);
    expect_described(m->graph->output[0], "output", &model->output);
    for (size_t i = 0; i < m->graph->n_node; i++) {
        const Onnx__NodeProto *n = m->graph->node[i];
        for (size_t k = 0; k < n->n_input; k++)
            if (*n->input[k] && !is_made(m, i, n->input[k]))
                fail_msg("%s reads %s, which is not there yet", n->name, n->input[k]);
    }
    assert_true(is_made(m, m->graph->n_node, "output"));
}

static void every_layer_is_exported_whole(void **state)
{
    (void)state;
    for (const layer_kind *const *kind = layer_kinds; *kind; kind++)
        for (const char *const *sample = (*kind)->samples; *sample; sample++) {
            cornu_model *model = net_layer(*kind, *sample);
            Onnx__ModelProto *m = export_of(model, NULL);
            expect_whole(m, model);
            for (int i = 0; i < model->weight_count; i++)
                if (strcmp((*kind)->name, "Normalization") != 0 && /* may be factors and summands */
                    !net_is_recurrent(*kind, *sample) &&           /* whose gates are rearranged */
                    !strstr(model->variables[i].name, "vector_u") && /* training's alone */
                    ((!strstr((*kind)->name, "Conv") && !strstr(*sample, "Conv")) ||
                     model->variables[i].shape.rank == 1))
                    assert_memory_equal(tensor_of(m, model->variables[i].name)->raw_data.data,
                                        model->variables[i].value,
                                        (size_t)model->variables[i].count * sizeof(float));
            onnx__model_proto__free_unpacked(m, NULL);
            cornu_model_close(model);
        }
}

static void between_convolutions_and_pools_nothing_is_transposed(void **state)
{
    (void)state;
    Onnx__ModelProto *m = export_net(
        "12, 12, 3", "{Conv2D: {filters: 4, kernel_size: 3, activation: relu}}, "
                     "BatchNormalization, {MaxPooling2D: {pool_size: 2}}, {Dropout: {rate: 0.5}}, "
                     "ZeroPadding2D, {Conv2D: {filters: 4, kernel_size: 3, activation: softmax}}, "
                     "Flatten, {Dense: {units: 2}}");
    assert_int_equal(count_nodes(m, "Transpose"), 2); /* into the first, and out of the last */
    onnx__model_proto__free_unpacked(m, NULL);
    m = export_net("12, 12, 3", "{Conv2D: {filters: 4, kernel_size: 3}}, GlobalAveragePooling2D");
    assert_int_equal(count_nodes(m, "Transpose"), 1); /* of one pixel both orders are one */
    assert_int_equal(count_nodes(m, "GlobalAveragePool"), 1);
    onnx__model_proto__free_unpacked(m, NULL);
    m = export_net("12, 12, 3", "{Rescaling: {scale: 0.5}}, Flatten, {Dense: {units: 2}}");
    assert_int_equal(count_nodes(m, "Transpose"), 0);
    onnx__model_proto__free_unpacked(m, NULL);
}

/* TensorFlow's "same": the odd one goes after. */
static void windows_have_their_padding_and_groups(void **state)
{
    (void)state;
    Onnx__ModelProto *m =
        export_net("6, 7, 4", "{Conv2D: {filters: 6, kernel_size: [2, 3], strides: [1, 2], "
                              "groups: 2, padding: same}}");
    const Onnx__NodeProto *n = node_of(m, "Conv");
    assert_memory_equal(ints_of(n, "pads"), ((int64_t[]){0, 1, 1, 1}), 4 * sizeof(int64_t));
    assert_memory_equal(ints_of(n, "strides"), ((int64_t[]){1, 2}), 2 * sizeof(int64_t));
    assert_memory_equal(ints_of(n, "kernel_shape"), ((int64_t[]){2, 3}), 2 * sizeof(int64_t));
    const Onnx__TensorProto *kernel = tensor_of(m, n->input[1]);
    assert_memory_equal(kernel->dims, ((int64_t[]){6, 2, 2, 3}), 4 * sizeof(int64_t));
    onnx__model_proto__free_unpacked(m, NULL);
}

static void kernels_lie_as_onnx_wants_them(void **state)
{
    (void)state;
    cornu_model *model = net_model(
        "model: {input: [5, 5, 2], layers: [{Conv2D: {filters: 3, kernel_size: [2, 4]}}]}");
    Onnx__ModelProto *m = export_of(model, NULL);
    const float *ours = model_variable(model, "conv2d/kernel")->value;
    const float *theirs = (const float *)(const void *)tensor_of(m, "conv2d/kernel")->raw_data.data;
    for (int h = 0; h < 2; h++)
        for (int w = 0; w < 4; w++)
            for (int in = 0; in < 2; in++)
                for (int out = 0; out < 3; out++)
                    assert_true(ours[((h * 4 + w) * 2 + in) * 3 + out] ==
                                theirs[((out * 2 + in) * 2 + h) * 4 + w]);
    onnx__model_proto__free_unpacked(m, NULL);
    cornu_model_close(model);
}

static void classes_and_the_scale_of_pixels_are_in_the_metadata(void **state)
{
    (void)state;
    cornu_model *model = net_model("data: {name: mnist, scale: 0.5}\n"
                                   "model: {input: [4, 4, 1], layers: [Flatten, {Dense: {units: "
                                   "2, activation: softmax}}]}");
    char *const names[] = {(char *)(uintptr_t) "cat", (char *)(uintptr_t) "d\"og\xff"};
    expect_ok(model_set_classes(model, names, 2));
    Onnx__ModelProto *m = export_of(model, NULL);
    assert_string_equal(metadata_of(m, "class_names"), "[\"cat\",\"d\\\"og\\\\xff\"]");
    assert_string_equal(metadata_of(m, "pixel_scale"), "0.5");
    onnx__model_proto__free_unpacked(m, NULL);
    m = export_of(
        model, &(cornu_export_options){.size = sizeof(cornu_export_options), .preprocess = true});
    assert_null(metadata_of(m, "pixel_scale"));
    assert_int_equal(m->graph->input[0]->type->tensor_type->elem_type, 2); /* uint8 */
    assert_int_equal(count_nodes(m, "Cast"), 1);
    assert_int_equal(count_nodes(m, "Mul"), 1);
    onnx__model_proto__free_unpacked(m, NULL);
    cornu_model_close(model);
}

static void samples_are_standardized_in_the_file_once_that_is_learned(void **state)
{
    (void)state;
    cornu_model *model =
        net_model("data: {name: mnist, augment: {samplewise_std_normalization: true, "
                  "featurewise_std_normalization: true}}\n"
                  "model: {input: [4, 4, 2], layers: [Flatten, {Dense: {units: 2}}]}");
    const cornu_export_options options = {.size = sizeof options, .preprocess = true};
    expect_status(cornu_model_export_onnx(model, scratch_path("m.onnx"), &options), CORNU_INVALID);
    expect_message("no mean of training samples");
    model->training.features =
        (feature_statistics){.channels = 2, .mean = {0.25f, 0.5f}, .std = {1, 2}};
    Onnx__ModelProto *m = export_of(model, &options);
    expect_whole(m, model);
    assert_int_equal(count_nodes(m, "ReduceMean"), 2);
    assert_int_equal(count_nodes(m, "Sub"), 2);
    assert_int_equal(count_nodes(m, "Div"), 2);
    onnx__model_proto__free_unpacked(m, NULL);
    cornu_model_close(model);
}

static void what_is_no_network_to_export_is_refused(void **state)
{
    (void)state;
    cornu_model *model = NULL;
    expect_ok(cornu_model_open("mnist-cnn-2", &model));
    expect_status(cornu_model_export_onnx(model, scratch_path("m.onnx"), NULL), CORNU_INVALID);
    expect_message("m.onnx: found a model without weights");
    expect_status(cornu_model_export_onnx(NULL, "m.onnx", NULL), CORNU_INVALID);
    expect_ok(cornu_model_initialize(model, 1));
    expect_status(cornu_model_export_onnx(model, scratch_path("no/m.onnx"), NULL), CORNU_NOT_FOUND);
    cornu_model_close(model);
    model = net_model("{model: {input: [4, 2], layers: [{LSTM: {units: 3, activation: relu6}}]}}");
    expect_status(cornu_model_export_onnx(model, scratch_path("m.onnx"), NULL), CORNU_UNSUPPORTED);
    expect_message("lstm: activation: found relu6; expected tanh, sigmoid, hard_sigmoid, relu");
    cornu_model_close(model);
    assert_int_equal(scratch_count(), 0);
}

typedef struct live {
    cornu_model *model;
    int epochs;
} live;

static void export_epoch(void *user, const cornu_progress *progress)
{
    live *l = user;
    char name[16];
    snprintf(name, sizeof name, "%d.onnx", (int)progress->epoch);
    expect_ok(cornu_model_export_onnx(l->model, scratch_path(name), NULL));
    l->epochs++;
}

static void while_training_the_weights_are_those_of_the_device(void **state)
{
    (void)state;
    live l = {.model = runs_usual("{}")};
    cornu_data *data = runs_data(40, 8);
    expect_ok(cornu_fit(
        l.model, data,
        &(cornu_fit_options){
            .size = sizeof(cornu_fit_options), .epochs = 2, .on_epoch = export_epoch, .user = &l},
        NULL));
    assert_int_equal(l.epochs, 2);
    Onnx__ModelProto *m = read_model(scratch_path("1.onnx"));
    const variable *v = &l.model->variables[0];
    assert_memory_equal(tensor_of(m, v->name)->raw_data.data, v->value,
                        (size_t)v->count * sizeof *v->value);
    onnx__model_proto__free_unpacked(m, NULL);
    m = read_model(scratch_path("0.onnx"));
    assert_memory_not_equal(tensor_of(m, v->name)->raw_data.data, v->value,
                            (size_t)v->count * sizeof *v->value);
    onnx__model_proto__free_unpacked(m, NULL);
    cornu_data_close(data);
    cornu_model_close(l.model);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_layer_is_exported_whole),
        TEST(between_convolutions_and_pools_nothing_is_transposed),
        TEST(windows_have_their_padding_and_groups),
        TEST(kernels_lie_as_onnx_wants_them),
        TEST(classes_and_the_scale_of_pixels_are_in_the_metadata),
        TEST(samples_are_standardized_in_the_file_once_that_is_learned),
        TEST(what_is_no_network_to_export_is_refused),
        TEST(while_training_the_weights_are_those_of_the_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void a_build_without_onnx_says_so(void **state)
{
    (void)state;
    cornu_model *model = runs_usual("{}");
    expect_ok(cornu_model_initialize(model, 1));
    expect_status(cornu_model_export_onnx(model, scratch_path("m.onnx"), NULL), CORNU_UNSUPPORTED);
    expect_message("m.onnx: found a cornu that was built without ONNX (CORNU_ONNX=OFF)");
    assert_int_equal(scratch_count(), 0);
    cornu_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_build_without_onnx_says_so, scratch_open, scratch_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
