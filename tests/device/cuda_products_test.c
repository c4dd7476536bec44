/* Dense layers and convolutions on GPUs: by NVIDIA's libraries and by own kernels, in every
   precision, and the fallback when a library refuses. Skipped without a device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/net.h"
#include "support/op_cases.h"
#include <cornu/tables.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *gpu_name(void)
{
    for (int i = 0; net_device(i); i++)
        if (strncmp(net_device(i), "cuda", 4) == 0)
            return net_device(i);
    return NULL;
}

static bool is_simulated(void)
{
    cornu_device_info info = {.size = sizeof info};
    device_id id;
    for (int i = 0; device_at(i, &id, &info); i++)
        if (info.available && strstr(info.description, "Simulated GPU"))
            return true;
    return false;
}

static bool is_dense(op_kind kind)
{
    return kind >= OP_DENSE_FORWARD && kind <= OP_DENSE_BACKWARD_WEIGHTS;
}

static bool is_convolution(op_kind kind)
{
    return kind >= OP_CONV2D_FORWARD && kind <= OP_CONV2D_BACKWARD_WEIGHTS;
}

enum { ELEMENTS_MOST = 8000 }; /* of a case's first input: a simulated GPU is slow */

/* Calls `check` for the table's smaller products, on a device opened for each precision from
   `first` on: once with its own choice, once with the own kernels. Returns the sum of the
   results. */
static int each_product(device_precision first,
                        int (*check)(device *d, const op_case *c, device_precision precision))
{
    static const char *const kernels[] = {NULL, "tiled", "direct"};
    int count, failures = 0, tried = 0;
    const op_case *table = op_cases(&count);
    for (int precision = (int)first; precision <= PRECISION_BF16; precision++)
        for (int k = 0; k < 3; k++) {
            const device_options options = {.precision = (device_precision)precision,
                                            .kernel = kernels[k]};
            device *d = net_device_open(gpu_name(), &options);
            for (int i = 0; i < count; i++) {
                bool wanted = (k != 2 && is_dense(table[i].kind)) ||
                              (k != 1 && is_convolution(table[i].kind));
                if (!wanted || shape_elements(&table[i].in[0]) > ELEMENTS_MOST ||
                    !op_case_is_small(&table[i]))
                    continue;
                failures += check(d, &table[i], options.precision);
                tried++;
            }
            d->ops->close(d);
        }
    assert_true(tried > 100);
    return failures;
}

/* ---- precision ---------------------------------------------------------------------------- */

/* The case on the device, and as the reference does it. */
static void run_both(device *d, const op_case *c, char kernel[64], op_outputs *found,
                     op_outputs *expected)
{
    assert_int_equal(op_case_run_on(c, d, false, kernel, found), CORNU_OK);
    assert_int_equal(op_case_run(c, &reference_kernels[c->kind], NULL, false, expected), CORNU_OK);
}

/* Numbers of 6 bits are the same in every precision, and so are their products. */
static int check_short(device *d, const op_case *c, device_precision precision)
{
    op_case coarse = *c;
    op_outputs found, expected;
    char kernel[64];
    double tolerance = op_infos[c->kind].tolerance;
    coarse.step = 1.0f / 64;
    run_both(d, &coarse, kernel, &found, &expected);
    if (strstr(kernel, "cudnn") && precision == PRECISION_BF16)
        tolerance = 0x1p-8; /* it returns bfloat16 where it takes it */
    int failures = op_outputs_compare(&coarse, kernel, tolerance, &found, &expected);
    op_outputs_free(&found);
    op_outputs_free(&expected);
    return failures;
}

static void products_of_short_numbers_are_exact_in_every_precision(void **state)
{
    (void)state;
    if (!gpu_name())
        skip();
    assert_int_equal(each_product(PRECISION_TF32, check_short), 0);
}

/* Products in TF32 that a library computed in 32 bits: cuBLASLt and cuDNN may, where that is as
   fast. */
static int unrounded;

/* 1 where the result shows no rounding of long numbers, which is required of own kernels, of all
   bf16 and of the simulated libraries. */
