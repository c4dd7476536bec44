/* Keras's files: what real Keras wrote (tests/fixtures/keras_files.npz, of
   peers/make_keras_files.py) is opened, computes and trains as Keras does; what cornu writes comes
   back; what is hostile is refused by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/files.h"
#include "base/memory.h"
#include "base/philox.h"
#include "exchange/checkpoint.h"
#include "format/tensor_file.h"
#include "support/fixtures.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <cornu/exchange.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define TOLERANCE 1e-5

static tensor_file *fixtures;

static int open_fixtures(void **state)
{
    (void)state;
    return tensor_file_open(fixture_path("keras_files.npz"), &fixtures) != CORNU_OK;
}

static int close_fixtures(void **state)
{
    (void)state;
    tensor_file_close(fixtures);
    return 0;
}

static const file_tensor *member(const char *a, const char *b)
{
    char name[128];
    snprintf(name, sizeof name, "%s/%s", a, b);
    const file_tensor *t = tensor_file_find(fixtures, name);
    if (!t)
        fail_msg("the fixtures lack %s", name);
    return t;
}

/* The file in the scratch folder. */
static const char *unpacked(const char *name)
{
    const file_tensor *t = member("file", name);
    return scratch_write(name, t->data, (size_t)t->count);
}

static const char *with_ending(const char *name, const char *ending)
{
    static char full[4][128];
    static int next;
    char *out = full[next++ % 4];
    snprintf(out, sizeof full[0], "%s%s", name, ending);
    return out;
}

static const char *const cases[] = {"conv",   "chain",  "schedule", "new",
                                    "nested", "towers", "nadam",    "averages"};
static const char *const endings[] = {".keras", ".h5"};
enum { CASES = sizeof cases / sizeof *cases, ENDINGS = sizeof endings / sizeof *endings };

/* ---- what Keras wrote ------------------------------------------------------------------- */

static void assert_near(const char *what, const float *found, const float *expected, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (!(fabsf(found[i] - expected[i]) <= TOLERANCE))
            fail_msg("%s[%jd]: found %.9g; Keras gives %.9g", what, (intmax_t)i, (double)found[i],
                     (double)expected[i]);
}

static void assert_predicts(cornu_model *m, const char *name)
{
    const file_tensor *x = member(name, "x"), *y = member(name, "predicted");
    float *out = calloc((size_t)y->count, sizeof *out);
    expect_ok(cornu_predict(m, x->data, x->shape[0], NULL, out));
    assert_near(name, out, y->data, y->count);
    free(out);
}

static cornu_data *samples_of(const char *name)
{
    const file_tensor *x = member(name, "x"), *y = member(name, "y");
    int32_t labels[64];
    cornu_data *data;
    cornu_arrays a = {
        .size = sizeof a, .count = x->shape[0], .rank = x->rank - 1, .values = x->data};
    memcpy(a.shape, x->shape + 1, (size_t)a.rank * sizeof *a.shape);
    for (int64_t i = 0; i < a.count; i++)
        labels[i] = (int32_t)((const int64_t *)y->data)[i];
    a.labels = labels;
    expect_ok(cornu_data_from_arrays(&a, NULL, &data));
    return data;
}

static void train(cornu_model *m, const cornu_data *data, const char *save, float losses[2])
{
    cornu_history *h;
    cornu_fit_options options = {.size = sizeof options,
                                 .epochs = 2,
                                 .batch = 8,
                                 .section = "{shuffle: false}",
                                 .save = save};
    expect_ok(cornu_fit(m, data, &options, &h));
    for (int i = 0; losses && i < 2; i++)
        losses[i] = (float)cornu_history_value(h, i, 0);
    assert_string_equal(cornu_history_name(h, 0), "loss");
    cornu_history_close(h);
}

static void assert_goes_on(const char *name, const char *ending)
{
    cornu_model *m;
    float losses[2];
    cornu_data *data = samples_of(name);
    expect_ok(cornu_model_open(unpacked(with_ending(name, ending)), &m));
    assert_predicts(m, name);
    train(m, data, NULL, losses);
    assert_near(name, losses, member(name, "losses")->data, 2);
    cornu_data_close(data);
    cornu_model_close(m);
}

