/* The code that accelerators share, with a driver whose device is the host's own memory: its only
   working kernel is GATHER, which just inspects its arguments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/accelerator/core.h"
#include "device/gather_sample.h"
#include "support/net.h"
#include "support/runs.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 6, CHANNELS = 3, COUNT = SIDE * SIDE * CHANNELS, SAMPLES = 50, BATCH = 7 };

/* ---- the driver ---------------------------------------------------------------------------- */

typedef struct fake {
    gpu g;
    double left, largest; /* the answer of memory_info */
    double gives;         /* bytes of the largest piece that really exists */
    int pieces;           /* not yet released */
    int fail_at;          /* the piece whose allocation fails, from 1; 0: none does */
    int allocated;
    int64_t marks[GPU_QUEUE]; /* number of steps launched when the mark was set */
    int64_t launched;
    const gpu_step *step; /* the running step */
    /* checks each step's samples; NULL: no check */
    void (*look)(struct fake *f, const gpu_op *r);
    const step_input *inputs; /* of the steps, from 0 */
    gpu_address x[4 * GPU_QUEUE];
    int updates;          /* UPDATE operations that were run */
    int fragile, failing; /* calls of the kernel with that name; the call that fails, from 1 */
    cornu_status failure; /* with this */
    bool broken;          /* the device does not work any more after that */
} fake;

static fake *fake_of(const gpu *g)
{
    return (fake *)(uintptr_t)g;
}

static cornu_status new_piece(gpu *g, size_t bytes, gpu_address *out)
{
    fake *f = fake_of(g);
    if (++f->allocated == f->fail_at || (double)bytes > f->gives)
        return status_fail(CORNU_OUT_OF_MEMORY, "device %s: no memory", g->name);
    *out = (uintptr_t)aligned_alloc(GPU_ALIGNMENT, gpu_aligned(bytes));
    f->pieces++;
    return CORNU_OK;
}

static void free_piece(gpu *g, gpu_address at)
{
    free((void *)at);
    fake_of(g)->pieces--;
}

static cornu_status memory_info(gpu *g, double *left, double *largest)
{
    *left = fake_of(g)->left;
    *largest = fake_of(g)->largest;
    return CORNU_OK;
}

static cornu_status pinned_new(gpu *g, size_t bytes, void **out)
{
    gpu_address at = 0;
    TRY(new_piece(g, bytes, &at));
    *out = (void *)at;
    return CORNU_OK;
}

static void pinned_free(gpu *g, void *memory)
{
    free_piece(g, (uintptr_t)memory);
}

static cornu_status copy_in(gpu *g, gpu_address to, const void *from, size_t bytes, bool beside)
{
    (void)g, (void)beside;
    memcpy((void *)to, from, bytes);
    return CORNU_OK;
}

static cornu_status copy_out(gpu *g, void *to, gpu_address from, size_t bytes)
{
    (void)g;
    memcpy(to, (const void *)from, bytes);
    return CORNU_OK;
}

static cornu_status clear(gpu *g, gpu_address at, size_t bytes)
{
    (void)g;
    memset((void *)at, 0, bytes);
    return CORNU_OK;
}

static cornu_status nothing(gpu *g)
{
    (void)g;
    return CORNU_OK;
}

static cornu_status mark(gpu *g, int number)
{
    fake_of(g)->marks[number] = fake_of(g)->launched;
    return CORNU_OK;
}

static cornu_status wait_for(gpu *g, int number)
{
    assert_true(fake_of(g)->marks[number] > 0);
    return CORNU_OK;
}

/* The device is never idle: steps wait until the queue has to launch them. */
static cornu_status reached(gpu *g, int number, bool *yes)
{
    (void)g, (void)number;
    *yes = false;
    return CORNU_OK;
}

static cornu_status resolve(gpu *g, prepared *p)
{
    (void)g;
    p->resolved = malloc(1);
    return CORNU_OK;
}

static void forget(gpu *g, prepared *p)
{
    (void)g;
    free(p->resolved);
}