static int check_rounded(device *d, const op_case *c, device_precision precision)
{
    op_outputs found, expected;
    char kernel[64];
    run_both(d, c, kernel, &found, &expected);
    double difference = net_difference(expected.values[0], found.values[0], found.count[0]);
    op_outputs_free(&found);
    op_outputs_free(&expected);
    if (difference > 1e-5)
        return 0;
    bool own = strcmp(kernel, "tiled") == 0 || strcmp(kernel, "direct") == 0;
    if (!own && precision == PRECISION_TF32 && !is_simulated()) {
        unrounded++;
        return 0;
    }
    printf("%s: %s: found results within %g of the largest; expected rounded factors\n", c->label,
           kernel, difference);
    return 1;
}

static void named_precision_is_the_one_used(void **state)
{
    (void)state;
    if (!gpu_name())
        skip();
    assert_int_equal(each_product(PRECISION_TF32, check_rounded), 0);
    if (unrounded > 0)
        print_message("%d products in tf32 were done in fp32 by the libraries\n", unrounded);
}

/* ---- the same bits ------------------------------------------------------------------------ */

static int check_twice(device *d, const op_case *c, device_precision precision)
{
    (void)precision;
    return op_case_check_twice(c, d);
}

static void every_product_gives_the_same_bits_twice(void **state)
{
    (void)state;
    if (!gpu_name())
        skip();
    assert_int_equal(each_product(PRECISION_FP32, check_twice), 0);
}

/* ---- refusals ----------------------------------------------------------------------------- */

static const char recipe[] =
    "model:\n"
    "  input: [8, 8, 2]\n"
    "  layers:\n"
    "    - Conv2D: {filters: 3, kernel_size: 3, padding: same, strides: 2, activation: relu}\n"
    "    - Conv2D: {filters: 4, kernel_size: 3, padding: same}\n"
    "    - Flatten\n"
    "    - Dense: {units: 5, activation: tanh}\n"
    "    - Dense: {units: 3}\n"
    "compile: {optimizer: {sgd: {learning_rate: 0.1}}, loss: mean_squared_error}\n";

/* The recipe's network after two steps. */
typedef struct trained {
    cornu_model *model;
    net *net;
    kernel_choice *choices; /* [net->plan->op_count] */
    double loss;            /* of the second step */
} trained;

static trained train(const char *forced)
{
    const plan_options options = {.mode = PLAN_TRAIN, .batch = 4, .exact_convolution = true};
    trained t = {.model = net_model(recipe)};
    t.net = net_open_with(t.model, gpu_name(), &options,
                          &(device_options){.threads = 1, .kernel = forced});
    t.choices = net_choices(t.net);
    net_run(t.net);
    t.loss = net_run(t.net);
    return t;
}

static void trained_close(trained *t)
{
    free(t->choices);
    net_close(t->net);
    cornu_model_close(t->model);
}

/* Loss of the second of two steps; the choices for layer `name`'s forward pass. */
static double train_two_steps(const char *name, kernel_choice *choice, char kernel[64])
{
    trained t = train(NULL);
    bool found = false;
    for (int i = 0; i < t.net->plan->op_count; i++) {
        const op *o = &t.net->plan->ops[i];
        if (found || strcmp(o->name, name) != 0 || !(is_dense(o->kind) || is_convolution(o->kind)))
            continue;
        *choice = t.choices[i];
        snprintf(kernel, 64, "%s", t.choices[i].kernel);
        choice->kernel = kernel;
        found = true;
    }
    assert_true(found);
    trained_close(&t);
    return t.loss;
}

/* The same with a kernel forced (or NULL); the choice for the last dense layer's gradient, and the
   bytes that the updates move. */
static double train_forced(const char *forced, char kernel[64], double *update_bytes)
{
    trained t = train(forced);
    int dense;
    net_count(t.net->plan, OP_DENSE_BACKWARD_WEIGHTS, &dense);
    snprintf(kernel, 64, "%s", t.choices[dense].kernel);
    *update_bytes = 0;
    for (int i = 0; i < t.net->plan->op_count; i++)
        if (strcmp(t.choices[i].kernel, "cuda/update") == 0)
            *update_bytes = t.choices[i].bytes;
    trained_close(&t);
    return t.loss;
}