static void what_keras_saved_computes_and_trains_as_in_keras(void **state)
{
    (void)state;
    for (int i = 0; i < CASES * ENDINGS; i++)
        assert_goes_on(cases[i / ENDINGS], endings[i % ENDINGS]);
}

/* Also that of optimizers from before 2.11, which has moments in another order and no rate. */
static void what_tf_keras_2_saved_goes_on_too(void **state)
{
    (void)state;
    assert_goes_on("tf2", ".h5");
    assert_goes_on("tf2", ".keras");
    assert_goes_on("tf2-old", ".h5");
}

static void keras_counts_of_steps_and_its_rate_are_kept(void **state)
{
    (void)state;
    cornu_model *m;
    expect_ok(cornu_model_open(unpacked("conv.keras"), &m));
    assert_int_equal(m->training.position.iterations, 4); /* two epochs of two steps */
    assert_float_equal(m->training.position.learning_rate_factor, 1, 0);
    expect_ok(cornu_model_set_learning_rate(m, 0.003));
    expect_ok(cornu_model_save(m, scratch_path("slower.weights.h5")));
    expect_ok(cornu_model_save(m, scratch_path("slower.h5")));
    cornu_model_close(m);
    expect_ok(cornu_model_open(scratch_path("slower.h5"), &m));
    assert_float_equal(m->training.position.learning_rate_factor, 0.3, 1e-6);
    cornu_model_close(m);
    tensor_file *f;
    float rate;
    expect_ok(tensor_file_open(scratch_path("slower.weights.h5"), &f));
    expect_ok(tensor_read(tensor_file_find(f, "optimizer/vars/1"), &rate));
    assert_float_equal(rate, 0.003, 1e-9);
    tensor_file_close(f);
}

static void expect_product(const char *path, const char *name)
{
    tensor_file *f;
    float product;
    expect_ok(tensor_file_open(path, &f));
    expect_ok(tensor_read(tensor_file_find(f, name), &product));
    assert_float_equal(product, 0.059018135, 1e-8); /* after 4 steps, as Keras counts it */
    tensor_file_close(f);
}

/* Nadam's u_product, of which Keras's files have one number after all slots. Of another number of
   steps it would be of another training. */
static void the_product_of_nadams_momentum_follows_from_the_steps(void **state)
{
    (void)state;
    cornu_model *m;
    expect_ok(cornu_model_open(unpacked("nadam.keras"), &m));
    expect_ok(cornu_model_save(m, scratch_path("nadam.weights.h5")));
    expect_ok(cornu_model_save(m, scratch_path("again.h5")));
    expect_product(scratch_path("nadam.weights.h5"), "optimizer/vars/6");
    expect_product(scratch_path("again.h5"), "optimizer_weights/optimizer/u_product");
    cornu_model_close(m);

    const file_tensor *t = member("file", "nadam.h5");
    const float product = 0.059018135f, other = 0.0625f;
    uint8_t *bytes = malloc((size_t)t->count), *at;
    memcpy(bytes, t->data, (size_t)t->count);
    assert_non_null(at = memmem(bytes, (size_t)t->count, &product, sizeof product));
    memcpy(at, &other, sizeof other);
    assert_int_equal(cornu_model_open(scratch_write("other.h5", bytes, (size_t)t->count), &m),
                     CORNU_BAD_FILE);
    assert_non_null(strstr(cornu_last_error(), "found 0.0625; expected 0.0590181"));
    free(bytes);
}

/* Where a schedule gives the rate, Keras keeps none. */
static void of_a_schedule_no_rate_is_kept(void **state)
{
    (void)state;
    cornu_model *m;
    tensor_file *f;
    expect_ok(cornu_model_open(unpacked("schedule.keras"), &m));
    expect_ok(cornu_model_save(m, scratch_path("scheduled.weights.h5")));
    expect_ok(cornu_model_save(m, scratch_path("scheduled.h5")));
    cornu_model_close(m);
    expect_ok(tensor_file_open(scratch_path("scheduled.weights.h5"), &f));
    assert_non_null(tensor_file_find(f, "optimizer/vars/0"));
    const file_tensor *second = tensor_file_find(f, "optimizer/vars/1");
    assert_true(!second || second->rank > 0);
    tensor_file_close(f);
    expect_ok(tensor_file_open(scratch_path("scheduled.h5"), &f));
    assert_non_null(tensor_file_find(f, "optimizer_weights/optimizer/iteration"));
    assert_null(tensor_file_find(f, "optimizer_weights/optimizer/learning_rate"));
    tensor_file_close(f);
}

