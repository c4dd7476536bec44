/* Operations of two tensors, element by element, and their gradients, which are sums over the
   elements that a tensor repeats. */
#include "device/broadcast.h"
#include "device/cpu/cpu.h"
#include "device/cpu/elementwise/elementwise_kernels.h"

CPU_ISA_TABLE(element_kernels, cpu_element_kernels);
CPU_ISA_TABLE(batch_norm_kernels, cpu_batch_norm_kernels);
CPU_ISA_TABLE(layer_norm_kernels, cpu_layer_norm_kernels);

enum {
    ROWS = SHAPE_MAX - 1, /* the dimensions but the innermost, along which the kernels go */
    STRIP = 512,          /* elements whose terms and sums stay in L1 */
    COLUMNS_LEAST = 64,   /* elements of dx that a task sums */
    TASKS_ENOUGH = 16     /* where there are fewer, the terms of each sum are divided, too */
};

typedef struct binary_run {
    cpu_isa isa;
    binary_kind kind;
    int of; /* backward: BROADCAST_A or BROADCAST_B */
    broadcast s;
    const float *in[BROADCAST_TENSORS]; /* a, b, dy */
    float *out;
    int64_t count;   /* elements of y, or of dx */
    int64_t size;    /* of a task */
    int64_t slices;  /* of the terms of each sum; they are added in their order */
    double *partial; /* [slices][count], where there are several */
} binary_run;

/* The kernel on `count` elements of a row, from element `column` of it on. */
static void combine(const binary_run *r, const broadcast_walk *w, int64_t column, int64_t count,
                    float *out)
{
    const element_kernels *kernels = cpu_element_kernels[r->isa];
    const float *x[BROADCAST_TENSORS] = {NULL};
    int64_t step[BROADCAST_TENSORS];
    for (int k = 0; k < BROADCAST_TENSORS; k++) {
        const int from = r->in[k] ? k : BROADCAST_Y; /* what the rule does not read is there, too */
        step[k] = r->s.step[from][ROWS];
        if (r->in[from])
            x[k] = r->in[from] + w->at[from] + column * step[k];
    }
    if (x[BROADCAST_Y])
        kernels->binary_back[r->kind][r->of](x[0], step[0], x[1], step[1], x[2], out, count);
    else
        kernels->binary[r->kind](x[0], step[0], x[1], step[1], out, count);
}

/* Every element of the output has one term. */
static void combine_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const binary_run *r = context;
    const int64_t n = r->s.size[ROWS];
    int64_t begin, end;
    cpu_task_range(r->count, r->size, task, &begin, &end);
    broadcast_walk w = broadcast_at(&r->s, ROWS, begin / n);
    for (int64_t column = begin % n; begin < end; column = 0) {
        const int64_t count = cpu_least(n - column, end - begin);
        combine(r, &w, column, count, r->out + begin);
        broadcast_next(&r->s, ROWS, &w);
        begin += count;
    }
}

/* The place of the term that `term` leads to from the first term's place. */
static broadcast_walk place_of(const broadcast_walk *first, const broadcast_walk *term)
{
    broadcast_walk w = *first;
    for (int k = 0; k < BROADCAST_TENSORS; k++)
        w.at[k] += term->at[k];
    return w;
}

/* How many rows of terms, at most `most`, follow one another in dy without a gap, from `term` on.
 */
static int64_t adjacent_rows(const broadcast *terms, const broadcast_walk *term, int64_t count,
                             int64_t most)
{
    const int inner = ROWS - 1;
    if (terms->step[BROADCAST_Y][inner] != count)
        return 1;
    return cpu_least(most, terms->size[inner] - term->index[inner]);
}

/* The sums of `count` neighbours of dx, from the place `w` of its first term on, are added to
   `sums`: terms first to last - 1 of each. Those of an addition are dy, which is read in place. */
static void sum_columns(const binary_run *r, const broadcast *terms, const broadcast_walk *w,
                        int64_t column, int64_t count, int64_t first, int64_t last, double *sums)
{
    float copy[STRIP];
    batch_norm_block block = {.sum = sums, .channels = count};
    for (int64_t i = first; i < last; i += block.rows) {
        broadcast_walk term = broadcast_at(terms, ROWS, i);
        if (r->kind == BINARY_ADD) {
            block.x = r->in[BROADCAST_Y] + place_of(w, &term).at[BROADCAST_Y] + column;
            block.rows = adjacent_rows(terms, &term, count, last - i);
        } else {
            block.x = copy;
            block.rows = cpu_least(STRIP / count, last - i);
            for (int64_t k = 0; k < block.rows; k++, broadcast_next(terms, ROWS, &term)) {
                const broadcast_walk here = place_of(w, &term);
                combine(r, &here, column, count, copy + k * count);
            }
        }
        cpu_batch_norm_kernels[r->isa]->add(&block);
    }
}

