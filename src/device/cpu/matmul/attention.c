/* Attention, forward and backward: its products, the softmax between them and the scaling of the
   queries, for one matrix of scores after the other, which stays in the caches meanwhile. Tensors
   that no other operation reads, as the scores, exist only there. */
#include "base/memory.h"
#include "device/cpu/cpu.h"
#include "device/cpu/elementwise/elementwise_kernels.h"
#include "device/cpu/matmul/matmul.h"
#include <stdlib.h>

CPU_ISA_TABLE(element_kernels, cpu_element_kernels);
CPU_ISA_TABLE(softmax_kernels, cpu_softmax_kernels);

enum { SCORES_MOST = 256 * 256 }; /* floats: a few such matrices stay in the second-level cache */

/* A tensor's matrices. */
typedef struct matrices {
    tensor_ref t;
    int64_t floats; /* of one */
    int64_t at;     /* where a worker keeps one, if the tensor is internal to the group; else -1 */
} matrices;

typedef struct member {
    const op *o;
    matmul_shape product;
    matrices in[2], out;
} member;

typedef struct attention_state {
    cpu_isa isa;
    member members[GROUP_OPS_MAX];
    int member_count;
    int64_t count, columns; /* matrices of scores, and their columns */
    int64_t worker_floats;
} attention_state;

/* ---- prepare ------------------------------------------------------------------------------- */

/* The operation whose output, or input, is the matrices of scores: both have their shape. */
static const op *softmax_of(const plan *p, const op_group *g)
{
    return group_op(p, g, ROLE_ACTIVATION);
}

static bool group_accepts(const plan *p, const op_group *g, const char **why)
{
    const tensor *scores = OP_OUT(p, softmax_of(p, g), 0);
    const int last = scores->shape.rank - 1;
    *why = "more than 65536 scores";
    return scores->shape.dim[last - 1] * scores->shape.dim[last] <= SCORES_MOST;
}

static bool accepts(const plan *p, const op *o, const char **why)
{
    return group_accepts(p, plan_group(p, o, GROUP_ATTENTION), why);
}

static bool backward_accepts(const plan *p, const op *o, const char **why)
{
    return group_accepts(p, plan_group(p, o, GROUP_ATTENTION_BACKWARD), why);
}

/* The place of an internal tensor in a worker's memory: that where it was written. */
static matrices find_matrices(attention_state *s, const plan *p, const op_group *g, tensor_ref t)
{
    matrices m = {.t = t, .floats = t == NO_TENSOR ? 0 : p->tensors[t].count / s->count, .at = -1};
    if (t == NO_TENSOR || !plan_group_internal(p, g, t))
        return m;
    for (int i = 0; i < s->member_count; i++)
        if (s->members[i].out.t == t)
            return s->members[i].out;
    m.at = s->worker_floats;
    s->worker_floats += cpu_scratch_floats(m.floats);
    return m;
}

static cornu_status prepare_group(const plan *p, const op_group *g, threads *pool, void **state,
                                  size_t *scratch_bytes)
{
    attention_state *s = NULL;
    TRY(memory_new(1, sizeof *s, "attention", &s));
    *state = s;
    TRY(cpu_isa_choose(&s->isa));
    s->count = matmul_shape_of(p, group_op(p, g, ROLE_VALUES)).count;
    const shape *scores = &OP_OUT(p, softmax_of(p, g), 0)->shape;
    s->columns = scores->dim[scores->rank - 1];
    s->worker_floats = product_floats();
    for (int i = 0; i < g->count; i++) {
        member *m = &s->members[i];
        m->o = &p->ops[g->first + i];
        if (m->o->kind == OP_MATMUL)
            m->product = matmul_shape_of(p, m->o);
        for (int k = 0; k < 2; k++)
            m->in[k] = find_matrices(s, p, g, m->o->in[k]);
        m->out = find_matrices(s, p, g, m->o->out[0]);
        s->member_count++;
    }
    cpu_need_scratch(scratch_bytes, threads_count(pool) * s->worker_floats);
    return CORNU_OK;
}

static cornu_status prepare(const plan *p, const op *o, threads *pool, void **state,
                            size_t *scratch_bytes)
{
    return prepare_group(p, plan_group(p, o, GROUP_ATTENTION), pool, state, scratch_bytes);
}

static cornu_status backward_prepare(const plan *p, const op *o, threads *pool, void **state,
                                     size_t *scratch_bytes)
{
    return prepare_group(p, plan_group(p, o, GROUP_ATTENTION_BACKWARD), pool, state, scratch_bytes);
}

/* ---- run ----------------------------------------------------------------------------------- */

/* Matrix `number`. */
static float *matrix_of(const op_run *r, const matrices *m, int64_t number, float *memory)
{
    return m->t == NO_TENSOR ? NULL
           : m->at >= 0      ? memory + m->at
                             : r->tensors[m->t] + number * m->floats;
}

static void multiply(const indirect_kernels *k, const product *p, float *memory)
{
    const matmul_shape *s = p->s;
    for (int64_t column = 0; column < s->columns; column += product_panel(k, s))
        for (int64_t row = 0; row < s->rows; row += PRODUCT_ROWS)
            product_block(k, p, row, cpu_least(PRODUCT_ROWS, s->rows - row), column, memory);
}

static void run_member(const op_run *r, const member *m, int64_t number, float *memory)
{
    const attention_state *s = r->state;
    const op *o = m->o;
    const product p = {.s = &m->product,
                       .a = matrix_of(r, &m->in[0], number, memory),
                       .b = matrix_of(r, &m->in[1], number, memory),
                       .y = matrix_of(r, &m->out, number, memory)};
    if (o->kind == OP_SCALE)
        cpu_element_kernels[s->isa]->scale(p.a, p.y, m->out.floats, o->a.scale.scale,
                                           o->a.scale.offset);
    else if (o->kind == OP_ACTIVATION_FORWARD)
        cpu_softmax_kernels[s->isa]->forward(p.a, p.y, m->out.floats / s->columns, s->columns);
    else if (o->kind == OP_ACTIVATION_BACKWARD)
        cpu_softmax_kernels[s->isa]->backward(p.a, p.b, p.y, m->out.floats / s->columns,
                                              s->columns);
    else
        multiply(cpu_product_kernels[s->isa], &p, memory);
}

static void run_task(void *context, int64_t task, int worker)
{
    const op_run *r = context;
    const attention_state *s = r->state;
    float *memory = (float *)r->scratch + worker * s->worker_floats;
    for (int i = 0; i < s->member_count; i++)
        run_member(r, &s->members[i], task, memory);
}

static cornu_status run(const op_run *r)
{
    const attention_state *s = r->state;
    threads_run(r->pool, s->count, run_task, (void *)r);
    return CORNU_OK;
}

const kernel cpu_attention = {.name = "attention",
                              .group = GROUP_ATTENTION,
                              .accepts = accepts,
                              .prepare = prepare,
                              .release = free,
                              .run = run};
const kernel cpu_attention_backward = {.name = "attention",
                                       .group = GROUP_ATTENTION_BACKWARD,
                                       .accepts = backward_accepts,
                                       .prepare = backward_prepare,
                                       .release = free,
                                       .run = run};
