#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/files.h"
#include "base/memory.h"
#include "exchange/checkpoint.h"
#include "format/tensor_file.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <cornu/model.h>
#include <cornu/tables.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *saved(const cornu_model *model)
{
    const char *path = scratch_path("model.safetensors");
    expect_ok(cornu_model_save(model, path));
    return path;
}

/* ---- limits ----------------------------------------------------------------------------- */

/* What could not be read again is refused before training, not after it. */
static void names_beyond_all_measure_are_refused_before_training(void **state)
{
    (void)state;
    enum { CLASSES = 3, LENGTH = 1500000 };
    char *names[CLASSES];
    cornu_model *model = runs_usual("{epochs: 1}");
    cornu_data *data = runs_data(50, 0);
    for (int i = 0; i < CLASSES; i++) {
        names[i] = malloc(LENGTH + 1);
        memset(names[i], 'a' + i, LENGTH);
        names[i][LENGTH] = 0;
    }
    expect_ok(model_set_classes(model, names, CLASSES));
    cornu_fit_options options = {.size = sizeof options, .save = scratch_path("model.safetensors")};
    expect_status(cornu_fit(model, data, &options, NULL), CORNU_INVALID);
    expect_message("class_names: found 4500012 bytes for the model file; expected at most 4194304");
    assert_int_equal(model->training.position.iterations, 0);
    assert_int_equal(scratch_count(), 0);
    for (int i = 0; i < CLASSES; i++)
        free(names[i]);
    cornu_data_close(data);
    cornu_model_close(model);
}

/* ---- round trip ------------------------------------------------------------------------- */

static void everything_comes_back(void **state)
{
    (void)state;
    cornu_model *a = runs_trained(), *b;
    a->training.position.totals[0] = 0.1; /* not a short decimal */
    a->training.position.step = 3;
    a->training.position.seed = UINT64_MAX;
    expect_ok(cornu_model_open(saved(a), &b));
    assert_true(same_bits(a, b));
    assert_memory_equal(&a->training.position, &b->training.position, sizeof a->training.position);
    assert_true(json_equal(a->training.callback_state, b->training.callback_state));
    assert_int_equal(b->class_count, 3);
    assert_string_equal(cornu_model_class_name(b, 2), "größer \"bird\"");
    char *before, *after;
    expect_ok(cornu_model_config(a, &before));
    expect_ok(cornu_model_config(b, &after));
    assert_string_equal(before, after);
    assert_non_null(a->training.best_weights);
    for (int i = 0; i < a->weight_count; i++)
        assert_memory_equal(a->training.best_weights[i], b->training.best_weights[i],
                            (size_t)a->variables[i].count * sizeof(float));
    cornu_free(before);
    cornu_free(after);
    cornu_model_close(a);
    cornu_model_close(b);
}

static const variable *momentum(const cornu_model *m)
{
    return model_variable(m, "optimizer/momentum/dense_1/kernel");
}

/* A file is read by the flags that it holds: the slots of frozen layers are left out, and where
   slots would be missing, the optimizer begins anew. */
static void a_file_saved_between_freezing_and_compiling_opens(void **state)
{
    (void)state;
    static const char *const names[] = {"model.safetensors", "model.keras", "model.h5"};
    for (int i = 0; i < (CORNU_HDF5 ? 3 : 1); i++) {
        cornu_model *a = runs_trained(), *frozen, *thawed;
        const char *path = scratch_path(names[i]);
        expect_ok(cornu_model_set_trainable(a, "dense", false));
        assert_non_null(model_variable(a, "optimizer/momentum/dense/kernel"));
        expect_ok(cornu_model_save(a, path));
        expect_ok(cornu_model_open(path, &frozen));
        assert_null(model_variable(frozen, "optimizer/momentum/dense/kernel"));
        assert_memory_equal(momentum(frozen)->value, momentum(a)->value,
                            (size_t)momentum(a)->count * sizeof(float));
        frozen->has_trained = true;
        expect_ok(cornu_model_set_trainable(frozen, "dense", true));
        expect_ok(cornu_model_save(frozen, path));
        expect_ok(cornu_model_open(path, &thawed));
        assert_non_null(model_variable(thawed, "optimizer/momentum/dense/kernel"));
        assert_true(momentum(thawed)->value[0] == 0);
        assert_memory_equal(thawed->variables[0].value, a->variables[0].value,
                            (size_t)a->variables[0].count * sizeof(float));
        cornu_model_close(thawed);
        cornu_model_close(frozen);
        cornu_model_close(a);
    }
}