/* The sum of the whole rows first to last - 1, where `w` is the place of the first of all. */
static double sum_rows(const binary_run *r, const broadcast *terms, const broadcast_walk *w,
                       int64_t first, int64_t last)
{
    const int64_t n = r->s.size[ROWS];
    double sum = 0;
    float row[STRIP];
    broadcast_walk term = broadcast_at(terms, ROWS, first);
    for (int64_t i = first; i < last; i++) {
        const broadcast_walk here = place_of(w, &term);
        for (int64_t column = 0; column < n; column += STRIP) {
            const int64_t count = cpu_least(STRIP, n - column);
            combine(r, &here, column, count, row);
            sum += cpu_layer_norm_kernels[r->isa]->sum(row, count);
        }
        broadcast_next(terms, ROWS, &term);
    }
    return sum;
}

/* Elements begin..end-1 of dx, each of which is a sum; where there are slices, one slice's sums of
   them. */
static void sum_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const binary_run *r = context;
    const broadcast kept = broadcast_kept(&r->s, r->of), terms = broadcast_repeated(&r->s, r->of);
    const bool columns = r->s.step[r->of][ROWS] != 0;
    const int64_t n = kept.size[ROWS];
    const int64_t rows = broadcast_count(&terms) / (columns ? 1 : r->s.size[ROWS]);
    const int64_t slice = task % r->slices;
    double *partial = r->partial + slice * r->count;
    int64_t begin, end, first, last;
    cpu_task_range(r->count, r->size, task / r->slices, &begin, &end);
    threads_range(rows, r->slices, slice, 1, &first, &last);
    while (begin < end) {
        const broadcast_walk w = broadcast_at(&kept, ROWS, begin / n);
        const int64_t column = begin % n;
        const int64_t count = cpu_least(STRIP, cpu_least(n - column, end - begin));
        double sums[STRIP] = {0};
        if (columns)
            sum_columns(r, &terms, &w, column, count, first, last, sums);
        else
            sums[0] = sum_rows(r, &terms, &w, first, last);
        for (int64_t i = 0; i < count; i++, begin++)
            if (r->slices > 1)
                partial[begin] = sums[i];
            else
                r->out[begin] = (float)sums[i];
    }
}

static cornu_status prepare(const plan *p, const op *o, threads *pool, void **state,
                            size_t *scratch_bytes)
{
    (void)p, (void)o, (void)pool, (void)scratch_bytes;
    cpu_isa isa;
    TRY(cpu_isa_choose(&isa));
    *state = (void *)(uintptr_t)isa;
    return CORNU_OK;
}

static cpu_isa isa_of(const op_run *r)
{
    return (cpu_isa)(uintptr_t)r->state;
}

static cornu_status run_forward(const op_run *r)
{
    binary_run b = {.isa = isa_of(r),
                    .kind = r->op->a.binary.kind,
                    .s = broadcast_of(&OP_IN(r->plan, r->op, 0)->shape,
                                      &OP_IN(r->plan, r->op, 1)->shape,
                                      &OP_OUT(r->plan, r->op, 0)->shape),
                    .in = {r->in[0], r->in[1]},
                    .out = r->out[0],
                    .count = OP_OUT(r->plan, r->op, 0)->count,
                    .size = CPU_TASK};
    threads_run(r->pool, cpu_divide_up(b.count, b.size), combine_task, &b);
    return CORNU_OK;
}

