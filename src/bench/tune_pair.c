#include "bench/tune_pair.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/statistics.h"
#include <stdlib.h>

enum { STEPS_MOST = 50 }; /* of a side in a round */
static const double ROUND_SECONDS = 0.1;

cornu_status tune_side_open(tune_side *s, const char *workload, const char *on, const char *tuning)
{
    session_options open = {.device = on, .tuning = tuning};
    TRY(cornu_model_open(workload, &s->model));
    int64_t batch = s->model->batch > 0 ? s->model->batch : 32;
    s->model->training.position.seed = 1;
    TRY(session_open(s->model, &open, &s->session));
    TRY(session_plan_for(s->session, PLAN_TRAIN, batch, false, &s->plan));
    TRY(generated_batch_open(s->model, batch, &s->batch));
    size_t count = (size_t)s->plan->plan->op_count;
    return memory_new(count * TUNE_ROUNDS_MOST, sizeof *s->seconds, "times", &s->seconds);
}

void tune_side_close(tune_side *s)
{
    session_close(s->session);
    generated_batch_close(&s->batch);
    cornu_model_close(s->model);
    free(s->seconds);
    *s = (tune_side){0};
}

/* The learning rate is 0: training on one batch again and again would drive gradients to denormals,
   with which some CPUs are slow. */
static step_input input_of(const tune_side *s, int round)
{
    step_input input = generated_batch_input(s->model, &s->batch);
    input.iteration = round;
    input.learning_rate = 0;
    return input;
}

/* Steps as in training, by the wall clock, which is the figure that counts. Returns seconds per
   step; the first step, which finds the other side's data in the caches, does not count. */
static cornu_status run_steps(tune_side *s, int round, double *seconds)
{
    device *d = session_device(s->session);
    const step_input input = input_of(s, round);
    int steps = 0;
    TRY(d->ops->run(d, s->plan->prepared, &input, 1));
    TRY(d->ops->synchronize(d));
    double begin = clock_seconds();
    while (steps < 1 || (steps < STEPS_MOST && clock_seconds() - begin < ROUND_SECONDS)) {
        TRY(d->ops->run(d, s->plan->prepared, &input, 1));
        TRY(d->ops->synchronize(d));
        steps++;
    }
    *seconds = (clock_seconds() - begin) / steps;
    return CORNU_OK;
}

/* Also time each operation separately, for the table. */
static cornu_status run_round(tune_side *s, int round, double *seconds)
{
    device *d = session_device(s->session);
    const step_input input = input_of(s, round);
    const size_t count = (size_t)s->plan->plan->op_count;
    TRY(run_steps(s, round, seconds));
    return d->ops->time_operations(d, s->plan->prepared, &input,
                                   s->seconds + (size_t)round * count);
}

/* The sides take turns to begin a round; the first round, which finds cold caches, is measured
   again. */
cornu_status tune_pair_run(tune_pair *p, const tune_options *options, int rounds, int *failed)
{
    double ratios[TUNE_ROUNDS_MOST];
    p->rounds = rounds;
    for (int r = -1; r < rounds; r++) {
        double sums[2];
        if (options->should_stop && options->should_stop(options->user))
            return status_fail(CORNU_STOPPED, "tune: stopped; nothing is kept");
        for (int k = 0; k < 2; k++) {
            *failed = k ^ (r & 1);
            TRY(run_round(&p->side[*failed], r < 0 ? 0 : r, &sums[*failed]));
        }
        if (r >= 0)
            ratios[r] = sums[0] > 0 ? sums[1] / sums[0] : 1;
    }
    p->ratio = statistics_of(ratios, rounds).median;
    return CORNU_OK;
}

double tune_pair_median(const tune_pair *p, int side, int i)
{
    const tune_side *s = &p->side[side];
    double values[TUNE_ROUNDS_MOST];
    for (int r = 0; r < p->rounds; r++)
        values[r] = s->seconds[(size_t)r * (size_t)s->plan->plan->op_count + (size_t)i];
    return statistics_of(values, p->rounds).median;
}