/* The update's launch would otherwise make the gradient itself, in place of the named kernel. */
static void a_forced_kernel_makes_the_dense_gradient(void **state)
{
    static const char *const forced[] = {"tiled", "cublaslt"};
    char kernel[64], named[64];
    double usual_bytes, bytes;
    (void)state;
    if (!gpu_name())
        skip();
    double expected = train_forced(NULL, kernel, &usual_bytes);
    for (int i = 0; i < 2; i++) {
        double found = train_forced(forced[i], kernel, &bytes);
        snprintf(named, sizeof named, "cuda/%s", forced[i]);
        assert_string_equal(kernel, named);
        assert_true(bytes > usual_bytes); /* it reads what the kernel has written */
        assert_true(fabs(found - expected) <= 1e-6 * fabs(expected));
    }
}

/* An even image halved by strides of 2 has one more row of padding after than before. */
static void cudnn_leaves_uneven_padding_to_the_own_kernels(void **state)
{
    (void)state;
    if (!gpu_name())
        skip();
    kernel_choice choice;
    char kernel[64];
    train_two_steps("conv2d", &choice, kernel);
    assert_string_equal(kernel, "cuda/direct");
    assert_non_null(strstr(choice.refused, "; cudnn: more padding after than before"));
}

static int allow_all(void **state)
{
    (void)state;
    unsetenv("SIMULATED_CUBLAS_NOT_SUPPORTED");
    unsetenv("SIMULATED_CUDNN_NOT_SUPPORTED");
    unsetenv("SIMULATED_CUDA_FAIL");
    return 0;
}

static void refusal_of_a_library_is_told_and_changes_nothing(void **state)
{
    (void)state;
    if (!is_simulated())
        skip();
    kernel_choice choice;
    char kernel[64];
    double expected = train_two_steps("dense", &choice, kernel);
    assert_string_equal(kernel, "cuda/cublaslt");
    setenv("SIMULATED_CUBLAS_NOT_SUPPORTED", "1", 1);
    setenv("SIMULATED_CUDNN_NOT_SUPPORTED", "1", 1);
    double found = train_two_steps("dense", &choice, kernel);
    assert_string_equal(kernel, "cuda/tiled");
    assert_memory_equal(choice.refused, "cublaslt: no algorithm", 22);
    assert_true(fabs(found - expected) <= 1e-6 * fabs(expected));
    train_two_steps("conv2d_1", &choice, kernel);
    assert_string_equal(kernel, "cuda/direct");
    assert_non_null(strstr(choice.refused, "; cudnn: "));
}

/* The heuristic has accepted it. */
static void a_product_that_fails_when_it_runs_goes_by_own_kernels(void **state)
{
    (void)state;
    if (!is_simulated())
        skip();
    kernel_choice choice;
    char kernel[64];
    double expected = train_two_steps("dense", &choice, kernel);
    assert_string_equal(kernel, "cuda/cublaslt");
    setenv("SIMULATED_CUDA_FAIL", "cublasLtMatmul:1:15", 1); /* CUBLAS_STATUS_NOT_SUPPORTED */
    double found = train_two_steps("dense", &choice, kernel);
    assert_string_equal(kernel, "cuda/tiled");
    assert_memory_equal(choice.refused, "cublaslt: ", 10);
    assert_non_null(strstr(choice.refused, "cublasLtMatmul: "));
    assert_true(fabs(found - expected) <= 1e-6 * fabs(expected));
    setenv("SIMULATED_CUDA_FAIL", "cublasLtMatmul:2:13", 1); /* ..._EXECUTION_FAILED */
    train_two_steps("dense_1", &choice, kernel);
    assert_string_equal(kernel, "cuda/tiled");
}

/* With the variable set, cuDNN's convolution takes this many more launches, and trains the same. */
static void takes_more_launches_and_trains_the_same(const char *variable, const char *value,
                                                    int more)
{
    kernel_choice choice;
    char kernel[64];
    double expected = train_two_steps("conv2d_1", &choice, kernel);
    int launches = choice.launches;
    setenv(variable, value, 1);
    double found = train_two_steps("conv2d_1", &choice, kernel);
    assert_string_equal(kernel, "cuda/cudnn");
    assert_int_equal(choice.launches, launches + more);
    assert_true(fabs(found - expected) <= 1e-6 * fabs(expected));
}