static cornu_status run_step(gpu *g, prepared *p, int64_t step)
{
    fake *f = fake_of(g);
    assert_int_equal(step, f->launched);
    f->step = &g->state->queue.steps[step % GPU_QUEUE];
    for (int i = gpu_next_op(p, -1); i < p->plan->op_count; i = gpu_next_op(p, i))
        TRY(gpu_enqueue_op(g, p, i));
    f->launched++;
    return CORNU_OK;
}

static cornu_status launch_steps(gpu *g, prepared *p, int64_t first, int64_t count)
{
    for (int64_t i = first; i < first + count; i++)
        TRY(run_step(g, p, i));
    return CORNU_OK;
}

static cornu_status count_launches(gpu *g, prepared *p, int i, int *launches)
{
    (void)g;
    *launches = p->plan->ops[i].kind == OP_GATHER ? 1 : 4;
    return CORNU_OK;
}

static cornu_status time_step(gpu *g, prepared *p, int64_t step, double *seconds)
{
    seconds[0] = 1;
    return run_step(g, p, step);
}

static cornu_status launch_gap(gpu *g, double *first, double *further)
{
    (void)g;
    *first = 3;
    *further = 2;
    return CORNU_OK;
}

static cornu_status results(gpu *g, step_results *out, bool reset)
{
    (void)reset;
    *out = (step_results){.samples = fake_of(g)->launched * BATCH};
    return CORNU_OK;
}

static void close_fake(gpu *g)
{
    assert_int_equal(fake_of(g)->pieces, 0);
}

static cornu_status enqueue_gather(const gpu_op *r)
{
    fake *f = fake_of(r->g);
    f->x[f->launched] = f->step->x;
    if (f->look)
        f->look(f, r);
    return CORNU_OK;
}

static cornu_status enqueue_other(const gpu_op *r)
{
    fake_of(r->g)->updates += r->op->kind == OP_UPDATE;
    return CORNU_OK;
}

static cornu_status enqueue_fragile(const gpu_op *r)
{
    fake *f = fake_of(r->g);
    if (++f->fragile != f->failing)
        return CORNU_OK;
    return status_fail(f->failure, "device %s: it fell", r->g->name);
}

static cornu_status synchronize(gpu *g)
{
    fake *f = fake_of(g);
    return f->broken && f->fragile ? status_fail(CORNU_DEVICE, "device %s: is lost", g->name)
                                   : CORNU_OK;
}

/* It needs more scratch memory than the kernel that it replaces. */
enum { STURDY_BYTES = 5000 };
static cornu_status prepare_sturdy(gpu *g, const plan *p, const op *o, void **state,
                                   size_t *scratch_bytes)
{
    (void)g, (void)p, (void)o, (void)state;
    *scratch_bytes = STURDY_BYTES;
    return CORNU_OK;
}

static cornu_status enqueue_sturdy(const gpu_op *r)
{
    assert_true(r->g->state->scratch.bytes >= STURDY_BYTES);
    memset((void *)r->scratch, 0, STURDY_BYTES);
    return CORNU_OK;
}

static const gpu_kernel fragile_kernel = {
    .name = "fragile", .enqueue = enqueue_fragile, .try_first = true};
static const gpu_kernel sturdy_kernel = {
    .name = "sturdy", .prepare = prepare_sturdy, .enqueue = enqueue_sturdy};
static const gpu_kernel *const dense_kernels[] = {&fragile_kernel, &sturdy_kernel, NULL};

static const gpu_kernel gather_kernel = {.name = "look", .enqueue = enqueue_gather};
static const gpu_kernel other_kernel = {.name = "nothing", .enqueue = enqueue_other};
static const gpu_kernel *const gather_kernels[] = {&gather_kernel, NULL};
static const gpu_kernel *const other_kernels[] = {&other_kernel, NULL};
static const gpu_kernel together_kernel = {.name = "update", .with_updates = true};
static const gpu_kernel *const update_kernels[] = {&together_kernel, NULL};
static gpu_kernel_list lists[OP_COUNT];