/* Layers count by their order and class, as in Keras, whatever they are called. */
static void weights_are_taken_in_order(void **state)
{
    (void)state;
    static const char *const files[] = {"chain.weights.h5", "chain.keras", "chain.h5"};
    for (int i = 0; i < 3; i++) {
        cornu_model *m;
        expect_ok(
            cornu_model_parse("model: {input: [5], layers: [Dense: {units: 4, activation: relu, "
                              "name: other}, Dense: {units: 3, activation: softmax, name: last}]}",
                              "recipe.yaml", &m));
        expect_ok(cornu_model_load_weights(m, unpacked(files[i])));
        assert_predicts(m, "chain");
        cornu_model_close(m);
    }
}

static void weights_of_another_network_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *layers, *file, *says;
    } wrong[] = {
        {"[Dense: {units: 4}]", "chain.weights.h5", "found layers/dense_1/vars/0; expected only"},
        {"[Dense: {units: 4}]", "chain.h5", "expected no more layers that have some"},
        {"[Dense: {units: 4}, Dense: {units: 2}]", "chain.weights.h5",
         "dense_1/kernel: found shape (4, 3); expected (4, 2)"},
        {"[Dense: {units: 4}, Dense: {units: 3}, Dense: {units: 3}]", "chain.weights.h5",
         "found no layers/dense_2/vars/0 (dense_2/kernel); expected one of shape (3, 3)"},
        {"[Dense: {units: 4}, Dense: {units: 3}, Dense: {units: 3}]", "chain.h5",
         "found no weights of dense_2"},
        {"[Dense: {units: 4, use_bias: false}, Dense: {units: 3}]", "chain.h5",
         "model_weights/dense: found 2 weights; expected the 1 of dense"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char recipe[256];
        cornu_model *m;
        snprintf(recipe, sizeof recipe, "model: {input: [5], layers: %s}", wrong[i].layers);
        expect_ok(cornu_model_parse(recipe, "recipe.yaml", &m));
        expect_status(cornu_model_load_weights(m, unpacked(wrong[i].file)), CORNU_BAD_FILE);
        expect_message(wrong[i].says);
        cornu_model_close(m);
    }
}

static void weights_alone_are_no_model(void **state)
{
    (void)state;
    cornu_model *m;
    expect_status(cornu_model_open(unpacked("chain.weights.h5"), &m), CORNU_BAD_FILE);
    expect_message("found weights alone; expected a network with them (--init takes the weights)");
}

/* ---- what cornu writes ------------------------------------------------------------------ */

static void everything_comes_back(void **state)
{
    (void)state;
    static const char *const files[] = {"m.keras", "m.h5", "m.HDF5"};
    cornu_model *a = runs_trained(), *b;
    for (int i = 0; i < 3; i++) {
        expect_ok(cornu_model_save(a, scratch_path(files[i])));
        expect_ok(cornu_model_open(scratch_path(files[i]), &b));
        assert_true(same_bits(a, b));
        assert_memory_equal(&a->training.position, &b->training.position,
                            sizeof a->training.position);
        assert_true(json_equal(a->training.callback_state, b->training.callback_state));
        assert_string_equal(cornu_model_class_name(b, 2), "größer \"bird\"");
        for (int w = 0; w < a->weight_count; w++)
            assert_memory_equal(a->training.best_weights[w], b->training.best_weights[w],
                                (size_t)a->variables[w].count * sizeof(float));
        cornu_model_close(b);
    }
    cornu_model_close(a);
}

static void assert_same_file(const char *a, const char *b)
{
    char *first, *second;
    size_t first_size, second_size;
    expect_ok(file_read(a, 1 << 20, &first, &first_size));
    expect_ok(file_read(b, 1 << 20, &second, &second_size));
    assert_int_equal(first_size, second_size);
    assert_memory_equal(first, second, first_size);
    free(first);
    free(second);
}