/* cuDNN's call that adds the bias may refuse what its heuristic promised. */
static void convolution_goes_on_without_its_bias_in_the_same_call(void **state)
{
    (void)state;
    if (!is_simulated())
        skip();
    takes_more_launches_and_trains_the_same("SIMULATED_CUDA_FAIL",
                                            "cudnnConvolutionBiasActivationForward:1:3000", 1);
}

/* ---- time ----------------------------------------------------------------------------------- */

enum { HOST_MS = 100, TIMINGS = 3 };

static void the_hosts_time_for_calls_is_told_and_in_no_operations(void **state)
{
    (void)state;
    if (!is_simulated())
        skip();
    trained t = train(NULL);
    int count = t.net->plan->op_count, calls = 0;
    const device_ops *ops = t.net->device->ops;
    double *seconds = calloc((size_t)count, sizeof *seconds), least[64];
    assert_true(count <= 64);
    setenv("SIMULATED_CUDNN_HOST_MS", "100", 1);
    for (int k = 0; k < TIMINGS; k++) {
        assert_int_equal(
            ops->time_operations(t.net->device, t.net->prepared, &t.net->input, seconds), CORNU_OK);
        for (int i = 0; i < count; i++)
            least[i] = k == 0 ? seconds[i] : fmin(least[i], seconds[i]);
    }
    unsetenv("SIMULATED_CUDNN_HOST_MS");
    for (int i = 0; i < count; i++) {
        bool by_cudnn = strstr(t.choices[i].kernel, "cuda/cudnn") != NULL;
        calls += by_cudnn;
        if (by_cudnn && least[i] >= HOST_MS * 1e-3)
            fail_msg("operation %d: found %g s; expected less than its call's", i + 1, least[i]);
    }
    assert_true(calls > 0);
    assert_true(ops->host_seconds(t.net->device) >= calls * HOST_MS * 1e-3);
    free(seconds);
    trained_close(&t);
}

/* ---- exact convolution --------------------------------------------------------------------- */

/* The gradients of a small network's weights, one after the other; free. */
static float *gradients(const plan_options *also, const device_options *options, int *winograd,
                        int64_t *count)
{
    cornu_model *model = net_model(
        "model: {input: [9, 8, 3], layers: [{Conv2D: {filters: 6, kernel_size: 3, padding: same}}, "
        "{Conv2D: {filters: 5, kernel_size: 3}}, Flatten, {Dense: {units: 3}}]}\n"
        "compile: {optimizer: sgd, loss: mean_squared_error}");
    plan_options plan_options_ = *also;
    plan_options_.mode = PLAN_TRAIN;
    plan_options_.batch = 3;
    plan_options_.scope = SCOPE_GRADIENTS;
    net *n = net_open_with(model, gpu_name(), &plan_options_, options);
    float *all = NULL;
    *count = 0;
    *winograd = 0;
    net_run(n);
    for (int i = 0; i < model->weight_count; i++) {
        tensor_ref t = n->plan->gradients[i];
        int64_t size = n->plan->tensors[t].count;
        float *values = net_read(n, t);
        all = realloc(all, (size_t)(*count + size) * sizeof *all);
        assert_non_null(all);
        memcpy(all + *count, values, (size_t)size * sizeof *all);
        *count += size;
        free(values);
    }
    kernel_choice *choices = net_choices(n);
    for (int i = 0; i < n->plan->op_count; i++)
        *winograd += strcmp(choices[i].kernel, "cuda/cudnn_winograd") == 0;
    free(choices);
    net_close(n);
    cornu_model_close(model);
    return all;
}

/* The simulated Winograd has an error of a millionth of each number. */
static void exact_convolution_leaves_winograd_out(void **state)
{
    (void)state;
    if (!is_simulated())
        skip();
    int64_t count;
    int none, some;
    const plan_options exact = {.exact_convolution = true}, usual = {0};
    float *a = gradients(&exact, NULL, &none, &count);
    float *own = gradients(&usual, &(device_options){.kernel = "direct"}, &none, &count);
    assert_int_equal(none, 0);
    float *b = gradients(&usual, NULL, &some, &count);
    assert_int_equal(some, 4); /* the input has no gradient; its weights' uses an own kernel */
    assert_true(net_difference(a, own, count) < 5e-7);
    assert_true(net_difference(a, b, count) > 5e-7);
    assert_true(net_difference(a, b, count) < 1e-5);
    free(a);
    free(b);
    free(own);
}