/* Everything of a backward pass but its addresses. */
static binary_run backward_of(const plan *p, const op *o, cpu_isa isa)
{
    const tensor *dx = OP_OUT(p, o, 0), *dy = OP_IN(p, o, 2);
    const shape *shapes[2];
    binary_run b = {.isa = isa,
                    .kind = o->a.binary.kind,
                    .of = o->a.binary.of,
                    .count = dx->count,
                    .slices = 1};
    for (int i = 0; i < 2; i++)
        shapes[i] = i == b.of               ? &dx->shape
                    : o->in[i] != NO_TENSOR ? &OP_IN(p, o, i)->shape
                                            : &dy->shape;
    b.s = broadcast_of(shapes[0], shapes[1], &dy->shape);
    const int64_t terms = dy->count / dx->count;
    const bool columns = b.s.step[b.of][ROWS] != 0;
    b.size = terms == 1 ? CPU_TASK : cpu_rows_per_task(terms);
    if (columns) /* neighbours have their terms side by side */
        b.size = cpu_most(b.size, cpu_least(b.s.size[ROWS], COLUMNS_LEAST));
    if (terms > 1 && cpu_divide_up(b.count, b.size) < TASKS_ENOUGH)
        b.slices = cpu_most(1, cpu_least(TASKS_ENOUGH, dy->count / CPU_TASK));
    return b;
}

static cornu_status prepare_backward(const plan *p, const op *o, threads *pool, void **state,
                                     size_t *scratch_bytes)
{
    cpu_isa isa;
    TRY(cpu_isa_choose(&isa));
    const binary_run b = backward_of(p, o, isa);
    if (b.slices > 1)
        cpu_need_scratch(scratch_bytes, CPU_DOUBLE * b.slices * b.count);
    return prepare(p, o, pool, state, scratch_bytes);
}

static cornu_status run_backward(const op_run *r)
{
    binary_run b = backward_of(r->plan, r->op, isa_of(r));
    for (int i = 0; i < BROADCAST_TENSORS; i++)
        b.in[i] = r->in[i];
    b.out = r->out[0];
    b.partial = r->scratch;
    const bool one_term = OP_IN(r->plan, r->op, 2)->count == b.count;
    threads_run(r->pool, cpu_divide_up(b.count, b.size) * b.slices,
                one_term ? combine_task : sum_task, &b);
    for (int64_t i = 0; b.slices > 1 && i < b.count; i++) {
        double sum = 0;
        for (int64_t slice = 0; slice < b.slices; slice++)
            sum += b.partial[slice * b.count + i];
        b.out[i] = (float)sum;
    }
    return CORNU_OK;
}

const kernel cpu_binary_forward = {.name = "vector", .prepare = prepare, .run = run_forward};
const kernel cpu_binary_backward = {
    .name = "vector", .prepare = prepare_backward, .run = run_backward};

/* ---- ADD --------------------------------------------------------------------------------- */

/* y = a + b, and what follows in its group while a block is in the L1 cache: an activation's
   forward pass (GROUP_RESIDUAL) or backward pass (GROUP_ACTIVATION_BACKWARD). */

typedef struct add_run {
    cpu_isa isa;
    const float *a, *b;
    const activation *act; /* NULL: none */
    const float *from;     /* the activation's input or output, backward; NULL: forward */
    float *y;
    int64_t count;
} add_run;

static void add_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const add_run *r = context;
    int64_t begin, end;
    cpu_task_range(r->count, CPU_TASK, task, &begin, &end);
    for (; begin < end; begin += CPU_BLOCK) {
        const int64_t count = cpu_least(CPU_BLOCK, end - begin);
        float *y = r->y + begin;
        cpu_element_kernels[r->isa]->binary[BINARY_ADD](r->a + begin, 1, r->b + begin, 1, y, count);
        if (r->from)
            cpu_activate_back(r->isa, *r->act, r->from + begin, y, y, count);
        else if (r->act)
            cpu_activate(r->isa, *r->act, y, y, count);
    }
}

static cornu_status run_add(const op_run *r)
{
    add_run a = {.isa = isa_of(r),
                 .a = r->in[0],
                 .b = r->in[1],
                 .y = r->out[0],
                 .count = OP_OUT(r->plan, r->op, 0)->count};
    if (r->group) {
        const op *act = group_op(r->plan, r->group, ROLE_ACTIVATION);
        a.act = &act->a.act;
        a.from = act->kind == OP_ACTIVATION_BACKWARD ? r->tensors[act->in[0]] : NULL;
        a.y = r->tensors[act->out[0]];
    }
    threads_run(r->pool, cpu_divide_up(a.count, CPU_TASK), add_task, &a);
    return CORNU_OK;
}

const kernel cpu_add_activation = {
    .name = "vector", .group = GROUP_RESIDUAL, .prepare = prepare, .run = run_add};
const kernel cpu_add_activation_backward = {
    .name = "vector", .group = GROUP_ACTIVATION_BACKWARD, .prepare = prepare, .run = run_add};
const kernel cpu_add = {.name = "vector", .prepare = prepare, .run = run_add};