static gpu_driver fake_driver(void)
{
    for (int i = 0; i < OP_COUNT; i++)
        lists[i] = i == OP_GATHER          ? gather_kernels
                   : i == OP_DENSE_FORWARD ? dense_kernels
                                           : other_kernels;
    return (gpu_driver){.name = "fake",
                        .kernels = lists,
                        .close = close_fake,
                        .memory_new = new_piece,
                        .memory_free = free_piece,
                        .memory_info = memory_info,
                        .pinned_new = pinned_new,
                        .pinned_free = pinned_free,
                        .copy_in = copy_in,
                        .join = nothing,
                        .copy_out = copy_out,
                        .clear = clear,
                        .synchronize = synchronize,
                        .mark = mark,
                        .wait = wait_for,
                        .reached = reached,
                        .resolve = resolve,
                        .forget = forget,
                        .launch_steps = launch_steps,
                        .count_launches = count_launches,
                        .time_step = time_step,
                        .results = results,
                        .host_transforms = true};
}

static void open_fake(fake *f, const gpu_driver *driver)
{
    *f = (fake){.left = 1e9, .largest = INFINITY, .gives = INFINITY};
    expect_ok(gpu_open_shared(&f->g, driver, 3, &(device_options){.threads = 3}));
    assert_string_equal(f->g.name, "fake:3");
}

/* ---- samples ------------------------------------------------------------------------------- */

static const char net_text[] =
    "model: {input: [6, 6, 3], layers: [{Conv2D: {filters: 4, kernel_size: 3, activation: relu}}, "
    "Flatten, {Dense: {units: 3, activation: softmax}}]}\n"
    "compile: {optimizer: adam, loss: sparse_categorical_crossentropy}";

typedef struct data {
    uint8_t bytes[SAMPLES * COUNT];
    float floats[SAMPLES * COUNT], weight[SAMPLES];
    int32_t y[SAMPLES];
    sample_block block;
} data;

static data *new_data(sample_type type)
{
    data *d = calloc(1, sizeof *d);
    assert_non_null(d);
    for (int i = 0; i < SAMPLES * COUNT; i++) {
        d->bytes[i] = (uint8_t)(i * 7 % 251);
        d->floats[i] = (float)d->bytes[i];
    }
    for (int i = 0; i < SAMPLES; i++) {
        d->y[i] = i % 3;
        d->weight[i] = (float)(1 + i);
    }
    bool is_bytes = type == SAMPLE_U8;
    d->block = (sample_block){.count = SAMPLES,
                              .x_shape = {3, {SIDE, SIDE, CHANNELS}},
                              .x_type = type,
                              .x = is_bytes ? (const void *)d->bytes : d->floats,
                              .x_scale = 1 / 255.0f,
                              .y_shape = {0},
                              .y_type = SAMPLE_I32,
                              .y = d->y,
                              .weight = d->weight};
    return d;
}

/* The step's own rows: the network's input, then its targets and weights unchanged. */
static void look_at_transformed(fake *f, const gpu_op *r)
{
    const gpu_step *s = f->step;
    const step_input *input = &f->inputs[f->launched];
    const int64_t *index = (const int64_t *)s->index, *sample = (const int64_t *)s->sample;
    const float *x = (const float *)s->x;
    float expected[COUNT];
    assert_false(s->x_bytes);
    assert_true(s->x_scale == 1);
    for (int64_t i = 0; i < r->plan->batch; i++) {
        gather_sample(r->plan, r->op, input, i, expected, NULL);
        assert_memory_equal(x + index[i] * COUNT, expected, sizeof expected);
        assert_int_equal(sample[i], input->index[i]);
        assert_int_equal(((const int32_t *)s->y)[index[i]], sample[i] % 3);
        assert_true(((const float *)s->weight)[index[i]] == (float)(1 + sample[i]));
    }
}