static void saving_what_was_opened_gives_the_same_file(void **state)
{
    (void)state;
    cornu_model *a = runs_trained(), *b;
    char *first, *second;
    size_t first_size, second_size;
    const char *path = saved(a);
    expect_ok(file_read(path, 1 << 20, &first, &first_size));
    expect_ok(cornu_model_open(path, &b));
    expect_ok(file_read(saved(b), 1 << 20, &second, &second_size));
    assert_int_equal(first_size, second_size);
    assert_memory_equal(first, second, first_size);
    assert_int_equal(scratch_count(), 1);
    free(first);
    free(second);
    cornu_model_close(a);
    cornu_model_close(b);
}

static void a_model_file_is_plain_safetensors(void **state)
{
    (void)state;
    cornu_model *model = runs_trained();
    tensor_file *f;
    expect_ok(tensor_file_open(saved(model), &f));
    static const char *const keys[] = {"keras_config", "recipe", "compile", "class_names",
                                       "position"};
    assert_string_equal(tensor_file_metadata(f, "format"), "cornu 1");
    for (int i = 0; i < 5; i++)
        assert_non_null(tensor_file_metadata(f, keys[i]));
    const file_tensor *kernel = tensor_file_find(f, "dense/kernel");
    assert_non_null(kernel);
    assert_int_equal(kernel->shape[0], 8);
    assert_int_equal(kernel->shape[1], 16);
    assert_non_null(tensor_file_find(f, "batch_normalization/moving_mean"));
    assert_non_null(tensor_file_find(f, "optimizer/velocity/dense_1/kernel"));
    tensor_file_close(f);
    cornu_model_close(model);
}

/* Only a device that can be tuned gives it one; what it is is the device's. */
static void a_model_file_remembers_the_tuning(void **state)
{
    (void)state;
    cornu_model *a = runs_trained(), *b;
    tensor_file *f;
    const char *device = getenv("CORNU_TEST_DEVICES");
    const bool is_tuned = device && strncmp(device, "opencl", 6) == 0;
    expect_ok(tensor_file_open(saved(a), &f));
    assert_int_equal(tensor_file_metadata(f, "tuning") != NULL, is_tuned);
    tensor_file_close(f);
    free(a->training.tuning);
    expect_ok(memory_copy_string("gemm_m=64 \"x\"", &a->training.tuning));
    expect_ok(cornu_model_open(saved(a), &b));
    assert_string_equal(b->training.tuning, a->training.tuning);
    cornu_model_close(b);
    cornu_model_close(a);
}

static void a_model_without_a_recipe_comes_back(void **state)
{
    (void)state;
    const int64_t shape[] = {6, 6, 1};
    cornu_model *a, *b;
    expect_ok(cornu_model_new(shape, 3, &a));
    expect_ok(cornu_model_add(a, "Conv2D", "{filters: 2, kernel_size: 3}"));
    expect_ok(cornu_model_add(a, "Flatten", NULL));
    expect_status(cornu_model_save(a, scratch_path("m.safetensors")), CORNU_INVALID);
    expect_message("found a model without weights");
    expect_ok(cornu_model_initialize(a, 3));
    expect_ok(cornu_model_open(saved(a), &b)); /* not compiled */
    assert_true(same_bits(a, b));
    assert_false(b->compiled);
    cornu_model_close(b);
    expect_ok(cornu_model_compile(a, "{optimizer: adam, loss: mse}"));
    expect_ok(cornu_model_initialize(a, 3));
    expect_ok(cornu_model_open(saved(a), &b));
    assert_true(same_bits(a, b));
    assert_true(b->compiled);
    cornu_model_close(b);
    cornu_model_close(a);
}

/* ---- saving under hardship -------------------------------------------------------------- */