/* ---- layout --------------------------------------------------------------------------------- */

static int usual_layout(void **state)
{
    (void)state;
    unsetenv("CORNU_CUDNN_LAYOUT");
    return 0;
}

static void cudnn_in_nchw_gives_the_same_gradients(void **state)
{
    (void)state;
    if (!gpu_name())
        skip();
    int64_t count;
    int winograd;
    for (int precision = PRECISION_FP32; precision <= PRECISION_BF16; precision++) {
        const device_options options = {.precision = (device_precision)precision};
        const plan_options exact = {.exact_convolution = true};
        const double unit = precision == PRECISION_FP32   ? 1e-6
                            : precision == PRECISION_TF32 ? 1e-3
                                                          : 1e-2;
        unsetenv("CORNU_CUDNN_LAYOUT");
        float *usual = gradients(&exact, &options, &winograd, &count);
        setenv("CORNU_CUDNN_LAYOUT", "nchw", 1);
        float *other = gradients(&exact, &options, &winograd, &count);
        assert_true(net_difference(usual, other, count) <= unit);
        free(usual);
        free(other);
    }
}

/* Two more launches for the factors, one for the result. */
static void cudnn_in_nchw_transposes_what_it_reads_and_writes(void **state)
{
    (void)state;
    if (!is_simulated())
        skip();
    takes_more_launches_and_trains_the_same("CORNU_CUDNN_LAYOUT", "nchw", 3);
}

static void an_unknown_layout_is_named(void **state)
{
    (void)state;
    if (!is_simulated())
        skip();
    cornu_model *model = net_model(recipe);
    device *d = net_device_open(gpu_name(), NULL);
    plan *p = NULL;
    prepared *ready = NULL;
    setenv("CORNU_CUDNN_LAYOUT", "chwn", 1);
    assert_int_equal(plan_build(model, &(plan_options){.mode = PLAN_TRAIN, .batch = 4}, &p),
                     CORNU_OK);
    assert_int_equal(d->ops->bind(d, model), CORNU_OK);
    assert_int_equal(d->ops->prepare(d, p, &ready), CORNU_INVALID);
    assert_non_null(
        strstr(cornu_last_error(), "CORNU_CUDNN_LAYOUT: found chwn; expected nhwc or nchw"));
    plan_free(p);
    d->ops->close(d);
    cornu_model_close(model);
}

static void lower_precision_goes_without_winograd(void **state)
{
    (void)state;
    if (!is_simulated())
        skip();
    int64_t count;
    int winograd;
    for (int precision = PRECISION_TF32; precision <= PRECISION_BF16; precision++) {
        const device_options options = {.precision = (device_precision)precision};
        free(gradients(&(plan_options){0}, &options, &winograd, &count));
        assert_int_equal(winograd, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_short_numbers_are_exact_in_every_precision),
        cmocka_unit_test(named_precision_is_the_one_used),
        cmocka_unit_test(every_product_gives_the_same_bits_twice),
        cmocka_unit_test(a_forced_kernel_makes_the_dense_gradient),
        cmocka_unit_test(cudnn_leaves_uneven_padding_to_the_own_kernels),
        cmocka_unit_test_teardown(refusal_of_a_library_is_told_and_changes_nothing, allow_all),
        cmocka_unit_test_teardown(a_product_that_fails_when_it_runs_goes_by_own_kernels, allow_all),
        cmocka_unit_test(the_hosts_time_for_calls_is_told_and_in_no_operations),
        cmocka_unit_test(exact_convolution_leaves_winograd_out),
        cmocka_unit_test(lower_precision_goes_without_winograd),
        cmocka_unit_test_teardown(cudnn_in_nchw_gives_the_same_gradients, usual_layout),
        cmocka_unit_test_teardown(cudnn_in_nchw_transposes_what_it_reads_and_writes, usual_layout),
        cmocka_unit_test_teardown(an_unknown_layout_is_named, usual_layout),
        cmocka_unit_test_teardown(convolution_goes_on_without_its_bias_in_the_same_call, allow_all),
    };
    return cmocka_run_group_tests_name("products on GPUs", tests, NULL, op_cases_free);
}