/* The samples' own numbers, wherever they are stored. */
static void look_at_plain(fake *f, const gpu_op *r)
{
    const gpu_step *s = f->step;
    const sample_block *block = f->inputs[f->launched].samples;
    const int64_t *index = (const int64_t *)s->index, *sample = (const int64_t *)s->sample;
    size_t bytes =
        (size_t)shape_elements(&block->x_shape) * (block->x_type == SAMPLE_U8 ? 1 : sizeof(float));
    assert_int_equal(s->x_bytes, block->x_type == SAMPLE_U8);
    assert_true(s->x_scale == block->x_scale);
    for (int64_t i = 0; i < r->plan->batch; i++)
        assert_memory_equal((const unsigned char *)s->x + (size_t)index[i] * bytes,
                            (const unsigned char *)block->x + (size_t)sample[i] * bytes, bytes);
}

enum { STEPS = 3 * GPU_QUEUE + 5 };

static step_input *new_inputs(const sample_block *block, int64_t batch)
{
    step_input *inputs = calloc(STEPS, sizeof *inputs);
    int64_t *index = malloc((size_t)(STEPS * batch) * sizeof *index);
    assert_true(inputs && index);
    for (int64_t i = 0; i < STEPS * batch; i++)
        index[i] = i * 13 % block->count;
    for (int i = 0; i < STEPS; i++)
        inputs[i] = (step_input){.samples = block,
                                 .index = index + i * batch,
                                 .seed = 5,
                                 .iteration = i,
                                 .epoch = i / 10,
                                 .learning_rate = 0.01f};
    return inputs;
}

static void free_inputs(step_input *inputs)
{
    free((int64_t *)(uintptr_t)inputs[0].index);
    free(inputs);
}

/* Some steps at once, some one by one, one timed; every step is run once, in order. */
static void run_all(fake *f, const cornu_model *model, const plan_options *options,
                    const step_input *inputs, const sample_block *resident)
{
    const device_ops *ops = f->g.device.ops;
    device *d = &f->g.device;
    plan *p;
    prepared *ready = NULL;
    step_results r;
    double seconds[64];
    f->inputs = inputs;
    expect_ok(plan_build(model, options, &p));
    assert_true(p->op_count <= 64);
    expect_ok(ops->bind(d, model));
    expect_ok(ops->prepare(d, p, &ready));
    if (resident)
        expect_ok(ops->upload(d, resident));
    expect_ok(ops->run(d, ready, inputs, 3));
    expect_ok(
        ops->results(d, &r, true)); /* launches those: bursts then wrap around the rings' ends */
    assert_int_equal(f->launched, 3);
    expect_ok(ops->run(d, ready, inputs + 3, 2 * GPU_QUEUE - 3));
    for (int i = 2 * GPU_QUEUE; i < STEPS - 1; i++)
        expect_ok(ops->run(d, ready, &inputs[i], 1));
    expect_ok(ops->time_operations(d, ready, &inputs[STEPS - 1], seconds));
    expect_ok(ops->results(d, &r, true));
    assert_int_equal(f->launched, STEPS);
    ops->release(d, ready);
    plan_free(p);
}

static const augmentation rotated = {
    .rotation_range = 20, .width_shift_range = {.most = 0.1f}, .horizontal_flip = true};
static const standardization standardized = {.samplewise_center = true, .samplewise_std = true};

/* Also with resident samples: such a plan does not read them. */
static void transformed_batches_are_what_the_network_sees(void **state)
{
    (void)state;
    const gpu_driver driver = fake_driver();
    cornu_model *model = net_model(net_text);
    for (int i = 0; i < 6; i++) {
        plan_options options = {.mode = PLAN_TRAIN, .batch = BATCH, .weighted = WEIGHTS_OF_SAMPLES};
        if (i % 3 != 0)
            options.augment = rotated;
        if (i % 3 != 1)
            options.standardize = standardized;
        data *d = new_data(i < 3 ? SAMPLE_U8 : SAMPLE_F32);
        step_input *inputs = new_inputs(&d->block, BATCH);
        fake f;
        open_fake(&f, &driver);
        f.look = look_at_transformed;
        run_all(&f, model, &options, inputs, &d->block);
        f.g.device.ops->close(&f.g.device);
        free_inputs(inputs);
        free(d);
    }
    cornu_model_close(model);
}