static void a_full_disk_leaves_the_old_file(void **state)
{
    (void)state;
    cornu_model *model = runs_trained(), *other;
    const char *path = saved(model);
    struct rlimit before, small;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    model->variables[0].value[0] += 1;
    for (rlim_t size = 0; size < 3000; size += 1000) {
        small.rlim_cur = size;
        setrlimit(RLIMIT_FSIZE, &small);
        cornu_status status = cornu_model_save(model, path);
        setrlimit(RLIMIT_FSIZE, &before);
        expect_status(status, CORNU_IO);
        expect_message("cannot write: File too large");
        assert_int_equal(scratch_count(), 1);
    }
    signal(SIGXFSZ, handler);
    expect_ok(cornu_model_open(path, &other));
    assert_false(same_bits(model, other));
    cornu_model_close(other);
    cornu_model_close(model);
}

static void a_full_disk_while_training_is_an_error_and_keeps_the_model(void **state)
{
    (void)state;
    struct rlimit before, small;
    cornu_model *model = runs_usual("{epochs: 3}");
    cornu_data *data = runs_data(50, 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 100;
    setrlimit(RLIMIT_FSIZE, &small);
    cornu_fit_options o = {.size = sizeof o, .save = scratch_path("m.safetensors")};
    cornu_status status = cornu_fit(model, data, &o, NULL);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    expect_status(status, CORNU_IO);
    assert_int_equal(scratch_count(), 0);
    expect_ok(cornu_model_save(model, o.save)); /* what was trained can be saved elsewhere */
    cornu_data_close(data);
    cornu_model_close(model);
}

static void killed_while_saving_leaves_a_whole_file(void **state)
{
    (void)state;
    cornu_model *model = runs_trained(), *other;
    char path[1100];
    snprintf(path, sizeof path, "%s", saved(model));
    for (int i = 0; i < 25; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            for (;;) { /* the bits change from save to save */
                model->training.position.iterations++;
                (void)cornu_model_save(model, path);
            }
        usleep(500 * (useconds_t)(i + 1));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        expect_ok(cornu_model_open(path, &other));
        assert_true(same_bits(model, other));
        cornu_model_close(other);
    }
    cornu_model_close(model);
}

/* ---- damaged files ---------------------------------------------------------------------- */

static void refused(const char *path)
{
    cornu_model *model = NULL;
    cornu_status status = cornu_model_open(path, &model);
    if (status == CORNU_OK) {
        print_error("%s was opened\n", path);
        fail();
    }
    assert_null(model);
    assert_null(strchr(cornu_last_error(), '\n'));
    expect_message(path_base(path));
}

static void files_cut_anywhere_are_refused(void **state)
{
    (void)state;
    cornu_model *model = runs_trained();
    char *data;
    size_t size;
    expect_ok(file_read(saved(model), 1 << 20, &data, &size));
    size_t step = size / 200 + 1;
    for (size_t length = 0; length < size; length += length < 16 || length > size - 16 ? 1 : step)
        refused(scratch_write("cut.safetensors", data, length));
    free(data);
    cornu_model_close(model);
}

/* A flipped bit may hit a weight or a name of a class: then another model opens. It never crashes.
 */
static void flipped_bits_give_a_line_or_a_model(void **state)
{
    (void)state;
    cornu_model *model = runs_trained(), *other;
    char *data;
    size_t size, opened = 0, tried = 0;
    expect_ok(file_read(saved(model), 1 << 20, &data, &size));
    size_t header = 8 + (size_t)(unsigned char)data[0] + 256 * (size_t)(unsigned char)data[1];
    for (size_t i = 0; i < header; i += 5) {
        data[i] = (char)(data[i] ^ (1 << i % 7));
        const char *path = scratch_write("flipped.safetensors", data, size);
        tried++;
        if (cornu_model_open(path, &other) == CORNU_OK) {
            opened++;
            cornu_model_close(other);
        } else {
            assert_null(strchr(cornu_last_error(), '\n'));
        }
        data[i] = (char)(data[i] ^ (1 << i % 7));
    }
    assert_true(opened < tried / 2);
    free(data);
    cornu_model_close(model);
}

/* The file of `model` with one metadata entry replaced (NULL: left out). */
static const char *with_entry(const cornu_model *model, const char *key, const char *value)
{
    tensor_file *f;
    expect_ok(tensor_file_open(saved(model), &f));
    metadata_entry entries[16];
    int count = 0;
    for (int i = 0; i < f->metadata_count; i++) {
        bool is_it = strcmp(f->metadata[i].key, key) == 0;
        entries[count] = f->metadata[i];
        if (is_it)
            entries[count].value = (char *)(uintptr_t)value;
        count += !is_it || value;
    }
    const char *path = scratch_path("changed.safetensors");
    expect_ok(safetensors_write(path, f->tensors, f->count, entries, count));
    tensor_file_close(f);
    return path;
}

static void entry_refused(const cornu_model *model, const char *key, const char *value,
                          const char *message)
{
    refused(with_entry(model, key, value));
    expect_message(message);
}

static const char position_text[] =
    "{\"seed\": %s, \"iterations\": 8, \"epoch\": %s, \"step\": 0, \"samples\": 0, \"batch\": "
    "%s, \"steps_per_epoch\": 0, \"train_samples\": 50, \"epochs\": 2, \"totals\": %s, "
    "\"learning_rate_factor\": %s}";

/* Without the seconds that an epoch has taken so far. */
static void an_older_position_is_read(void **state)
{
    (void)state;
    cornu_model *m = runs_trained(), *opened;
    char text[512];
    snprintf(text, sizeof text, position_text, "\"1\"", "1", "32", "[\"0x0p+0\", \"0x0p+0\"]",
             "\"0x1p-1\"");
    expect_ok(cornu_model_open(with_entry(m, "position", text), &opened));
    assert_int_equal(opened->training.position.epoch, 1);
    assert_float_equal(opened->training.position.learning_rate_factor, 0.5, 0);
    assert_float_equal(opened->training.position.seconds, 0, 0);
    cornu_model_close(opened);
    cornu_model_close(m);
}

static void metadata_that_is_missing_or_wrong_is_refused(void **state)
{
    (void)state;
    static const char *const cases[][6] = {
        {"1", "2", "32", "[\"0x0p+0\", \"0x0p+0\"]", "\"0x1p+0\"", "position: seed"},
        {"\"-1\"", "2", "32", "[\"0x0p+0\", \"0x0p+0\"]", "\"0x1p+0\"", "position: seed"},
        {"\"1\"", "-2", "32", "[\"0x0p+0\", \"0x0p+0\"]", "\"0x1p+0\"", "position: epoch"},
        {"\"1\"", "2", "\"a\"", "[\"0x0p+0\", \"0x0p+0\"]", "\"0x1p+0\"", "position: batch"},
        {"\"1\"", "2", "1e30", "[\"0x0p+0\", \"0x0p+0\"]", "\"0x1p+0\"", "position: batch"},
        {"\"1\"", "2", "4294967296", "[\"0x0p+0\", \"0x0p+0\"]", "\"0x1p+0\"", "below 2^31"},
        {"\"1\"", "2", "32", "[\"0x0p+0\"]", "\"0x1p+0\"", "position: totals"},
        {"\"1\"", "2", "32", "[0, 0]", "\"0x1p+0\"", "position: totals"},
        {"\"1\"", "2", "32", "[\"0x0p+0\", \"0x0p+0\"]", "\"fast\"", "learning_rate_factor"},
        {"\"1\"", "2", "32", "[\"0x0p+0\", \"0x0p+0\"]", "\"-1\"", "learning_rate_factor"},
        {"\"1\"", "2", "32", "[\"0x0p+0\", \"0x0p+0\"]", "\"1\", \"seconds\": 1", "seconds"},
        {"\"1\"", "2", "32", "[\"0x0p+0\", \"0x0p+0\"]", "\"1\", \"seconds\": \"-1\"", "seconds"},
    };
    cornu_model *m = runs_trained();
    entry_refused(m, "format", NULL, "found no format in its metadata; expected format 'cornu 1'");
    entry_refused(m, "format", "cornu 2", "found format cornu 2");
    entry_refused(m, "recipe", NULL, "no metadata entry 'recipe'");
    entry_refused(m, "recipe", "", "recipe");
    entry_refused(m, "recipe", "{\"model\": {\"layers\": 3}}", "layers");
    entry_refused(m, "recipe", "{\"model\": [", "recipe");
    entry_refused(m, "position", NULL, "position: found no map");
    entry_refused(m, "position", "[]", "position: found no map");
    entry_refused(m, "position", "{", "position: found damaged JSON");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(text, sizeof text, position_text, cases[i][0], cases[i][1], cases[i][2],
                 cases[i][3], cases[i][4]);
        entry_refused(m, "position", text, cases[i][5]);
    }
    entry_refused(m, "class_names", "{}", "class_names: found no list");
    expect_ok(training_state_set_data(&m->training, "mnist", "/x"));
    entry_refused(m, "data_hint", "[]", "data_hint: found another kind of value");
    entry_refused(m, "data_hint", "{\"path\": 3}", "data_hint: found another kind of value");
    entry_refused(m, "data_hint", "{", "data_hint: found damaged JSON");
    entry_refused(m, "class_names", "[1]", "class_names: found an item that is no string");
    expect_ok(memory_copy_string("gemm_m=64", &m->training.tuning));
    entry_refused(m, "tuning", "64", "tuning: found no string");
    entry_refused(m, "callbacks", "{}", "callbacks: found no list");
    entry_refused(m, "recipe", "%TAG ! tag:x,2000:\n",
                  "recipe):1:1: found a line that begins with %");
    char *long_list = malloc((4 << 20) + 2);
    memset(long_list, '[', (4 << 20) + 1);
    long_list[(4 << 20) + 1] = 0;
    entry_refused(m, "callbacks", long_list,
                  "callbacks: found 4194305 bytes; expected at most 4194304");
    entry_refused(m, "recipe", long_list, "recipe): found 4194305 bytes; expected at most 2097152");
    free(long_list);
    cornu_model_close(m);
}

