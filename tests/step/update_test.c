/* One optimizer step, clipped and not, against the formulas in double. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/net.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 3, WEIGHTS = 2, LARGEST = 12 };

/* Gradients of every step and weights before and after. */
typedef struct record {
    int64_t count[WEIGHTS];
    double gradient[STEPS][WEIGHTS][LARGEST];
    double before[WEIGHTS][LARGEST], after[WEIGHTS][LARGEST];
} record;

static const char *const names[WEIGHTS] = {"dense/kernel", "dense/bias"};

static cornu_model *model_with(const char *optimizer)
{
    char yaml[512];
    snprintf(yaml, sizeof yaml,
             "model: {input: [4], layers: [{Dense: {units: 3, activation: tanh}}]}\n"
             "compile: {optimizer: %s, loss: mean_squared_error}",
             optimizer);
    return net_model(yaml);
}

static void copy(double *to, float *from, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = (double)from[i];
    free(from);
}

/* Train; the gradients come from a second plan that keeps them, with the same weights. */
static void train(const char *optimizer, const char *device_name, record *r)
{
    cornu_model *model = model_with(optimizer);
    plan_options train = {.mode = PLAN_TRAIN, .batch = 5}, keep = train;
    keep.scope = SCOPE_GRADIENTS;
    net *trained = net_open(model, device_name, &train),
        *kept = net_open(model, "reference", &keep);
    for (int w = 0; w < WEIGHTS; w++) {
        r->count[w] = model->variables[w].count;
        copy(r->before[w], net_read_variable(trained, names[w]), r->count[w]);
    }
    for (int s = 0; s < STEPS; s++) {
        for (int w = 0; w < WEIGHTS; w++) {
            float *values = net_read_variable(trained, names[w]);
            net_write_variable(kept, w, values);
            free(values);
        }
        net_run(kept);
        for (int w = 0; w < WEIGHTS; w++)
            copy(r->gradient[s][w], net_read(kept, kept->plan->gradients[w]), r->count[w]);
        trained->input.iteration = s;
        trained->input.learning_rate = 0.1f;
        net_run(trained);
    }
    for (int w = 0; w < WEIGHTS; w++)
        copy(r->after[w], net_read_variable(trained, names[w]), r->count[w]);
    net_close(trained);
    net_close(kept);
    cornu_model_close(model);
}

/* The state of one element under the rule being tested. */
typedef struct element {
    double w, a, b, c;
} element;
typedef void rule(element *e, double g, int step);

/* Run `apply` over the recorded gradients, each times scale[step][weight], and compare. */
static void expect(const record *r, double scale[STEPS][WEIGHTS], rule *apply, const char *what)
{
    for (int w = 0; w < WEIGHTS; w++) {
        for (int64_t i = 0; i < r->count[w]; i++) {
            element e = {.w = r->before[w][i]};
            for (int s = 0; s < STEPS; s++)
                apply(&e, r->gradient[s][w][i] * (scale ? scale[s][w] : 1), s);
            if (!(fabs(e.w - r->after[w][i]) < 3e-6))
                fail_msg("%s: %s[%d] is %.8g, expected %.8g", what, names[w], (int)i,
                         r->after[w][i], e.w);
        }
    }
}

static void sgd(element *e, double g, int step)
{
    (void)step;
    e->w -= 0.1 * g;
}

static void momentum(element *e, double g, int step)
{
    (void)step;
    e->a = 0.9 * e->a - 0.1 * g;
    e->w += e->a;
}

static void nesterov(element *e, double g, int step)
{
    (void)step;
    e->a = 0.9 * e->a - 0.1 * g;
    e->w += 0.9 * e->a - 0.1 * g;
}

static void adam_moments(element *e, double g)
{
    e->a += (g - e->a) * 0.2;
    e->b += (g * g - e->b) * 0.1;
}

static double adam_rate(int step)
{
    return 0.1 * sqrt(1 - pow(0.9, step + 1)) / (1 - pow(0.8, step + 1));
}

static void adam(element *e, double g, int step)
{
    adam_moments(e, g);
    e->w -= e->a * adam_rate(step) / (sqrt(e->b) + 1e-3);
}

