#include "bench/tune_pair.h"
#include "base/memory.h"
#include "base/statistics.h"
#include <stdlib.h>

cornu_status tune_side_open(tune_side *s, const char *workload, const char *on, const char *tuning)
{
    session_options open = {.device = on, .tuning = tuning};
    TRY(cornu_model_open(workload, &s->model));
    int64_t batch = s->model->batch > 0 ? s->model->batch : 32;
    s->model->training.position.seed = 1;
    TRY(session_open(s->model, &open, &s->session));
    TRY(session_plan_for(s->session, PLAN_TRAIN, batch, false, &s->plan));
    TRY(generated_batch_open(s->model, batch, &s->batch));
    return memory_new((size_t)s->plan->plan->op_count * TUNE_ROUNDS_MOST, sizeof *s->seconds,
                      "times", &s->seconds);
}

void tune_side_close(tune_side *s)
{
    session_close(s->session);
    generated_batch_close(&s->batch);
    cornu_model_close(s->model);
    free(s->seconds);
    *s = (tune_side){0};
}

/* One step; *sum: of what counts. */
static cornu_status run_round(tune_side *s, int round, double *sum)
{
    device *d = session_device(s->session);
    const plan *p = s->plan->plan;
    step_input input = generated_batch_input(s->model, &s->batch);
    double *seconds = s->seconds + (size_t)round * (size_t)p->op_count;
    input.iteration = round;
    TRY(d->ops->time_operations(d, s->plan->prepared, &input, seconds));
    *sum = 0;
    for (int i = 0; i < p->op_count; i++)
        *sum += tune_counts(p->ops[i].kind) ? seconds[i] : 0;
    return CORNU_OK;
}

/* The side that begins changes with every round; the first round, which finds cold caches, is
   measured again. */
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