static void damaged_states_of_callbacks_are_refused_on_resume(void **state)
{
    (void)state;
    cornu_model *m = runs_trained();
    cornu_data *data = runs_data(50, 20);
    static const char *const states[] = {
        "[]",
        "[{}, {}, {}]",
        "[1, 2, 3]",
        "[{\"name\": \"csv_logger\"}, {}, {}]",
        "[{\"name\": \"early_stopping\", \"state\": {}}, {}, {}]",
        "[{\"name\": \"early_stopping\", \"state\": {\"has_best\": true, \"has_weights\": 1, "
        "\"stopped\": false, \"best\": \"1\", \"wait\": 0, \"best_epoch\": 0}}, {}, {}]",
        "[{\"name\": \"early_stopping\", \"state\": {\"has_best\": true, \"has_weights\": true, "
        "\"stopped\": false, \"best\": \"x\", \"wait\": -4, \"best_epoch\": 0}}, {}, {}]",
        /* all of them sound, but the last of another callback */
        "[{\"name\": \"early_stopping\", \"state\": {\"has_best\": true, \"has_weights\": true, "
        "\"stopped\": false, \"best\": \"1\", \"wait\": 0, \"best_epoch\": 0}}, "
        "{\"name\": \"reduce_lr_on_plateau\", \"state\": {\"has_best\": true, \"best\": \"1\", "
        "\"wait\": 0, \"cooling\": 0}}, {\"name\": \"csv_logger\", \"state\": {}}]",
    };
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        json_decref(m->training.callback_state);
        m->training.callback_state = json_loads(states[i], 0, NULL);
        cornu_fit_options o = {.size = sizeof o, .resume = true, .epochs = 3};
        expect_status(cornu_fit(m, data, &o, NULL), CORNU_BAD_FILE);
        expect_message("callbacks");
        assert_int_equal(m->training.position.epoch, 2);
    }
    cornu_data_close(data);
    cornu_model_close(m);
}

