/* MATRIX_UPDATE: passes over a matrix's elements, and products between them. The matrix X of the
   products has the fewer of the weight's rows and columns as rows. */
#include "device/cpu/elementwise/weight_passes.h"
#include "device/cpu/matmul/matmul.h"

#include "device/rules/matrix_step.h"

typedef struct matrix_run {
    weight_passes p;
    float *m;
    int64_t rows, columns, task_rows; /* of the weight */
    bool nesterov;
    float root, share;
    bool transposed;  /* X is the weight's transpose */
    int64_t least;    /* rows of X */
    float *x;         /* [rows of X][columns of X] */
    float *scratch;   /* of the products */
    double *partials; /* sums of squares */
    float norm;
} matrix_run;

/* y = factor y + keep kept */
typedef struct mix {
    float *y;
    const float *kept;
    float factor, keep;
    int64_t count;
} mix;

/* Where element `plain` of the weight is in X. */
static inline int64_t in_x(const matrix_run *f, int64_t plain)
{
    return f->transposed ? plain % f->columns * f->rows + plain / f->columns : plain;
}

/* The momentum, and the sum of the squares of X. */
static void directions_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const matrix_run *f = context;
    int64_t begin, end;
    double squares = 0;
    cpu_task_range(f->rows, f->task_rows, task, &begin, &end);
    for (int64_t plain = begin * f->columns, count; plain < end * f->columns; plain += count) {
        count = f->columns - plain % f->columns;
        const int64_t at = weight_place(&f->p, plain, &count);
        for (int64_t i = 0; i < count; i++) {
            float w, *m = &f->m[at + i], *x = &f->x[in_x(f, plain + i)];
            const float g = weight_gradient(&f->p, at + i, &w);
            *m = rule_matrix_momentum(*m, g, f->p.c.momentum);
            *x = rule_matrix_direction(*m, g, f->p.c.momentum, f->nesterov);
            squares += (double)*x * (double)*x;
        }
    }
    f->partials[task] = squares;
}

static void norm_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const matrix_run *f = context;
    int64_t begin, end;
    cpu_task_range(f->rows * f->columns, CPU_TASK, task, &begin, &end);
    for (int64_t i = begin; i < end; i++)
        f->x[i] /= f->norm + MATRIX_STEP_EPSILON;
}

static void mix_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const mix *m = context;
    int64_t begin, end;
    cpu_task_range(m->count, CPU_TASK, task, &begin, &end);
    for (int64_t i = begin; i < end; i++)
        m->y[i] = m->keep * m->kept[i] + m->factor * m->y[i];
}

static void step_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const matrix_run *f = context;
    int64_t begin, end;
    cpu_task_range(f->rows, f->task_rows, task, &begin, &end);
    for (int64_t plain = begin * f->columns, count; plain < end * f->columns; plain += count) {
        count = f->columns - plain % f->columns;
        const int64_t at = weight_place(&f->p, plain, &count);
        for (int64_t i = 0; i < count; i++) {
            float w;
            (void)weight_gradient(&f->p, at + i, &w);
            f->p.w[at + i] = rule_matrix_step(w, f->x[in_x(f, plain + i)], f->p.c.learning_rate,
                                              f->root, f->share);
        }
    }
}

static void run_mix(const op_run *r, mix m)
{
    threads_run(r->pool, cpu_divide_up(m.count, CPU_TASK), mix_task, &m);
}