static void the_same_model_gives_the_same_bytes(void **state)
{
    (void)state;
    static const char *const files[] = {"a.keras", "a.h5", "a.weights.h5"},
                             *const again[] = {"twice-a.keras", "twice-a.h5", "twice-a.weights.h5"};
    cornu_model *m = runs_trained();
    for (int i = 0; i < 3; i++)
        expect_ok(cornu_model_save(m, scratch_path(files[i])));
    for (time_t before = time(NULL); time(NULL) == before;) /* HDF5's times are in seconds */
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    for (int i = 0; i < 3; i++) {
        expect_ok(cornu_model_save(m, scratch_path(again[i])));
        assert_same_file(scratch_path(files[i]), scratch_path(again[i]));
    }
    assert_int_equal(scratch_count(), 6); /* and nothing else is left */
    cornu_model_close(m);
}

/* Through Keras's formats and back a model file keeps its bytes. */
static void a_conversion_loses_nothing(void **state)
{
    (void)state;
    cornu_model *m = runs_trained();
    char before[256], after[256];
    snprintf(before, sizeof before, "%s", scratch_path("before.safetensors"));
    snprintf(after, sizeof after, "%s", scratch_path("after.safetensors"));
    expect_ok(cornu_model_save(m, before));
    for (int i = 0; i < ENDINGS; i++) {
        cornu_model *other;
        const char *path = scratch_path(with_ending("m", endings[i]));
        expect_ok(cornu_model_save(m, path));
        expect_ok(cornu_model_open(path, &other));
        expect_ok(cornu_model_save(other, after));
        assert_same_file(before, after);
        cornu_model_close(other);
    }
    cornu_model_close(m);
}

/* cornu_fit's own saving, of slots that are on the device. */
static void a_file_saved_while_training_goes_on_with_the_same_bits(void **state)
{
    (void)state;
    for (int i = 0; i < ENDINGS; i++) {
        cornu_model *a, *b;
        cornu_data *data = samples_of("conv");
        const char *file = unpacked("conv.keras");
        const char *path = scratch_path(with_ending("saved", endings[i]));
        expect_ok(cornu_model_open(file, &a));
        train(a, data, path, NULL);
        expect_ok(cornu_model_open(path, &b));
        assert_true(same_bits(a, b));
        train(a, data, NULL, NULL);
        train(b, data, NULL, NULL);
        assert_true(same_bits(a, b));
        cornu_model_close(a);
        cornu_model_close(b);
        cornu_data_close(data);
    }
}

static void assert_names(const char *name)
{
    cornu_model *m;
    tensor_file *ours, *theirs;
    expect_ok(cornu_model_open(unpacked(with_ending(name, ".keras")), &m));
    expect_ok(cornu_model_save(m, scratch_path("ours.weights.h5")));
    expect_ok(tensor_file_open(scratch_path("ours.weights.h5"), &ours));
    expect_ok(tensor_file_open(unpacked(with_ending(name, ".weights.h5")), &theirs));
    assert_int_equal(ours->count, theirs->count);
    for (int i = 0; i < theirs->count; i++) {
        const file_tensor *t = &theirs->tensors[i];
        const file_tensor *o = tensor_file_find(ours, t->name);
        assert_non_null(o);
        assert_int_equal(o->type, t->type);
        assert_int_equal(o->rank, t->rank);
        assert_memory_equal(o->data, t->data, (size_t)t->count * element_size(t->type));
    }
    for (int i = 0; i < theirs->metadata_count; i++) {
        const char *value = tensor_file_metadata(ours, theirs->metadata[i].key);
        assert_non_null(value);
        assert_string_equal(value, theirs->metadata[i].value);
    }
    tensor_file_close(ours);
    tensor_file_close(theirs);
    cornu_model_close(m);
}

static void names_are_as_keras_gives_them(void **state)
{
    (void)state;
    assert_names("conv");
    assert_names("nested");
    assert_names("towers");
}