/* What is done to one tensor of a good file. */
typedef void change_tensor(file_tensor *t);

static void rename_it(file_tensor *t)
{
    t->name = "other/kernel";
}

static void flatten_it(file_tensor *t)
{
    t->shape[0] = t->count;
    t->rank = 1;
}

static void transpose_it(file_tensor *t)
{
    int64_t first = t->shape[0];
    t->shape[0] = t->shape[1];
    t->shape[1] = first;
}

static void add_dimensions(file_tensor *t)
{
    t->rank = 7;
    for (int i = 2; i < 7; i++)
        t->shape[i] = 1;
}

static void make_integers(file_tensor *t)
{
    t->type = ELEMENT_I32;
}

static void tensors_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    static change_tensor *const changes[] = {rename_it, flatten_it, transpose_it, add_dimensions,
                                             make_integers};
    static const char *const names[] = {"dense/kernel", "optimizer/momentum/dense/kernel",
                                        "callbacks/best/dense/kernel"};
    cornu_model *model = runs_trained();
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        for (size_t j = 0; j < sizeof names / sizeof *names; j++) {
            tensor_file *f;
            expect_ok(tensor_file_open(saved(model), &f));
            file_tensor *t = (file_tensor *)(uintptr_t)tensor_file_find(f, names[j]), before = *t;
            changes[i](t);
            const char *path = scratch_path("changed.safetensors");
            expect_ok(
                safetensors_write(path, f->tensors, f->count, f->metadata, f->metadata_count));
            *t = before;
            tensor_file_close(f);
            refused(path);
            expect_message(changes[i] == rename_it ? "found" : names[j]);
        }
    cornu_model_close(model);
}

