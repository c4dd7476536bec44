#include "train/op_times.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/statistics.h"
#include "train/session.h"
#include <cornu/data.h>
#include <math.h>
#include <stdlib.h>

static bool is_enough(const op_times_options *o, double spent, int rows)
{
    return rows > 0 && (spent > 5 * o->seconds || (rows >= o->repeats_least && spent > o->seconds));
}

/* Times of all operations, `rows` runs: row[run][operation]. */
static cornu_status repeat(session *s, const session_plan *ready, const step_input *first,
                           const op_times_options *o, double *row, int *rows)
{
    device *d = session_device(s);
    size_t count = (size_t)ready->plan->op_count;
    step_input input = *first;
    double begin = clock_seconds();
    /* The first run has cold caches and is left out, unless there is no time for another. */
    TRY(d->ops->time_operations(d, ready->prepared, &input, row));
    *rows = clock_seconds() - begin > 2 * o->seconds;
    begin = clock_seconds();
    while (*rows < OP_TIMES_REPEATS && !is_enough(o, clock_seconds() - begin, *rows)) {
        if (o->should_stop && o->should_stop(o->user))
            return status_fail(CORNU_STOPPED, "explain: stopped");
        if (o->between)
            o->between(o->user);
        input.iteration++;
        TRY(d->ops->time_operations(d, ready->prepared, &input, row + (size_t)*rows * count));
        (*rows)++;
    }
    return CORNU_OK;
}

/* Medians of row[run][operation] over the runs. */
static void take_medians(const double *row, int rows, int count, double *seconds)
{
    double column[OP_TIMES_REPEATS];
    for (int i = 0; i < count; i++) {
        for (int r = 0; r < rows; r++)
            column[r] = row[(size_t)r * (size_t)count + (size_t)i];
        seconds[i] = statistics_of(column, rows).median;
    }
}

/* An accelerator's time of an operation includes its launches, which empty kernels also need. */
static cornu_status subtract_gaps(session *s, const session_plan *ready, double *seconds,
                                  double *sum)
{
    device *d = session_device(s);
    int count = ready->plan->op_count;
    double *gaps = NULL;
    *sum = 0;
    if (!d->ops->launch_gaps)
        return CORNU_OK;
    TRY(memory_new((size_t)count + 1, sizeof *gaps, "times", &gaps));
    cornu_status status = d->ops->launch_gaps(d, ready->prepared, gaps);
    for (int i = 0; status == CORNU_OK && i < count; i++) {
        double gap = fmin(gaps[i], seconds[i]);
        seconds[i] -= gap;
        *sum += gap;
    }
    free(gaps);
    return status;
}

cornu_status op_times_measure(session *s, const session_plan *ready, const step_input *input,
                              const op_times_options *options, double *seconds, double *gaps)
{
    double *row;
    int count = ready->plan->op_count, rows = 0;
    TRY(memory_new((size_t)count * OP_TIMES_REPEATS + 1, sizeof *row, "times", &row));
    cornu_status status = repeat(s, ready, input, options, row, &rows);
    if (status == CORNU_OK)
        take_medians(row, rows, count, seconds);
    free(row);
    return status == CORNU_OK ? subtract_gaps(s, ready, seconds, gaps) : status;
}

/* ---- of a run ---------------------------------------------------------------------------- */

bool op_profile_wants(const op_profile *p, const session *s, const session_plan *ready)
{
    if (!p || p->steps == OP_TIMES_REPEATS || (p->ready && p->ready != ready))
        return false;
    int64_t step = session_model(s)->training.position.iterations;
    return p->first <= step && step <= p->last;
}

cornu_status op_profile_step(op_profile *p, session *s, session_plan *ready,
                             const sample_block *samples, const int64_t *index)
{
    size_t count = (size_t)ready->plan->op_count;
    if (!p->seconds)
        TRY(memory_new(count * OP_TIMES_REPEATS + 1, sizeof *p->seconds, "times", &p->seconds));
    p->ready = ready;
    p->at = session_model(s)->training.position.iterations;
    TRY(session_time_step(s, ready, samples, index, p->seconds + (size_t)p->steps * count));
    p->steps++;
    return CORNU_OK;
}

cornu_status op_profile_times(const op_profile *p, session *s, double *seconds)
{
    double gaps;
    take_medians(p->seconds, p->steps, p->ready->plan->op_count, seconds);
    return subtract_gaps(s, p->ready, seconds, &gaps);
}

void op_profile_free(op_profile *p)
{
    free(p->seconds);
    *p = (op_profile){0};
}

/* ---- generated samples ------------------------------------------------------------------- */

cornu_status generated_batch_open(const cornu_model *model, int64_t batch, generated_batch *out)
{
    *out = (generated_batch){0};
    TRY(data_generate_for_model(model, batch, 1, &out->data));
    TRY(data_check_samples(model, &out->data->block[CORNU_TRAIN], "generated data"));
    TRY(data_samples_for(out->data, CORNU_TRAIN, model, &out->samples));
    TRY(memory_new((size_t)batch, sizeof *out->index, "order of samples", &out->index));
    for (int64_t i = 0; i < batch; i++)
        out->index[i] = i;
    return CORNU_OK;
}

void generated_batch_close(generated_batch *b)
{
    free(b->index);
    cornu_data_close(b->data);
    *b = (generated_batch){0};
}

step_input generated_batch_input(const cornu_model *model, const generated_batch *b)
{
    return (step_input){.samples = &b->samples,
                        .index = b->index,
                        .seed = model->training.position.seed,
                        .learning_rate = (float)session_learning_rate(model)};
}