/* An older file's weights of one layer, as its list has them. */
static void assert_listed(const tensor_file *ours, const tensor_file *theirs, const char *layer)
{
    char key[128], name[256];
    json_t *lists[2];
    const tensor_file *files[] = {ours, theirs};
    snprintf(key, sizeof key, "model_weights/%s@weight_names", layer);
    for (int i = 0; i < 2; i++)
        lists[i] = json_loads(tensor_file_metadata(files[i], key), 0, NULL);
    assert_int_equal(json_array_size(lists[0]), json_array_size(lists[1]));
    for (size_t i = 0; i < json_array_size(lists[0]); i++) {
        const file_tensor *t[2];
        for (int k = 0; k < 2; k++) {
            snprintf(name, sizeof name, "model_weights/%s/%s", layer,
                     json_string_value(json_array_get(lists[k], i)));
            t[k] = tensor_file_find(files[k], name);
            assert_non_null(t[k]);
        }
        assert_int_equal(t[0]->count, t[1]->count);
        assert_memory_equal(t[0]->data, t[1]->data, (size_t)t[0]->count * sizeof(float));
    }
    json_decref(lists[0]);
    json_decref(lists[1]);
}

/* Those that are trained first. */
static void older_files_list_the_weights_of_a_model_within_as_keras_does(void **state)
{
    (void)state;
    cornu_model *m;
    tensor_file *ours, *theirs;
    expect_ok(cornu_model_open(unpacked("nested.keras"), &m));
    expect_ok(cornu_model_save(m, scratch_path("ours.h5")));
    expect_ok(tensor_file_open(scratch_path("ours.h5"), &ours));
    expect_ok(tensor_file_open(unpacked("nested.h5"), &theirs));
    assert_string_equal(tensor_file_metadata(ours, "model_weights@layer_names"),
                        tensor_file_metadata(theirs, "model_weights@layer_names"));
    assert_listed(ours, theirs, "encoder");
    assert_listed(ours, theirs, "head");
    tensor_file_close(ours);
    tensor_file_close(theirs);
    cornu_model_close(m);
}

/* Keras 3 gives such a Functional's weights in the order of its layers. */
static void older_files_list_a_frozen_model_of_which_a_layer_was_thawed_as_keras_does(void **state)
{
    (void)state;
    cornu_model *m;
    tensor_file *f;
    expect_ok(cornu_model_parse(
        "model: {input: [4], layers: [{Model: {name: base, layers: [{Dense: {units: 4, name: a}}, "
        "{Dense: {units: 4, name: b}}, {Add: {inputs: [a, b], name: c}}]}}]}",
        "recipe.yaml", &m));
    expect_ok(cornu_model_initialize(m, 1));
    expect_ok(cornu_model_set_trainable(m, "base", false));
    expect_ok(cornu_model_set_trainable(m, "base/b", true));
    expect_ok(cornu_model_save(m, scratch_path("base.h5")));
    expect_ok(tensor_file_open(scratch_path("base.h5"), &f));
    json_t *list = json_loads(tensor_file_metadata(f, "model_weights/base@weight_names"), 0, NULL);
    assert_int_equal(json_array_size(list), 4);
    assert_string_equal(json_string_value(json_array_get(list, 0)), "base/a/kernel");
    assert_string_equal(json_string_value(json_array_get(list, 3)), "base/b/bias");
    json_decref(list);
    tensor_file_close(f);
    cornu_model_close(m);
}

static void weights_of_a_model_within_are_found_by_name(void **state)
{
    (void)state;
    static const char *const files[] = {"nested.keras", "nested.weights.h5", "nested.h5"};
    const cornu_weights_options by_name = {.size = sizeof by_name, .by_name = true};
    for (int i = 0; i < 3; i++) {
        cornu_model *m, *all;
        expect_ok(cornu_model_open(unpacked("nested.keras"), &all));
        expect_ok(cornu_model_parse(
            "model: {input: [5], layers: [{Dense: {units: 5, name: first}}, {Model: {name: "
            "encoder, "
            "layers: [{BatchNormalization: {name: norm}}, {Dense: {units: 4, name: inner, "
            "trainable: false}}]}}]}",
            "recipe.yaml", &m));
        expect_ok(cornu_model_load_weights_as(m, unpacked(files[i]), &by_name));
        for (int k = 2; k < m->weight_count; k++) {
            const variable *v = &m->variables[k], *w = model_variable(all, v->name);
            assert_memory_equal(v->value, w->value, (size_t)v->count * sizeof(float));
        }
        cornu_model_close(all);
        cornu_model_close(m);
        /* A layer beside it is none of it. */
        expect_ok(cornu_model_parse(
            "model: {input: [5], layers: [{Dense: {units: 4, name: inner}}]}", "recipe.yaml", &m));
        expect_ok(cornu_model_initialize(m, 1));
        assert_int_not_equal(cornu_model_load_weights_as(m, unpacked(files[i]), &by_name),
                             CORNU_OK);
        expect_message("found no weights for any layer of inner");
        cornu_model_close(m);
    }
}