static void other_batches_are_the_samples_themselves(void **state)
{
    (void)state;
    const gpu_driver driver = fake_driver();
    cornu_model *model = net_model(net_text);
    plan_options options = {.mode = PLAN_TRAIN, .batch = BATCH, .weighted = WEIGHTS_OF_SAMPLES};
    for (int i = 0; i < 4; i++) {
        data *d = new_data(i < 2 ? SAMPLE_U8 : SAMPLE_F32);
        step_input *inputs = new_inputs(&d->block, BATCH);
        bool is_resident = i % 2;
        fake f;
        open_fake(&f, &driver);
        f.look = look_at_plain;
        run_all(&f, model, &options, inputs, is_resident ? &d->block : NULL);
        assert_int_equal(f.x[1] == f.x[0], is_resident);
        assert_true(f.updates == STEPS * model->weight_count);
        f.g.device.ops->close(&f.g.device);
        free_inputs(inputs);
        free(d);
    }
    cornu_model_close(model);
}

/* Batches of more than a megabyte are gathered by several threads. */
static void large_batches_are_the_samples_themselves(void **state)
{
    (void)state;
    enum { LARGE_BATCH = 40, NUMBERS = 9000, LARGE = 60 };
    const gpu_driver driver = fake_driver();
    cornu_model *model = net_model("model: {input: [9000], layers: [{Dense: {units: 1}}]}\n"
                                   "compile: {optimizer: sgd, loss: mean_squared_error}");
    plan_options options = {.mode = PLAN_PREDICT, .batch = LARGE_BATCH};
    float *x = malloc(sizeof *x * LARGE * NUMBERS);
    assert_non_null(x);
    net_fill(x, LARGE * NUMBERS, 2);
    sample_block block = {
        .count = LARGE, .x_shape = {1, {NUMBERS}}, .x_type = SAMPLE_F32, .x = x, .x_scale = 1};
    step_input *inputs = new_inputs(&block, LARGE_BATCH);
    fake f;
    open_fake(&f, &driver);
    f.look = look_at_plain;
    run_all(&f, model, &options, inputs, NULL);
    assert_non_null(f.g.state->pool);
    f.g.device.ops->close(&f.g.device);
    free_inputs(inputs);
    free(x);
    cornu_model_close(model);
}

/* ---- constants ----------------------------------------------------------------------------- */

static void each_constant_has_its_own_place_in_memory(void **state)
{
    (void)state;
    const gpu_driver driver = fake_driver();
    cornu_model *model =
        net_model("model: {input: [3], layers: [{Multiply: {x2: [1, 2, 3]}}, {Dense: {units: 3}}, "
                  "{Add: {x2: [4, 5, 6]}}]}\ncompile: {optimizer: sgd, loss: mse}");
    plan_options options = {.mode = PLAN_TRAIN, .batch = BATCH};
    fake f;
    plan *p;
    prepared *ready = NULL;
    int constants = 0;
    open_fake(&f, &driver);
    const device_ops *ops = f.g.device.ops;
    expect_ok(plan_build(model, &options, &p));
    expect_ok(ops->bind(&f.g.device, model));
    expect_ok(ops->prepare(&f.g.device, p, &ready));
    for (int i = 0; i < p->tensor_count; i++) {
        const tensor *t = &p->tensors[i];
        if (t->role != TENSOR_CONSTANT)
            continue;
        constants++;
        assert_int_equal(ready->offsets[i] % GPU_ALIGNMENT, 0);
        assert_memory_equal((const void *)(ready->constants.at + ready->offsets[i]), t->values,
                            (size_t)t->count * sizeof(float));
    }
    assert_int_equal(constants, 2);
    ops->release(&f.g.device, ready);
    plan_free(p);
    ops->close(&f.g.device);
    cornu_model_close(model);
}

/* ---- time ---------------------------------------------------------------------------------- */

/* One gap for an operation's first kernel and one for each further one; none for an operation that
   launches nothing itself, and none at all if the driver's clock is within the kernels. */