static void amsgrad(element *e, double g, int step)
{
    adam_moments(e, g);
    e->c = fmax(e->c, e->b);
    e->w -= e->a * adam_rate(step) / (sqrt(e->c) + 1e-3);
}

static void adamw(element *e, double g, int step)
{
    e->w -= e->w * 0.3 * 0.1;
    adam(e, g, step);
}

static void rmsprop(element *e, double g, int step)
{
    (void)step;
    e->a = 0.8 * e->a + 0.2 * g * g;
    e->w -= 0.1 * g / sqrt(e->a + 1e-3);
}

static void rmsprop_centered(element *e, double g, int step)
{
    (void)step;
    e->a = 0.8 * e->a + 0.2 * g * g;
    e->b = 0.8 * e->b + 0.2 * g;
    e->c = 0.5 * e->c + 0.1 * g / sqrt(e->a - e->b * e->b + 1e-3);
    e->w -= e->c;
}

static void adagrad(element *e, double g, int step)
{
    e->a = (step == 0 ? 0.2 : e->a) + g * g;
    e->w -= 0.1 * g / sqrt(e->a + 1e-3);
}

static void adadelta(element *e, double g, int step)
{
    (void)step;
    e->a = 0.8 * e->a + 0.2 * g * g;
    double d = g * sqrt(e->b + 1e-3) / sqrt(e->a + 1e-3);
    e->b = 0.8 * e->b + 0.2 * d * d;
    e->w -= 0.1 * d;
}

static void adamax(element *e, double g, int step)
{
    e->a += (g - e->a) * 0.2;
    e->b = fmax(0.9 * e->b, fabs(g));
    e->w -= 0.1 * e->a / ((1 - pow(0.8, step + 1)) * (e->b + 1e-3));
}

static double nadam_momentum(int t)
{
    return 0.8 * (1 - 0.5 * pow(0.96, t));
}

static void nadam(element *e, double g, int step)
{
    double product = 1, now = nadam_momentum(step + 1), next = nadam_momentum(step + 2);
    for (int t = 1; t <= step + 1; t++)
        product *= nadam_momentum(t);
    adam_moments(e, g);
    double m = next * e->a / (1 - product * next) + (1 - now) * g / (1 - product);
    e->w -= 0.1 * m / (sqrt(e->b / (1 - pow(0.9, step + 1))) + 1e-3);
}

static void lion(element *e, double g, int step)
{
    (void)step;
    double x = 0.8 * e->a + 0.2 * g;
    e->w -= 0.1 * ((x > 0) - (x < 0));
    e->a = 0.9 * e->a + 0.1 * g;
}

static void schedule_free(element *e, double g, int step)
{
    if (step == 0)
        e->a = e->w;
    e->b += (g * g - e->b) * 0.1;
    e->a -= 0.1 * g / (sqrt(e->b / (1 - pow(0.9, step + 1))) + 1e-3);
    double x = (e->w - 0.2 * e->a) / 0.8;
    x += (e->a - x) / (step + 1);
    e->w = 0.2 * e->a + 0.8 * x;
}

static void ftrl_by(element *e, double g, int step, double power, double l1, double l2,
                    double shrinkage)
{
    double before = step == 0 ? 0.2 : e->a, sum = before + g * g;
    e->b += g + 2 * shrinkage * e->w - (pow(sum, power) - pow(before, power)) / 0.1 * e->w;
    e->a = sum;
    e->w = (fmin(fmax(e->b, -l1), l1) - e->b) / (pow(sum, power) / 0.1 + 2 * l2);
}

static void ftrl(element *e, double g, int step)
{
    ftrl_by(e, g, step, 0.5, 0.01, 0.3 + 0.5 / 0.2, 0.04);
}

static void ftrl_power(element *e, double g, int step)
{
    ftrl_by(e, g, step, 0.3, 0, 0, 0);
}

#define ADAM_NUMBERS "beta_1: 0.8, beta_2: 0.9, epsilon: 0.001"

