/* FACTORED_UPDATE: passes over the rows of a weight [outer][rows][columns]. The gradient is
   clipped, and the weight decays, anew in each pass: only the last one writes the weight. */
#include "device/cpu/elementwise/weight_passes.h"

#include "device/rules/factored.h"

enum { STRIP = 64 };

typedef struct factored_run {
    weight_passes p;
    float *r, *column, *v;
    int64_t rows, columns; /* a vector is one row */
    int64_t all_rows, task_rows, strips;
    bool vector;
    float epsilon_1, rate; /* rate: of all directions */
    float *mean;           /* [outer]: of r */
    double (*partials)[2];
} factored_run;

static void row_range(const factored_run *f, int64_t task, int64_t *begin, int64_t *end)
{
    cpu_task_range(f->all_rows, f->task_rows, task, begin, end);
}

/* The means over the columns, and the sum of the weights' squares. */
static void rows_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const factored_run *f = context;
    int64_t begin, end;
    double weights = 0;
    row_range(f, task, &begin, &end);
    for (int64_t row = begin; row < end; row++) {
        double squares = 0;
        for (int64_t k = 0, count; k < f->columns; k += count) {
            count = f->columns - k;
            const int64_t at = weight_place(&f->p, row * f->columns + k, &count);
            for (int64_t i = at; i < at + count; i++) {
                float w;
                const float g = weight_gradient(&f->p, i, &w);
                squares += (double)rule_factored_square(g, f->epsilon_1);
                weights += (double)w * (double)w;
            }
        }
        if (!f->vector)
            f->r[row] = rule_factored_mean(f->p.c.factors.gradient_alpha, f->r[row],
                                           (float)(squares / (double)f->columns));
    }
    f->partials[task][0] = weights;
}

/* The means over the rows of STRIP columns. */
static void columns_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const factored_run *f = context;
    const int64_t first = task % f->strips * STRIP, outer = task / f->strips;
    const int64_t width = cpu_least(STRIP, f->columns - first);
    double squares[STRIP] = {0};
    for (int64_t row = outer * f->rows; row < (outer + 1) * f->rows; row++)
        for (int64_t k = 0, count; k < width; k += count) {
            count = width - k;
            const int64_t at = weight_place(&f->p, row * f->columns + first + k, &count);
            for (int64_t i = 0; i < count; i++) {
                float w;
                const float g = weight_gradient(&f->p, at + i, &w);
                squares[k + i] += (double)rule_factored_square(g, f->epsilon_1);
            }
        }
    float *means = f->column + outer * f->columns + first;
    for (int64_t k = 0; k < width; k++)
        means[k] = rule_factored_mean(f->p.c.factors.gradient_alpha, means[k],
                                      (float)(squares[k] / (double)f->rows));
}

static void find_means(const factored_run *f)
{
    for (int64_t outer = 0; outer < f->all_rows / f->rows; outer++) {
        double sum = 0;
        for (int64_t k = 0; k < f->rows; k++)
            sum += (double)f->r[outer * f->rows + k];
        f->mean[outer] = (float)(sum / (double)f->rows);
    }
}

/* The velocities, and the sum of the directions' squares. */
static void directions_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const factored_run *f = context;
    int64_t begin, end;
    double directions = 0;
    row_range(f, task, &begin, &end);
    for (int64_t row = begin; row < end; row++) {
        const int64_t outer = row / f->rows;
        for (int64_t k = 0, count; k < f->columns; k += count) {
            count = f->columns - k;
            const int64_t at = weight_place(&f->p, row * f->columns + k, &count);
            for (int64_t i = 0; i < count; i++) {
                float w, *v = &f->v[at + i];
                const float g = weight_gradient(&f->p, at + i, &w);
                *v = f->vector ? rule_factored_mean(f->p.c.factors.gradient_alpha, *v,
                                                    rule_factored_square(g, f->epsilon_1))
                               : rule_factored_velocity(f->r[row], f->mean[outer],
                                                        f->column[outer * f->columns + k + i]);
                const double u = (double)rule_factored_direction(g, *v);
                directions += u * u;
            }
        }
    }
    f->partials[task][1] = directions;
}

static void step_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const factored_run *f = context;
    int64_t begin, end;
    cpu_task_range(f->all_rows * f->columns, CPU_TASK, task, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        float w;
        const float g = weight_gradient(&f->p, i, &w);
        f->p.w[i] = w - f->rate * rule_factored_direction(g, f->v[i]);
    }
}

static int64_t row_tasks(const op *o, int64_t *all_rows, int64_t *task_rows)
{
    const int64_t *extents = o->a.update.extents;
    *all_rows = extents[0] * cpu_most(extents[1], 1);
    *task_rows = cpu_rows_per_task(extents[2]);
    return cpu_divide_up(*all_rows, *task_rows);
}

static cornu_status prepare(const plan *p, const op *o, threads *pool, void **state,
                            size_t *scratch_bytes)
{
    (void)p, (void)pool, (void)state;
    int64_t all_rows, task_rows;
    const int64_t tasks = row_tasks(o, &all_rows, &task_rows);
    cpu_need_scratch(scratch_bytes,
                     cpu_scratch_floats(2 * CPU_DOUBLE * tasks) + o->a.update.extents[0]);
    return CORNU_OK;
}

static cornu_status run(const op_run *r)
{
    const optimizer *o = &r->op->a.update.optimizer;
    const int64_t *extents = r->op->a.update.extents;
    const tensor *w = OP_OUT(r->plan, r->op, 0);
    factored_run f = {.p = weight_passes_of(r),
                      .r = r->out[1],
                      .column = r->out[2],
                      .v = r->out[FACTORED_VELOCITY],
                      .rows = cpu_most(extents[1], 1),
                      .columns = extents[2],
                      .strips = cpu_divide_up(extents[2], STRIP),
                      .vector = extents[1] == 0,
                      .epsilon_1 = (float)o->epsilon_1,
                      .partials = r->scratch};
    const int64_t tasks = row_tasks(r->op, &f.all_rows, &f.task_rows);
    const double count = (double)w->count;
    double weights = 0, directions = 0;
    if (!optimizer_updates_at(o, r->input->iteration))
        return CORNU_OK;
    f.mean = (float *)r->scratch + cpu_scratch_floats(2 * CPU_DOUBLE * tasks);
    threads_run(r->pool, tasks, rows_task, &f);
    if (!f.vector) {
        threads_run(r->pool, extents[0] * f.strips, columns_task, &f);
        find_means(&f);
    }
    threads_run(r->pool, tasks, directions_task, &f);
    for (int64_t i = 0; i < tasks; i++) {
        weights += f.partials[i][0];
        directions += f.partials[i][1];
    }
    f.rate =
        rule_factored_rate(f.p.c.factors.alpha, (float)o->epsilon_2, (float)sqrt(weights / count),
                           (float)sqrt(directions / count), (float)o->clip_threshold);
    threads_run(r->pool, cpu_divide_up(w->count, CPU_TASK), step_task, &f);
    return CORNU_OK;
}

const kernel cpu_factored_update = {.name = "factors", .prepare = prepare, .run = run};