/* ---- HDF5 of libver="latest" -------------------------------------------------------------- */

static void what_h5py_writes_for_libver_latest_is_the_same_model(void **state)
{
    (void)state;
    static const char *const files[][2] = {{"latest.keras", "conv.keras"},
                                           {"latest.h5", "chain.h5"}};
    for (int i = 0; i < 2; i++) {
        cornu_model *latest, *other;
        cornu_data *data = samples_of(i ? "chain" : "conv");
        expect_ok(cornu_model_open(unpacked(files[i][0]), &latest));
        expect_ok(cornu_model_open(unpacked(files[i][1]), &other));
        assert_true(same_bits(latest, other));
        train(latest, data, NULL, NULL);
        train(other, data, NULL, NULL);
        assert_true(same_bits(latest, other));
        cornu_model_close(latest);
        cornu_model_close(other);
        cornu_data_close(data);
    }
}

static void assert_links(const tensor_file *f, const char *const format, int count, int values)
{
    for (int i = 0; i < count; i++) {
        char name[64];
        snprintf(name, sizeof name, format, i);
        const file_tensor *t = tensor_file_find(f, name);
        if (!t)
            fail_msg("%s: found none; expected it", name);
        assert_int_equal(t->count, 2);
        assert_true(((const float *)t->data)[1] == (float)(values > 1 ? i % values : 1));
    }
}

static void assert_texts(const tensor_file *f, const char *format, int count)
{
    for (int i = 0; i < count; i++) {
        char name[64], value[16];
        snprintf(name, sizeof name, format, i);
        int length = snprintf(value, sizeof value, "%d ", i);
        const char *found = tensor_file_metadata(f, name);
        if (!found)
            fail_msg("%s: found none; expected it", name);
        assert_int_equal(strlen(found), 40 * length);
        assert_memory_equal(found, value, (size_t)length);
    }
}

/* An index of several levels, a heap of several blocks; with and without an order of creation. */
static void many_links_and_attributes_of_a_group_are_read(void **state)
{
    (void)state;
    tensor_file *f;
    expect_ok(tensor_file_open(unpacked("latest-links.weights.h5"), &f));
    assert_int_equal(f->count, 3 + 1300 + 3 + 12);
    assert_links(f, "value/%d", 3, 3);
    assert_links(f, "many/%04d", 1300, 3);
    assert_links(f, "few/%d", 3, 1);
    assert_links(f, "ordered/%d", 12, 1);
    assert_int_equal(f->metadata_count, 12 + 3 + 12);
    assert_texts(f, "many@text %d", 12);
    assert_texts(f, "few@text %d", 3);
    assert_texts(f, "ordered@text %d", 12);
    tensor_file_close(f);
}

static void a_file_whose_writer_did_not_close_it_is_refused(void **state)
{
    (void)state;
    enum { FLAGS = 11 };
    const file_tensor *t = member("file", "latest-links.weights.h5");
    tensor_file *f;
    uint8_t *bytes = malloc((size_t)t->count);
    memcpy(bytes, t->data, (size_t)t->count);
    assert_int_equal(bytes[FLAGS], 0);
    bytes[FLAGS] = 1;
    expect_status(tensor_file_open(scratch_write("open.h5", bytes, (size_t)t->count), &f),
                  CORNU_BAD_FILE);
    expect_message("open.h5: found HDF5 that is being written");
    free(bytes);
}

/* ---- what nobody should open ------------------------------------------------------------ */