static void launch_gaps_are_those_of_each_operations_kernels(void **state)
{
    (void)state;
    cornu_model *model = net_model(net_text);
    plan_options options = {.mode = PLAN_TRAIN, .batch = BATCH};
    for (int within = 0; within < 2; within++) {
        gpu_driver driver = fake_driver();
        lists[OP_UPDATE] = update_kernels;
        driver.launch_gap = within ? NULL : launch_gap;
        fake f;
        plan *p;
        prepared *ready = NULL;
        double gaps[64];
        open_fake(&f, &driver);
        const device_ops *ops = f.g.device.ops;
        expect_ok(plan_build(model, &options, &p));
        expect_ok(ops->bind(&f.g.device, model));
        expect_ok(ops->prepare(&f.g.device, p, &ready));
        assert_true(p->op_count <= 64);
        expect_ok(ops->launch_gaps(&f.g.device, ready, gaps));
        for (int i = 0; i < p->op_count; i++) {
            bool gathers = p->ops[i].kind == OP_GATHER;
            bool fused = p->ops[i].kind == OP_UPDATE && i != ready->first_update;
            assert_true(gaps[i] == (within || fused ? 0 : gathers ? 3 : 9));
        }
        ops->release(&f.g.device, ready);
        plan_free(p);
        f.g.device.ops->close(&f.g.device);
    }
    cornu_model_close(model);
}

/* ---- kernels that are not there ------------------------------------------------------------ */

static void an_operation_that_the_device_lacks_is_refused_by_name(void **state)
{
    (void)state;
    static const gpu_kernel *const none[] = {NULL};
    cornu_model *model = net_model(net_text);
    plan *p;
    prepared *ready = NULL;
    expect_ok(plan_build(model, &(plan_options){.mode = PLAN_TRAIN, .batch = BATCH}, &p));
    for (int i = 0; i < 2; i++) {
        gpu_driver driver = fake_driver();
        lists[OP_CONV2D_FORWARD] = i == 0 ? none : NULL;
        fake f;
        open_fake(&f, &driver);
        device *d = &f.g.device;
        assert_int_equal(d->ops->lacks(d, p)->kind, OP_CONV2D_FORWARD);
        expect_status(d->ops->prepare(d, p, &ready), CORNU_UNSUPPORTED);
        assert_null(ready);
        assert_non_null(strstr(cornu_last_error(), "conv2d: has no kernel for conv2d_forward"));
        d->ops->close(d);
    }
    plan_free(p);
    cornu_model_close(model);
}

/* ---- memory -------------------------------------------------------------------------------- */

static cornu_status prepare_batch(fake *f, const cornu_model *model, int64_t batch)
{
    const device_ops *ops = f->g.device.ops;
    plan_options options = {.mode = PLAN_TRAIN, .batch = batch};
    plan *p;
    prepared *ready = NULL;
    expect_ok(plan_build(model, &options, &p));
    cornu_status status = ops->prepare(&f->g.device, p, &ready);
    ops->release(&f->g.device, ready);
    plan_free(p);
    return status;
}

/* The batch in the message fits, and the next larger one does not. */
static void check_named_batch(fake *f, const cornu_model *model)
{
    const char *named = strstr(cornu_last_error(), "the largest batch that fits is ");
    assert_non_null(named);
    int64_t batch = strtoll(strrchr(named, ' '), NULL, 10);
    assert_true(batch > 1);
    expect_ok(prepare_batch(f, model, batch));
    expect_status(prepare_batch(f, model, batch + 1), CORNU_OUT_OF_MEMORY);
}

/* Buffers are one piece of memory: a plan for which the device has no piece is refused; the batch
   in the message fits, but none above. */
static void buffers_larger_than_the_largest_piece_are_refused(void **state)
{
    (void)state;
    const gpu_driver driver = fake_driver();
    cornu_model *model = net_model(net_text);
    fake f;
    open_fake(&f, &driver);
    f.largest = f.gives = 100000;
    expect_ok(f.g.device.ops->bind(&f.g.device, model));
    expect_status(prepare_batch(&f, model, 1000), CORNU_OUT_OF_MEMORY);
    expect_message("device fake:3: training with batch 1000 needs ");
    expect_message(" in one piece; expected at most ");
    check_named_batch(&f, model);
    f.g.device.ops->close(&f.g.device);
    cornu_model_close(model);
}