static void every_tensor_must_be_there_and_no_other(void **state)
{
    (void)state;
    cornu_model *model = runs_trained();
    tensor_file *f;
    expect_ok(tensor_file_open(saved(model), &f));
    const char *path = scratch_path("changed.safetensors");
    for (int i = 0; i < f->count; i++) {
        file_tensor gone = f->tensors[i];
        f->tensors[i] = f->tensors[f->count - 1];
        expect_ok(
            safetensors_write(path, f->tensors, f->count - 1, f->metadata, f->metadata_count));
        f->tensors[i] = gone;
        refused(path);
    }
    file_tensor *more = malloc((size_t)(f->count + 1) * sizeof *more);
    memcpy(more, f->tensors, (size_t)f->count * sizeof *more);
    more[f->count] = more[0];
    more[f->count].name = "surprise";
    expect_ok(safetensors_write(path, more, f->count + 1, f->metadata, f->metadata_count));
    refused(path);
    expect_message("found tensor surprise");
    free(more);
    tensor_file_close(f);
    cornu_model_close(model);
}

/* ---- weights by name -------------------------------------------------------------------- */

enum { SMALL = 2 };

/* A model with dense/kernel [8][2] and dense/bias [2], and tensors for it. */
static cornu_model *small_model(void)
{
    return runs_model("[{Dense: {units: 2}}]", "{optimizer: adam, loss: mse}", NULL);
}

static float kernel_values[16], bias_values[2] = {5, 6};

static void small_tensors(file_tensor *t)
{
    for (int i = 0; i < 16; i++)
        kernel_values[i] = (float)i;
    t[0] = (file_tensor){.name = "dense/kernel", .type = ELEMENT_F32, .rank = 2, .shape = {8, 2}};
    t[0].count = 16;
    t[0].data = kernel_values;
    t[1] = (file_tensor){.name = "dense/bias", .type = ELEMENT_F32, .rank = 1, .shape = {2}};
    t[1].count = 2;
    t[1].data = bias_values;
}

static void weights_come_from_npz_and_safetensors(void **state)
{
    (void)state;
    file_tensor t[SMALL + 1];
    double doubles[2] = {0.5, 1e-3};
    small_tensors(t);
    for (int i = 0; i < 3; i++) {
        cornu_model *m = small_model();
        const char *path = scratch_path(i ? "w.npz" : "w.safetensors");
        if (i == 2) { /* float64 is rounded */
            t[1].type = ELEMENT_F64;
            t[1].data = doubles;
        }
        t[SMALL] = t[1];
        t[SMALL].name = "optimizer/anything";
        expect_ok(
            (i ? npz_write(path, t, SMALL + 1) : safetensors_write(path, t, SMALL + 1, NULL, 0)));
        expect_ok(cornu_model_load_weights(m, path));
        assert_memory_equal(m->variables[0].value, kernel_values, sizeof kernel_values);
        assert_true(m->variables[1].value[1] == (i == 2 ? (float)1e-3 : 6.0f));
        for (int64_t j = 0; j < m->variables[2].count; j++)
            assert_true(m->variables[2].value[j] == 0); /* slots start anew */
        cornu_model_close(m);
    }
}