static const struct {
    const char *optimizer;
    rule *apply;
} rows[] = {
    {"sgd", sgd},
    {"{class_name: SGD, config: {momentum: 0.9}}", momentum},
    {"{class_name: SGD, config: {momentum: 0.9, nesterov: true}}", nesterov},
    {"{class_name: Adam, config: {" ADAM_NUMBERS "}}", adam},
    {"{class_name: Adam, config: {" ADAM_NUMBERS ", amsgrad: true}}", amsgrad},
    {"{class_name: AdamW, config: {" ADAM_NUMBERS ", weight_decay: 0.3}}", adamw},
    {"{class_name: RMSprop, config: {rho: 0.8, epsilon: 0.001}}", rmsprop},
    {"{class_name: RMSprop, config: {rho: 0.8, epsilon: 0.001, momentum: 0.5, centered: true}}",
     rmsprop_centered},
    {"{class_name: Adagrad, config: {initial_accumulator_value: 0.2, epsilon: 0.001}}", adagrad},
    {"{class_name: Adadelta, config: {rho: 0.8, epsilon: 0.001}}", adadelta},
    {"{class_name: Adamax, config: {" ADAM_NUMBERS "}}", adamax},
    {"{class_name: Nadam, config: {" ADAM_NUMBERS "}}", nadam},
    {"{class_name: Lion, config: {beta_1: 0.8, beta_2: 0.9}}", lion},
    {"{class_name: Ftrl, config: {initial_accumulator_value: 0.2, beta: 0.5, "
     "l1_regularization_strength: 0.01, l2_regularization_strength: 0.3, "
     "l2_shrinkage_regularization_strength: 0.04}}",
     ftrl},
    {"{class_name: ScheduleFreeAdamW, config: {" ADAM_NUMBERS "}}", schedule_free},
    {"{ftrl: {learning_rate_power: -0.3, initial_accumulator_value: 0.2}}", ftrl_power},
};

static void every_optimizer_follows_its_formula(void **state)
{
    (void)state;
    record *r = calloc(1, sizeof *r);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int d = 0; net_device(d); d++) {
            train(rows[i].optimizer, net_device(d), r);
            expect(r, NULL, rows[i].apply, rows[i].optimizer);
        }
    }
    free(r);
}

static double norm(const record *r, int step, int weight)
{
    double sum = 0;
    for (int64_t i = 0; i < r->count[weight]; i++)
        sum += r->gradient[step][weight][i] * r->gradient[step][weight][i];
    return sqrt(sum);
}

static void clipnorm_shortens_each_variables_gradient(void **state)
{
    (void)state;
    record *r = calloc(1, sizeof *r);
    for (int d = 0; net_device(d); d++) {
        double scale[STEPS][WEIGHTS];
        train("{class_name: SGD, config: {clipnorm: 0.15}}", net_device(d), r);
        bool clipped = false;
        for (int s = 0; s < STEPS; s++)
            for (int w = 0; w < WEIGHTS; w++) {
                scale[s][w] = 0.15 / fmax(norm(r, s, w), 0.15);
                clipped |= scale[s][w] < 0.9;
            }
        assert_true(clipped);
        expect(r, scale, sgd, "clipnorm");
    }
    free(r);
}

static void global_clipnorm_shortens_all_gradients_together(void **state)
{
    (void)state;
    record *r = calloc(1, sizeof *r);
    for (int d = 0; net_device(d); d++) {
        double scale[STEPS][WEIGHTS];
        train("{class_name: SGD, config: {momentum: 0.9, global_clipnorm: 0.1}}", net_device(d), r);
        for (int s = 0; s < STEPS; s++) {
            double all = hypot(norm(r, s, 0), norm(r, s, 1));
            assert_true(all > 0.12);
            scale[s][0] = scale[s][1] = 0.1 / all;
        }
        expect(r, scale, momentum, "global_clipnorm");
    }
    free(r);
}

static void sgd_cut(element *e, double g, int step)
{
    sgd(e, fmin(fmax(g, -0.05), 0.05), step);
}

static void clipvalue_cuts_each_element(void **state)
{
    (void)state;
    record *r = calloc(1, sizeof *r);
    for (int d = 0; net_device(d); d++) {
        train("{class_name: SGD, config: {clipvalue: 0.05}}", net_device(d), r);
        expect(r, NULL, sgd_cut, "clipvalue");
    }
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_optimizer_follows_its_formula),
        cmocka_unit_test(clipnorm_shortens_each_variables_gradient),
        cmocka_unit_test(global_clipnorm_shortens_all_gradients_together),
        cmocka_unit_test(clipvalue_cuts_each_element),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