/* X = a X + (b A + c A A) X with A = X X'; `a`, `b` and `y` are room for A, its multiple, and X. */
static void iterate(const op_run *r, matrix_run *f, float *a, float *b, float **y)
{
    const optimizer *o = &r->op->a.update.optimizer;
    const int64_t n = f->least, most = f->rows * f->columns / n;
    const matmul_shape squares = {.count = 1,
                                  .rows = n,
                                  .depth = most,
                                  .columns = n,
                                  .a_row = most,
                                  .a_depth = 1,
                                  .b_depth = 1,
                                  .b_column = most};
    const matmul_shape powers = {.count = 1,
                                 .rows = n,
                                 .depth = n,
                                 .columns = n,
                                 .a_row = n,
                                 .a_depth = 1,
                                 .b_depth = n,
                                 .b_column = 1};
    const matmul_shape steps = {.count = 1,
                                .rows = n,
                                .depth = n,
                                .columns = most,
                                .a_row = n,
                                .a_depth = 1,
                                .b_depth = most,
                                .b_column = 1};
    float *x = f->x;
    cpu_multiply(r->state, r->pool, &squares, x, x, a, f->scratch);
    cpu_multiply(r->state, r->pool, &powers, a, a, b, f->scratch);
    run_mix(r, (mix){.y = b,
                     .kept = a,
                     .factor = (float)o->muon_c,
                     .keep = (float)o->muon_b,
                     .count = n * n});
    cpu_multiply(r->state, r->pool, &steps, b, x, *y, f->scratch);
    run_mix(r, (mix){.y = *y, .kept = x, .factor = 1, .keep = (float)o->muon_a, .count = n * most});
    f->x = *y;
    *y = x;
}

static int64_t tasks_of(const op *o, int64_t *task_rows)
{
    *task_rows = cpu_rows_per_task(o->a.update.extents[2]);
    return cpu_divide_up(o->a.update.extents[1], *task_rows);
}

static int64_t least_of(const op *o)
{
    return cpu_least(o->a.update.extents[1], o->a.update.extents[2]);
}

/* Scratch memory: of the products, X twice, A and its multiple, sums of squares. */
static cornu_status prepare(const plan *p, const op *o, threads *pool, void **state,
                            size_t *scratch_bytes)
{
    const int64_t count = p->tensors[o->out[0]].count, least = least_of(o);
    int64_t task_rows;
    TRY(cpu_matmul_prepare(p, o, pool, state, scratch_bytes));
    cpu_need_scratch(scratch_bytes, cpu_scratch_floats(cpu_matmul_floats(pool)) +
                                        2 * cpu_scratch_floats(count) +
                                        2 * cpu_scratch_floats(least * least) +
                                        CPU_DOUBLE * tasks_of(o, &task_rows));
    return CORNU_OK;
}

static cornu_status run(const op_run *r)
{
    const optimizer *o = &r->op->a.update.optimizer;
    const int64_t *extents = r->op->a.update.extents;
    const tensor *w = OP_OUT(r->plan, r->op, 0);
    matrix_run f = {.p = weight_passes_of(r),
                    .m = r->out[1],
                    .rows = extents[1],
                    .columns = extents[2],
                    .nesterov = o->nesterov,
                    .root = optimizer_matrix_root(r->op),
                    .share = optimizer_matrix_share(r->op),
                    .transposed = extents[1] > extents[2],
                    .least = least_of(r->op),
                    .scratch = r->scratch};
    const int64_t tasks = tasks_of(r->op, &f.task_rows);
    double squares = 0;
    if (!optimizer_updates_at(o, r->input->iteration))
        return CORNU_OK;
    f.x = f.scratch + cpu_scratch_floats(cpu_matmul_floats(r->pool));
    float *y = f.x + cpu_scratch_floats(w->count);
    float *a = y + cpu_scratch_floats(w->count), *b = a + cpu_scratch_floats(f.least * f.least);
    f.partials = (double *)(void *)(b + cpu_scratch_floats(f.least * f.least));
    threads_run(r->pool, tasks, directions_task, &f);
    for (int64_t i = 0; i < tasks; i++)
        squares += f.partials[i];
    f.norm = (float)sqrt(squares);
    threads_run(r->pool, cpu_divide_up(w->count, CPU_TASK), norm_task, &f);
    for (int64_t i = 0; i < o->ns_steps; i++)
        iterate(r, &f, a, b, &y);
    threads_run(r->pool, tasks, step_task, &f);
    return CORNU_OK;
}

const kernel cpu_matrix_update = {.name = "matrices", .prepare = prepare, .run = run};
