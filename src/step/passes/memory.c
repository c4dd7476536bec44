/* Offsets in the arena: largest buffer first, each into the smallest gap that is free for its whole
   life (Pisarchyk and Lee, "Efficient memory management for deep neural net inference", 2020,
   "greedy by size"). */
#include "base/memory.h"
#include "step/builder.h"
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

typedef struct block {
    size_t size, offset;
    int first, last;
    tensor_ref tensor;
} block;

/* The larger first; equal sizes in plan order, so that the result is always the same. */
static int by_size(const void *a, const void *b)
{
    const block *x = a, *y = b;
    if (x->size != y->size)
        return x->size < y->size ? 1 : -1;
    return x->tensor - y->tensor;
}

/* Insert blocks[n] into the blocks before it, which are sorted by offset. */
static void insert(block *blocks, int n)
{
    block moved = blocks[n];
    int i = n;
    for (; i > 0 && blocks[i - 1].offset > moved.offset; i--)
        blocks[i] = blocks[i - 1];
    blocks[i] = moved;
}

/* The offset for `b`, given `count` placed blocks sorted by offset. */
static size_t place(const block *placed, int count, const block *b)
{
    size_t best = SIZE_MAX, best_gap = SIZE_MAX, end = 0;
    for (int i = 0; i < count; i++) {
        const block *other = &placed[i];
        if (other->last < b->first || other->first > b->last)
            continue;
        if (other->offset > end) {
            size_t gap = other->offset - end;
            if (gap >= b->size && gap < best_gap) {
                best = end;
                best_gap = gap;
            }
        }
        if (other->offset + other->size > end)
            end = other->offset + other->size;
    }
    return best == SIZE_MAX ? end : best;
}

/* All tensors of a group live from its first operation on: run as one, it may write its last output
   before it has read its first input. */
static void lengthen(const plan *p, const op_group *g, block *b)
{
    for (int i = g->first; i < g->first + g->count; i++) {
        bool touched = false;
        for (int k = 0; k < OP_INPUTS_MAX; k++)
            touched |= plan_root(p, p->ops[i].in[k]) == b->tensor;
        for (int k = 0; k < OP_OUTPUTS_MAX; k++)
            touched |= plan_root(p, p->ops[i].out[k]) == b->tensor;
        if (!touched)
            continue;
        if (b->first > g->first)
            b->first = g->first;
    }
}

void plan_buffer_bytes(const plan *p, size_t *bytes)
{
    for (int i = 0; i < p->tensor_count; i++) {
        const tensor *t = &p->tensors[i];
        bool used = t->role == TENSOR_BUFFER && t->alias == NO_TENSOR && t->first >= 0;
        bytes[i] = used ? (size_t)t->count * sizeof(float) : 0;
    }
}

static int collect(const plan *p, const size_t *bytes, block *blocks)
{
    int count = 0;
    for (int i = 0; i < p->tensor_count; i++) {
        if (bytes[i] == 0)
            continue;
        blocks[count++] = (block){.size = (bytes[i] + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT,
                                  .first = p->tensors[i].first,
                                  .last = p->tensors[i].last,
                                  .tensor = i};
        for (int g = 0; g < p->group_count; g++)
            lengthen(p, &p->groups[g], &blocks[count - 1]);
    }
    return count;
}

cornu_status plan_place(const plan *p, const size_t *bytes, size_t *offsets, size_t *arena_bytes)
{
    block *blocks;
    TRY(memory_new((size_t)p->tensor_count, sizeof *blocks, "plan", &blocks));
    int count = collect(p, bytes, blocks);
    qsort(blocks, (size_t)count, sizeof *blocks, by_size);
    memset(offsets, 0, (size_t)p->tensor_count * sizeof *offsets);
    *arena_bytes = 0;
    for (int i = 0; i < count; i++) {
        block *b = &blocks[i];
        b->offset = place(blocks, i, b);
        offsets[b->tensor] = b->offset;
        if (b->offset + b->size > *arena_bytes)
            *arena_bytes = b->offset + b->size;
        insert(blocks, i);
    }
    for (int i = 0; i < p->tensor_count; i++)
        offsets[i] = offsets[plan_root(p, i)];
    free(blocks);
    return CORNU_OK;
}

cornu_status pass_memory(plan *p)
{
    size_t *bytes; /* reused for the offsets */
    const size_t count = (size_t)p->tensor_count;
    TRY(memory_new(2 * count, sizeof *bytes, "plan", &bytes));
    plan_buffer_bytes(p, bytes);
    cornu_status status = plan_place(p, bytes, bytes + count, &p->arena_bytes);
    for (size_t i = 0; status == CORNU_OK && i < count; i++)
        p->tensors[i].offset = bytes[count + i];
    free(bytes);
    return status;
}