/* A driver may have less than it says: then the batch is found by trying. */
static void buffers_that_the_driver_refuses_name_the_batch_that_it_takes(void **state)
{
    (void)state;
    const gpu_driver driver = fake_driver();
    cornu_model *model = net_model(net_text);
    fake f;
    open_fake(&f, &driver);
    f.gives = 100000;
    expect_ok(f.g.device.ops->bind(&f.g.device, model));
    expect_ok(prepare_batch(&f, model, BATCH));
    expect_status(prepare_batch(&f, model, 1000), CORNU_OUT_OF_MEMORY);
    expect_message("device fake:3: no memory; training with batch 1000 needs ");
    check_named_batch(&f, model);
    f.gives = 8;
    expect_status(prepare_batch(&f, model, 1000), CORNU_OUT_OF_MEMORY);
    expect_message("; not even batch 1 fits");
    f.g.device.ops->close(&f.g.device);
    cornu_model_close(model);
}

static void a_variable_larger_than_the_largest_piece_is_refused_by_name(void **state)
{
    (void)state;
    const gpu_driver driver = fake_driver();
    cornu_model *model = net_model(net_text);
    fake f;
    open_fake(&f, &driver);
    f.largest = 500; /* the dense kernel has 4 * 4 * 4 * 3 floats */
    expect_status(f.g.device.ops->bind(&f.g.device, model), CORNU_OUT_OF_MEMORY);
    expect_message("device fake:3: dense/kernel needs 768 B of memory in one piece; expected");
    f.largest = 768;
    expect_ok(f.g.device.ops->bind(&f.g.device, model));
    f.g.device.ops->close(&f.g.device);
    cornu_model_close(model);
}

static void samples_larger_than_the_largest_piece_are_streamed(void **state)
{
    (void)state;
    const gpu_driver driver = fake_driver();
    cornu_model *model = net_model(net_text);
    plan_options options = {.mode = PLAN_TRAIN, .batch = BATCH};
    data *d = new_data(SAMPLE_F32);
    step_input *inputs = new_inputs(&d->block, BATCH);
    fake f;
    for (int i = 0; i < 2; i++) { /* the driver says so, or refuses */
        open_fake(&f, &driver);
        *(i ? &f.gives : &f.largest) = sizeof d->floats - 1;
        f.look = look_at_plain;
        run_all(&f, model, &options, inputs, &d->block);
        assert_true(f.x[1] != f.x[0]);
        f.g.device.ops->close(&f.g.device);
    }
    free_inputs(inputs);
    free(d);
    cornu_model_close(model);
}

/* Wherever memory runs out, earlier allocations are released (close_fake). */
static void memory_that_runs_out_leaves_nothing_behind(void **state)
{
    (void)state;
    const gpu_driver driver = fake_driver();
    cornu_model *model = net_model(net_text);
    int failed = 0;
    for (int at = 1; at < 100; at++) {
        fake f;
        open_fake(&f, &driver);
        f.fail_at = at;
        cornu_status status = f.g.device.ops->bind(&f.g.device, model);
        if (status == CORNU_OK)
            status = prepare_batch(&f, model, BATCH);
        if (status != CORNU_OK)
            expect_message("device fake:3: no memory");
        f.g.device.ops->close(&f.g.device);
        if (status == CORNU_OK)
            break;
        failed++;
    }
    assert_true(failed > model->variable_count);
    cornu_model_close(model);
}

/* ---- fallback of kernels ------------------------------------------------------------------- */

static const char two_layers[] =
    "model: {input: [6], layers: [{Dense: {units: 4}}, {Dense: {units: 3}}]}\n"
    "compile: {optimizer: sgd, loss: mean_squared_error}";

/* Prepare and run one step where call `failing` fails (0: none does). choices[2]: for the
   layers. */