static const struct {
    const char *file, *says;
} hostile[] = {
    {"external-link.weights.h5", "layers: found a link to another file"},
    {"soft-link.weights.h5", "layers/dense/vars/1: found a soft link"},
    {"virtual.weights.h5", "layers/dense/vars/0: found a virtual dataset"},
    {"unlimited-virtual.weights.h5", "layers/dense/vars/0: found a virtual dataset"},
    {"external-data.weights.h5", "layers/dense/vars/0: found an external dataset"},
    {"chunked.weights.h5", "layers/dense/vars/0: found chunked or packed data"},
    {"huge.weights.h5", "layers/dense/vars/0: found data that are not in the file"},
    {"outside.weights.h5", "layers/dense/vars/0: found data that are not in the file"},
    {"cycle.weights.h5", "found too many or too deep groups, or a cycle"},
    {"texts.weights.h5", "layers/dense/words: found elements that are no numbers"},
    {"pickled.weights.h5", "layers/dense/vars/0: found elements that are no numbers"},
    {"latest-large-attribute.weights.h5", "/: found an attribute of more than 4096 bytes"},
    {"list-bomb.h5", "model_weights: found attributes of more bytes than the file"},
    {"lambda.keras", "(double, Lambda): found a Lambda layer, which holds code"},
    {"lambda.h5", "(double, Lambda): found a Lambda layer, which holds code"},
    {"custom.keras", "found the custom object Theirs>Dense"},
    {"pickled.keras", "found model.weights.npz, which is pickled and could run code"},
    {"absolute.keras", "found the member /etc/passwd"},
    {"upwards.keras", "found the member ../outside"},
    {"assets.keras", "found the member assets/layers/x/vocabulary.txt"},
    {"twice.keras", "found config.json twice"},
    {"no-weights.keras", "found no model.weights.h5"},
    {"no-hdf5.keras", "found another beginning; expected HDF5"},
    {"bomb.keras", "more to unpack; expected at most 20 MB in all"},
};

static void hostile_files_are_refused_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        cornu_model *m;
        cornu_status status = cornu_model_open(unpacked(hostile[i].file), &m);
        if (status != CORNU_BAD_FILE && status != CORNU_UNSUPPORTED)
            fail_msg("%s: found %s (%s); expected bad file", hostile[i].file,
                     cornu_status_name(status), cornu_last_error());
        assert_null(m);
        expect_message(hostile[i].says);
        expect_message(hostile[i].file);
    }
}

/* Whatever a file says, what is read of it takes at most some times its size. */
static void hostile_files_take_little_memory(void **state)
{
    (void)state;
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    hostile_files_are_refused_by_name(state);
    getrusage(RUSAGE_SELF, &after);
    assert_in_range(after.ru_maxrss - before.ru_maxrss, 0, 200000); /* KiB */
}

/* Each piece of a good file missing or changed: an error or a model, never a fault. */
static void truncated_files_are_refused(void **state)
{
    (void)state;
    static const char *const files[] = {"new.keras", "new.h5"};
    for (int i = 0; i < 2; i++) {
        const file_tensor *t = member("file", files[i]);
        for (int64_t size = 0; size < t->count; size += 97) {
            cornu_model *m;
            const char *path = scratch_write(files[i], t->data, (size_t)size);
            if (cornu_model_open(path, &m) == CORNU_OK)
                fail_msg("%s: %jd of %jd bytes were opened", files[i], (intmax_t)size,
                         (intmax_t)t->count);
            expect_message(files[i]);
        }
    }
}

/* Any byte may be another: an error or a model, and never a fault (which sanitizers see). */
static void damaged_files_do_no_harm(void **state)
{
    (void)state;
    static const char *const files[] = {"new.keras", "new.h5", "chain.h5", "latest.h5"};
    enum { FILES = sizeof files / sizeof *files, TRIES = 1000 };
    random_stream r = random_open(4, RANDOM_GENERATE, 0);
    for (int i = 0; i < FILES * TRIES; i++) {
        cornu_model *m;
        const char *name = files[i / TRIES];
        const file_tensor *t = member("file", name);
        uint8_t *bytes = malloc((size_t)t->count);
        memcpy(bytes, t->data, (size_t)t->count);
        for (int j = 0; j < 1 + i % 3; j++)
            bytes[random_below(&r, (uint32_t)t->count)] = (uint8_t)random_below(&r, 256);
        cornu_status status = cornu_model_open(scratch_write(name, bytes, (size_t)t->count), &m);
        if (status != CORNU_OK && status != CORNU_BAD_FILE && status != CORNU_UNSUPPORTED)
            fail_msg("%s, try %d: found %s (%s)", name, i, cornu_status_name(status),
                     cornu_last_error());
        cornu_model_close(m);
        free(bytes);
    }
}

