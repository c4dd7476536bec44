/* Random networks that branch: each device's predictions and one step of training are the
   reference's. CORNU_TEST_GRAPHS: how many; CORNU_TEST_SEED: the first one's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/net.h"
#include "support/random_net.h"
#include "support/runs.h"
#include "support/sanitized.h"
#include <cornu/cornu.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GRAPHS = 200, BATCH = 3 };

/* What a plan gave on one device: the output, then the weights. */
typedef struct outcome {
    float *output;
    int64_t outputs;
    float **weights; /* NULL: a prediction */
    double tolerance;
} outcome;

/* Differences of a network's operations add up. */
static double tolerance_of(const plan *p)
{
    double sum = 1e-6;
    for (int i = 0; i < p->op_count; i++)
        sum += op_infos[p->ops[i].kind].tolerance;
    return sum;
}

static void run(cornu_model *m, const char *device, const plan_options *o, uint64_t seed,
                outcome *out)
{
    net *n = net_open(m, device, o);
    net_fill(n->x, n->x_count, seed);
    n->input.learning_rate = 1; /* the change is the gradient */
    net_run(n);
    *out = (outcome){.tolerance = tolerance_of(n->plan)};
    if (o->mode == PLAN_PREDICT) {
        out->outputs = n->plan->tensors[n->plan->output].count;
        out->output = net_read(n, n->plan->output);
    } else {
        out->weights = calloc((size_t)m->weight_count + 1, sizeof *out->weights);
        assert_non_null(out->weights);
        for (int i = 0; i < m->weight_count; i++)
            out->weights[i] = net_read_variable(n, m->variables[i].name);
    }
    net_close(n);
}

static void close_outcome(const cornu_model *m, outcome *o)
{
    for (int i = 0; o->weights && i < m->weight_count; i++)
        free(o->weights[i]);
    free(o->weights);
    free(o->output);
}

/* The largest difference of numbers whose largest is `scale`, in units of what is allowed. */
static double apart(const float *a, const float *b, int64_t count, double scale, double tolerance)
{
    double most = 0;
    for (int64_t i = 0; i < count; i++) {
        const double difference = fabs((double)a[i] - (double)b[i]);
        most = difference > most || isnan(difference) ? difference : most;
    }
    return most / (tolerance * scale);
}

static double largest(const float *a, const float *b, int64_t count)
{
    double most = 0;
    for (int64_t i = 0; i < count; i++)
        most = fmax(most, fabs((double)a[i] - (b ? (double)b[i] : 0)));
    return most;
}

/* A gradient may be a sum of large numbers that is small: it is compared with the largest gradient
   of all, and with a rounding of the weight. */
static double weights_apart(const cornu_model *m, const outcome *a, const outcome *b,
                            const char **which)
{
    double scale = 0, worst = 0;
    for (int i = 0; i < m->weight_count; i++)
        if (!m->variables[i].statistic)
            scale =
                fmax(scale, largest(a->weights[i], m->variables[i].value, m->variables[i].count));
    for (int i = 0; i < m->weight_count; i++) {
        const variable *v = &m->variables[i];
        const double own = fmax(scale, largest(a->weights[i], NULL, v->count) / 10);
        const double found = apart(b->weights[i], a->weights[i], v->count, own, a->tolerance);
        if (found > worst || isnan(found)) {
            worst = found;
            *which = v->name;
        }
    }
    return worst;
}

/* How far one graph is apart for these samples, in units of what is allowed. */
static double compare(cornu_model *m, const char *device, uint64_t seed, const char **which)
{
    double worst;
    outcome a, b;
    plan_options predict = {.mode = PLAN_PREDICT, .batch = BATCH};
    plan_options train = {.mode = PLAN_TRAIN, .batch = BATCH};
    *which = "output";
    run(m, "reference", &predict, seed, &a);
    run(m, device, &predict, seed, &b);
    worst = apart(b.output, a.output, a.outputs, fmax(largest(a.output, NULL, a.outputs), 0.1),
                  a.tolerance);
    close_outcome(m, &a);
    close_outcome(m, &b);
    if (!(worst <= 1))
        return worst;
    run(m, "reference", &train, seed, &a);
    run(m, device, &train, seed, &b);
    worst = weights_apart(m, &a, &b, which);
    close_outcome(m, &a);
    close_outcome(m, &b);
    return worst;
}

/* A rounding may decide on which side of 0 a relu's input is, or which of two elements is a pool's
   largest: then other samples agree. */
static bool agrees(cornu_model *m, const char *device, uint64_t seed)
{
    const char *which;
    double worst = compare(m, device, seed, &which);
    for (uint64_t other = 1; other < 3 && !(worst <= 1); other++)
        worst = compare(m, device, seed + 1000 * other, &which);
    if (worst <= 1)
        return true;
    char *shown = random_net_show(m);
    fprintf(stderr, "seed %llu on %s: %s: %.3g times what is allowed apart: %s\n",
            (unsigned long long)seed, device, which, worst, shown); /* print_error cuts it off */
    free(shown);
    return false;
}

static void random_graphs_compute_what_the_reference_does(void **state)
{
    (void)state;
    const int count = random_net_count(SANITIZED ? GRAPHS / 10 : GRAPHS);
    int wrong = 0, branching = 0, layers = 0;
    for (int index = 0; net_device(index); index++)
        for (int i = 0; i < count && strcmp(net_device(index), "reference") != 0; i++) {
            const uint64_t seed = random_net_first() + (uint64_t)i;
            cornu_model *m = random_net(seed);
            branching += model_branches(m);
            layers += m->layer_count;
            wrong += !agrees(m, net_device(index), seed);
            cornu_model_close(m);
        }
    print_message("%d graphs, %d branch, %d layers each\n", count, branching, layers / (count + 1));
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs_compute_what_the_reference_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