static void weights_that_do_not_fit_leave_the_model(void **state)
{
    (void)state;
    cornu_model *m = small_model();
    const char *path = scratch_path("w.npz");
    static const char *const messages[] = {
        "found no dense/bias; expected one of shape (2)",
        "dense/bias: found shape (1, 2); expected (2)",
        "dense/bias: found int32; expected float32",
        "found extra; expected only weights of the model",
    };
    for (int i = 0; i < 4; i++) {
        file_tensor t[SMALL + 1];
        small_tensors(t);
        t[SMALL] = t[0];
        t[SMALL].name = "extra";
        if (i == 1) {
            t[1].rank = 2;
            t[1].shape[0] = 1;
            t[1].shape[1] = 2;
        }
        if (i == 2)
            t[1].type = ELEMENT_I32;
        expect_ok(npz_write(path, t, i == 0 ? 1 : i == 3 ? 3 : 2));
        expect_status(cornu_model_load_weights(m, path), CORNU_BAD_FILE);
        expect_message(messages[i]);
        assert_false(m->initialized);
    }
    expect_status(cornu_model_load_weights(m, scratch_path("none.npz")), CORNU_NOT_FOUND);
    expect_status(cornu_model_load_weights(m, NULL), CORNU_INVALID);
    cornu_model_close(m);
}

/* ---- opening by name -------------------------------------------------------------------- */

static void unknown_names_list_the_workloads(void **state)
{
    (void)state;
    cornu_model *m = NULL;
    expect_status(cornu_model_open("mnist-cnn-3", &m), CORNU_NOT_FOUND);
    expect_message("did you mean mnist-cnn-");
    expect_message("cifar10-mlp");
    expect_message("photos-cnn");
    expect_status(cornu_model_open("quite-another-thing", &m), CORNU_NOT_FOUND);
    assert_null(strstr(cornu_last_error(), "did you mean"));
    expect_status(cornu_model_open("", &m), CORNU_NOT_FOUND);
    expect_status(cornu_model_open(scratch_path("no.yaml"), &m), CORNU_NOT_FOUND);
    expect_status(cornu_model_open(scratch_path("no.safetensors"), &m), CORNU_NOT_FOUND);
    expect_status(cornu_model_open(scratch_path("."), &m), CORNU_INVALID);
    expect_message("found a folder");
    expect_status(cornu_model_open(scratch_write("m.zip", "PK", 2), &m), CORNU_INVALID);
    expect_message("found a file of another kind");
    assert_null(m);
}

static void workloads_and_recipes_open(void **state)
{
    (void)state;
    static const char recipe[] = "model: {input: [4], layers: [{Dense: {units: 2}}]}\n";
    static const char wrong[] = "model: {input: [4], layers: [{Dense: {units: 2}}]}\n"
                                "fit:\n  callbacks: [nothing]\n";
    cornu_model *m;
    expect_ok(cornu_model_open(scratch_write("r.yaml", recipe, sizeof recipe - 1), &m));
    assert_int_equal(cornu_model_parameter_count(m), 10);
    cornu_model_close(m);
    expect_status(cornu_model_open(scratch_write("r.yml", wrong, sizeof wrong - 1), &m),
                  CORNU_INVALID);
    expect_message("r.yml:3: fit.callbacks[0]: found callback nothing");
    for (int i = 0; cornu_workload_name(i); i++) {
        expect_ok(cornu_model_open(cornu_workload_name(i), &m));
        char *text;
        expect_ok(cornu_model_summary(m, &text));
        assert_non_null(strstr(text, "Total params: "));
        assert_non_null(strstr(text, "GFLOP"));
        cornu_free(text);
        cornu_model_close(m);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_open, scratch_close)
    const struct CMUnitTest tests[] = {
        TEST(names_beyond_all_measure_are_refused_before_training),
        TEST(everything_comes_back),
        TEST(a_file_saved_between_freezing_and_compiling_opens),
        TEST(saving_what_was_opened_gives_the_same_file),
        TEST(a_model_file_is_plain_safetensors),
        TEST(a_model_file_remembers_the_tuning),
        TEST(a_model_without_a_recipe_comes_back),
        TEST(a_full_disk_leaves_the_old_file),
        TEST(a_full_disk_while_training_is_an_error_and_keeps_the_model),
        TEST(killed_while_saving_leaves_a_whole_file),
        TEST(files_cut_anywhere_are_refused),
        TEST(flipped_bits_give_a_line_or_a_model),
        TEST(an_older_position_is_read),
        TEST(metadata_that_is_missing_or_wrong_is_refused),
        TEST(damaged_states_of_callbacks_are_refused_on_resume),
        TEST(tensors_that_do_not_fit_are_refused),
        TEST(every_tensor_must_be_there_and_no_other),
        TEST(weights_come_from_npz_and_safetensors),
        TEST(weights_that_do_not_fit_leave_the_model),
        TEST(unknown_names_list_the_workloads),
        TEST(workloads_and_recipes_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