/* What only tensor_file_open reads to its end. */
static void damaged_indexes_do_no_harm(void **state)
{
    (void)state;
    const file_tensor *t = member("file", "latest-links.weights.h5");
    uint8_t *bytes = malloc((size_t)t->count);
    random_stream r = random_open(5, RANDOM_GENERATE, 0);
    for (int i = 0; i < 1000; i++) {
        tensor_file *f;
        size_t size = i % 4 ? (size_t)t->count : random_below(&r, (uint32_t)t->count);
        memcpy(bytes, t->data, (size_t)t->count);
        for (int j = 0; i % 4 && j < 20; j++)
            bytes[random_below(&r, (uint32_t)t->count)] = (uint8_t)random_below(&r, 256);
        if (tensor_file_open(scratch_write("damaged.h5", bytes, size), &f) == CORNU_OK)
            tensor_file_close(f);
        else
            expect_message("damaged.h5");
    }
    free(bytes);
}

/* ---- a build without HDF5 --------------------------------------------------------------- */

static void a_build_without_hdf5_reads_and_says_that_it_cannot_write(void **state)
{
    (void)state;
    static const char *const files[] = {"conv.keras", "conv.h5", "conv.weights.h5"};
    cornu_model *m;
    expect_ok(cornu_model_open(unpacked(files[0]), &m));
    assert_predicts(m, "conv");
    for (int i = 0; i < 3; i++) {
        expect_ok(cornu_model_load_weights(m, unpacked(files[i])));
        expect_status(cornu_model_save(m, scratch_path(files[i])), CORNU_UNSUPPORTED);
        expect_message("built without libhdf5 (CORNU_HDF5=OFF)");
        expect_status(checkpoint_check(scratch_path(files[i]), "save"), CORNU_UNSUPPORTED);
    }
    cornu_model_close(m);
}

#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest absent[] = {
        IN_SCRATCH(a_build_without_hdf5_reads_and_says_that_it_cannot_write)};
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(what_keras_saved_computes_and_trains_as_in_keras),
        IN_SCRATCH(what_tf_keras_2_saved_goes_on_too),
        IN_SCRATCH(keras_counts_of_steps_and_its_rate_are_kept),
        IN_SCRATCH(the_product_of_nadams_momentum_follows_from_the_steps),
        IN_SCRATCH(of_a_schedule_no_rate_is_kept),
        IN_SCRATCH(weights_are_taken_in_order),
        IN_SCRATCH(weights_of_another_network_are_refused),
        IN_SCRATCH(weights_alone_are_no_model),
        IN_SCRATCH(everything_comes_back),
        IN_SCRATCH(the_same_model_gives_the_same_bytes),
        IN_SCRATCH(a_conversion_loses_nothing),
        IN_SCRATCH(a_file_saved_while_training_goes_on_with_the_same_bits),
        IN_SCRATCH(names_are_as_keras_gives_them),
        IN_SCRATCH(older_files_list_the_weights_of_a_model_within_as_keras_does),
        IN_SCRATCH(older_files_list_a_frozen_model_of_which_a_layer_was_thawed_as_keras_does),
        IN_SCRATCH(weights_of_a_model_within_are_found_by_name),
        IN_SCRATCH(what_h5py_writes_for_libver_latest_is_the_same_model),
        IN_SCRATCH(many_links_and_attributes_of_a_group_are_read),
        IN_SCRATCH(a_file_whose_writer_did_not_close_it_is_refused),
        IN_SCRATCH(hostile_files_are_refused_by_name),
        IN_SCRATCH(hostile_files_take_little_memory),
        IN_SCRATCH(truncated_files_are_refused),
        IN_SCRATCH(damaged_files_do_no_harm),
        IN_SCRATCH(damaged_indexes_do_no_harm),
    };
    if (!CORNU_HDF5)
        return cmocka_run_group_tests(absent, open_fixtures, close_fixtures);
    return cmocka_run_group_tests(tests, open_fixtures, close_fixtures);
}
