/* Random networks that branch: each device's predictions and one step of training are the
   reference's. CORNU_TEST_GRAPHS: how many; CORNU_TEST_SEED: the first one's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/philox.h"
#include "support/net.h"
#include "support/random_net.h"
#include "support/runs.h"
#include "support/sanitized.h"
#include <cornu/cornu.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GRAPHS = 200, BATCH = 3, MOVES = 4 };

/* The results of a device may be those of the reference for inputs so many roundings apart. */
static const double ROUNDINGS = 8;

typedef struct array {
    float *values;
    int64_t count;
    double moved; /* see measure_moves */
} array;

/* What a plan gave on one device: the output (PLAN_PREDICT), or all weights. */
typedef struct outcome {
    array *arrays;
    int count;
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

static outcome read_outcome(net *n)
{
    const cornu_model *m = n->model;
    const bool predicts = n->plan->target == NO_TENSOR;
    const tensor_ref output = n->plan->output;
    outcome out = {.count = predicts ? 1 : m->weight_count, .tolerance = tolerance_of(n->plan)};
    out.arrays = calloc((size_t)out.count + 1, sizeof *out.arrays);
    assert_non_null(out.arrays);
    for (int i = 0; i < out.count; i++)
        out.arrays[i] = predicts ? (array){net_read(n, output), n->plan->tensors[output].count, 0}
                                 : (array){net_read_variable(n, m->variables[i].name),
                                           m->variables[i].count, 0};
    return out;
}

/* Changes each value by at most the distance to the next float. */
static void change_by_roundings(float *values, int64_t count, random_stream *r)
{
    for (int64_t i = 0; i < count; i++)
        values[i] += values[i] * (2 * random_uniform(r) - 1) * FLT_EPSILON;
}

/* changes: 0, or the seed of roundings by which samples and weights change. */
static outcome run(cornu_model *m, const char *device, const plan_options *o, uint64_t seed,
                   uint64_t changes)
{
    net *n = net_open(m, device, o);
    net_fill(n->x, n->x_count, seed);
    n->input.learning_rate = 1; /* the change is the gradient */
    if (changes) {
        random_stream r = random_open(changes, RANDOM_GENERATE, 3);
        change_by_roundings(n->x, n->x_count, &r);
        for (int i = 0; i < m->weight_count; i++) {
            float *values = net_read_variable(n, m->variables[i].name);
            change_by_roundings(values, m->variables[i].count, &r);
            net_write_variable(n, i, values);
            free(values);
        }
    }
    net_run(n);
    outcome out = read_outcome(n);
    net_close(n);
    return out;
}

static void close_outcome(outcome *o)
{
    for (int i = 0; i < o->count; i++)
        free(o->arrays[i].values);
    free(o->arrays);
}

static double most_apart(const float *a, const float *b, int64_t count)
{
    double most = 0;
    for (int64_t i = 0; i < count; i++) {
        const double difference = fabs((double)a[i] - (b ? (double)b[i] : 0));
        most = difference > most || isnan(difference) ? difference : most;
    }
    return most;
}

static double largest(const float *a, int64_t count)
{
    return most_apart(a, NULL, count);
}

/* How far each of the reference's results moves when samples and weights change by roundings. What
   is left of large numbers that cancel moves far, as does a vector of length 1 along it: no device
   computes these digits, the reference neither. */
static void measure_moves(cornu_model *m, const plan_options *o, uint64_t seed, outcome *a)
{
    for (uint64_t changes = 1; changes <= MOVES; changes++) {
        outcome b = run(m, "reference", o, seed, changes);
        for (int i = 0; i < a->count; i++) {
            array *of = &a->arrays[i];
            of->moved = fmax(of->moved, most_apart(of->values, b.arrays[i].values, of->count));
        }
        close_outcome(&b);
    }
}

/* A gradient may be a sum of large numbers that is small: it is compared with the largest gradient
   of all, and with a rounding of the weight. */
static double scale_of(const cornu_model *m, const outcome *a, const plan_options *o, int i)
{
    double scale = 0;
    if (o->mode == PLAN_PREDICT)
        return fmax(largest(a->arrays[i].values, a->arrays[i].count), 0.1);
    for (int k = 0; k < m->weight_count; k++)
        if (!m->variables[k].statistic)
            scale = fmax(scale, most_apart(a->arrays[k].values, m->variables[k].value,
                                           m->variables[k].count));
    return fmax(scale, largest(a->arrays[i].values, a->arrays[i].count) / 10);
}

/* How far the device's results are apart from the reference's, in units of what is allowed;
   `moves`: where these move, more is. */
static double compare_plan(cornu_model *m, const char *device, const plan_options *o, uint64_t seed,
                           bool moves, const char **which)
{
    double worst = 0;
    outcome a = run(m, "reference", o, seed, 0), b = run(m, device, o, seed, 0);
    if (moves)
        measure_moves(m, o, seed, &a);
    for (int i = 0; i < a.count; i++) {
        const array *of = &a.arrays[i];
        const double found = most_apart(b.arrays[i].values, of->values, of->count),
                     allowed = a.tolerance * scale_of(m, &a, o, i) + ROUNDINGS * of->moved;
        if (found > worst * allowed || isnan(found)) {
            worst = found / allowed;
            *which = o->mode == PLAN_PREDICT ? "output" : m->variables[i].name;
        }
    }
    close_outcome(&a);
    close_outcome(&b);
    return worst;
}

/* Of one graph's prediction and step, for these samples. */
static double compare(cornu_model *m, const char *device, uint64_t seed, bool moves,
                      const char **which)
{
    const plan_options predict = {.mode = PLAN_PREDICT, .batch = BATCH},
                       train = {.mode = PLAN_TRAIN, .batch = BATCH};
    const double worst = compare_plan(m, device, &predict, seed, moves, which);
    return worst <= 1 ? compare_plan(m, device, &train, seed, moves, which) : worst;
}

/* A rounding may decide on which side of 0 a relu's input is, or which of two elements is a pool's
   largest: then other samples agree. *moved counts graphs that agree only as far as the reference's
   results move. */
static bool agrees(cornu_model *m, const char *device, uint64_t seed, int *moved)
{
    const char *which;
    double worst = compare(m, device, seed, false, &which);
    for (uint64_t other = 1; other < 3 && !(worst <= 1); other++)
        worst = compare(m, device, seed + 1000 * other, false, &which);
    if (worst <= 1)
        return true;
    ++*moved;
    worst = compare(m, device, seed, true, &which);
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
    int wrong = 0, moved = 0, branching = 0, layers = 0;
    for (int index = 0; net_device(index); index++)
        for (int i = 0; i < count && strcmp(net_device(index), "reference") != 0; i++) {
            const uint64_t seed = random_net_first() + (uint64_t)i;
            cornu_model *m = random_net(seed);
            branching += model_branches(m);
            layers += m->layer_count;
            wrong += !agrees(m, net_device(index), seed, &moved);
            cornu_model_close(m);
        }
    print_message("%d graphs, %d branch, %d layers each; %d as far apart as roundings move them\n",
                  count, branching, layers / (count + 1), moved);
    assert_int_equal(wrong, 0);
    assert_in_range(moved, 0, 1 + count / 1000);
}

/* How far roundings move a step's results, in units of what is allowed without. */
static double moves_of(cornu_model *m)
{
    const plan_options train = {.mode = PLAN_TRAIN, .batch = BATCH};
    double most = 0;
    outcome a = run(m, "reference", &train, 1, 0);
    measure_moves(m, &train, 1, &a);
    for (int i = 0; i < a.count; i++)
        most =
            fmax(most, ROUNDINGS * a.arrays[i].moved / (a.tolerance * scale_of(m, &a, &train, i)));
    close_outcome(&a);
    return most;
}

/* A vector of length 1 times itself is 1; less its mean over the batch nothing is left but
   roundings, which the last Dot makes as long as 1 again. */
static void roundings_move_what_cancels_and_nothing_else(void **state)
{
    (void)state;
    cornu_model *m = net_model(
        "model: {input: [5], layers: [{Dense: {units: 6, activation: elu, name: a}}, "
        "{Dot: {axes: 1, normalize: true, inputs: [a, a]}}, {Dense: {units: 1}}, "
        "{BatchNormalization: {name: b}}, {Reshape: {target_shape: [6, 1], inputs: a, name: r}}, "
        "{Dot: {axes: [1, 2], inputs: [b, r], name: c}}, "
        "{Dot: {axes: 1, normalize: true, inputs: [a, c]}}, {Dense: {units: 3}}]}\n"
        "compile: {optimizer: sgd, loss: mean_squared_error}\n");
    double moves = moves_of(m);
    cornu_model_close(m);
    if (moves < 10)
        fail_msg("roundings move what cancels %g times; expected 10 or more", moves);
    for (uint64_t seed = 1; seed <= 10; seed++) {
        m = random_net(seed);
        moves = moves_of(m);
        cornu_model_close(m);
        if (moves > 0.5)
            fail_msg("seed %d: roundings move results %g times; expected at most 0.5", (int)seed,
                     moves);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs_compute_what_the_reference_does),
        cmocka_unit_test(roundings_move_what_cancels_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