static cornu_status try_network(fake *f, const cornu_model *model, int failing,
                                cornu_status failure, kernel_choice choices[2])
{
    const device_ops *ops = f->g.device.ops;
    kernel_choice all[32];
    prepared *ready = NULL;
    plan *p;
    int found = 0;
    f->failing = failing;
    f->failure = failure;
    expect_ok(ops->bind(&f->g.device, model));
    expect_ok(plan_build(model, &(plan_options){.mode = PLAN_TRAIN, .batch = BATCH}, &p));
    assert_true(p->op_count <= 32);
    cornu_status status = ops->prepare(&f->g.device, p, &ready);
    if (status == CORNU_OK) {
        expect_ok(ops->choices(&f->g.device, ready, all));
        expect_ok(gpu_enqueue_op(&f->g, ready, 1));
        for (int i = 0; i < p->op_count; i++)
            if (p->ops[i].kind == OP_DENSE_FORWARD)
                choices[found++] = all[i];
        for (int i = 0; i < 2; i++) /* names go with the plan */
            choices[i].kernel =
                strcmp(choices[i].kernel, "fake/sturdy") == 0 ? "sturdy" : "fragile";
    }
    ops->release(&f->g.device, ready);
    plan_free(p);
    return status;
}

static void a_kernel_that_does_not_work_is_replaced_before_the_first_step(void **state)
{
    (void)state;
    const gpu_driver driver = fake_driver();
    cornu_model *model = net_model(two_layers);
    for (int failing = 0; failing <= 2; failing++) {
        fake f;
        kernel_choice choices[2];
        open_fake(&f, &driver);
        expect_ok(try_network(&f, model, failing, CORNU_DEVICE, choices));
        for (int i = 0; i < 2; i++) {
            bool replaced = i + 1 == failing;
            assert_string_equal(choices[i].kernel, replaced ? "sturdy" : "fragile");
            assert_int_equal(strstr(choices[i].refused, "fragile: ") != NULL, replaced);
            assert_int_equal(strstr(choices[i].refused, "it fell") != NULL, replaced);
        }
        assert_int_equal(f.fragile,
                         failing == 1 ? 2 : 3); /* each tried once, then a step's first */
        f.g.device.ops->close(&f.g.device);
    }
    cornu_model_close(model);
}

static void want_of_memory_and_a_lost_device_are_no_refusals(void **state)
{
    (void)state;
    const gpu_driver driver = fake_driver();
    cornu_model *model = net_model(two_layers);
    for (int broken = 0; broken < 2; broken++) {
        fake f;
        kernel_choice choices[2];
        open_fake(&f, &driver);
        f.broken = broken;
        expect_status(
            try_network(&f, model, 1, broken ? CORNU_DEVICE : CORNU_OUT_OF_MEMORY, choices),
            broken ? CORNU_DEVICE : CORNU_OUT_OF_MEMORY);
        expect_message(broken ? "is lost" : "it fell");
        f.broken = false;
        f.g.device.ops->close(&f.g.device);
    }
    cornu_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transformed_batches_are_what_the_network_sees),
        cmocka_unit_test(other_batches_are_the_samples_themselves),
        cmocka_unit_test(large_batches_are_the_samples_themselves),
        cmocka_unit_test(each_constant_has_its_own_place_in_memory),
        cmocka_unit_test(launch_gaps_are_those_of_each_operations_kernels),
        cmocka_unit_test(an_operation_that_the_device_lacks_is_refused_by_name),
        cmocka_unit_test(buffers_larger_than_the_largest_piece_are_refused),
        cmocka_unit_test(buffers_that_the_driver_refuses_name_the_batch_that_it_takes),
        cmocka_unit_test(a_variable_larger_than_the_largest_piece_is_refused_by_name),
        cmocka_unit_test(samples_larger_than_the_largest_piece_are_streamed),
        cmocka_unit_test(memory_that_runs_out_leaves_nothing_behind),
        cmocka_unit_test(a_kernel_that_does_not_work_is_replaced_before_the_first_step),
        cmocka_unit_test(want_of_memory_and_a_lost_device_are_no_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
