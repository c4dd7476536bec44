/* Recomputation (gradient checkpointing): less memory for more time. The forward pass is divided
   into segments. Of all but the last segment only those activations are kept that a later segment
   reads; what else the backward pass needs of a segment is computed again before the first
   operation that reads it. The copies are the same operations on the same inputs, with the same
   masks of dropout and in the same groups, so a device runs the same kernels and the bits stay.

   Where to divide: for each of several budgets, the segments of at most so many bytes that keep the
   fewest bytes between them (a shortest path); of these divisions, the one with the lowest peak.
   (Chen et al., "Training deep nets with sublinear memory cost", 2016, has the budgets, but closes
   segments greedily.) */
#include "base/memory.h"
#include "step/builder.h"
#include <stdlib.h>
#include <string.h>

enum { BUDGETS = 56 };            /* from all activations down to 0.3 % of them */
static const double SHRINK = 0.9; /* each budget is so much of the one before */
/* A division whose peak is at most so much above the lowest is as good; the fewest FLOPs decide. */
static const double AS_GOOD = 1.02;

/* A buffer that owns its memory, in the forward pass. */
typedef struct activation_use {
    int written;   /* the first forward operation that writes it; -1: none */
    int completed; /* the last one */
    int read;   /* the last forward operation that reads it; `end`: it stays, for a loss or a metric
                   reads it, or the caller; -1: none */
    bool saved; /* the backward pass reads it */
    int64_t bytes;
} activation_use;

typedef struct segment_change segment_change;

typedef struct recomputation {
    plan *p;
    int end;                 /* operations 1 to end - 1 are the forward pass after GATHER */
    int backward;            /* the first operation after losses and metrics */
    activation_use *uses;    /* [tensor_count], of roots */
    segment_change *changes; /* [2 tensor_count] */
    int *changes_of;         /* [end] an operation's first one; -1: none */
    int change_count;
    bool *may_end;      /* [end] a segment may end with this operation */
    int64_t *kept;      /* [end] shortest path: bytes kept up to a segment's end; -1: none */
    int *before;        /* [end] ... and the end of the segment before it */
    int64_t largest;    /* bytes dropped of the largest segment */
    int *segment;       /* [end] the last operation of an operation's segment */
    int *place;         /* [end] of a segment's last operation: where its copies go */
    bool *again;        /* [end] operations that are copied */
    bool *wanted;       /* [tensor_count] roots that copies write in their place */
    tensor_ref *copy;   /* [tensor_count] NO_TENSOR: none */
    tensor_ref *origin; /* [tensor_count] of copy number i */
    int copies;         /* tensors */
    op *ops;            /* the rewritten list */
    int op_count;
    int *first, *last; /* [2 tensor_count] lives in that list */
    int64_t *change;   /* [op_count + end + 1] of live bytes */
} recomputation;

/* ---- the forward pass -------------------------------------------------------------------- */

static bool is_judge(const op *o)
{
    return o->kind == OP_LOSS || o->kind == OP_METRIC || o->kind == OP_PENALTY ||
           o->kind == OP_TALLY;
}

/* The buffer that `t` is stored in; NO_TENSOR for variables and constants. */
static tensor_ref buffer_of(const plan *p, tensor_ref t)
{
    tensor_ref root = plan_root(p, t);
    return root == NO_TENSOR || p->tensors[root].role != TENSOR_BUFFER ? NO_TENSOR : root;
}

static void find_passes(recomputation *r)
{
    const plan *p = r->p;
    r->end = 0;
    while (r->end < p->op_count && !is_judge(&p->ops[r->end]))
        r->end++;
    r->backward = p->op_count;
    while (r->backward > r->end && !is_judge(&p->ops[r->backward - 1]))
        r->backward--;
}

static void note_read(recomputation *r, tensor_ref t, int i)
{
    if (t == NO_TENSOR)
        return;
    activation_use *u = &r->uses[t];
    if (i >= r->backward)
        u->saved = true;
    else if (i >= r->end)
        u->read = r->end;
    else if (u->read < i)
        u->read = i;
}

static void note_write(recomputation *r, tensor_ref t, int i)
{
    if (t == NO_TENSOR || i >= r->end)
        return;
    if (r->uses[t].written < 0)
        r->uses[t].written = i;
    r->uses[t].completed = i;
}

/* Copies of a convolution and of a pool that stand apart would stand together and become a group,
   which may have another kernel: such a convolution is not copied. */
static void keep_pooled_apart(recomputation *r, int i)
{
    const plan *p = r->p;
    const tensor_ref x = p->ops[i].in[0];
    if (p->ops[i].kind != OP_MAX_POOL_FORWARD || buffer_of(p, x) == NO_TENSOR)
        return;
    activation_use *u = &r->uses[buffer_of(p, x)];
    if (u->written != i - 1 && p->ops[u->written].kind == OP_CONV2D_FORWARD)
        u->read = r->end;
}

static void find_uses(recomputation *r)
{
    const plan *p = r->p;
    for (int t = 0; t < p->tensor_count; t++)
        r->uses[t] = (activation_use){.written = -1,
                                      .completed = -1,
                                      .read = -1,
                                      .bytes = p->tensors[t].count * (int64_t)sizeof(float)};
    for (int i = 0; i < p->op_count; i++) {
        for (int k = 0; k < OP_INPUTS_MAX; k++)
            note_read(r, buffer_of(p, p->ops[i].in[k]), i);
        for (int k = 0; k < OP_OUTPUTS_MAX; k++)
            note_write(r, buffer_of(p, p->ops[i].out[k]), i);
    }
    note_read(r, buffer_of(p, p->output), r->end);
    for (int i = 1; i < r->end; i++)
        keep_pooled_apart(r, i);
}

/* No segment ends within a group, or while a tensor is not complete. */
static void find_ends(recomputation *r)
{
    const plan *p = r->p;
    for (int i = 0; i < r->end; i++)
        r->may_end[i] = true;
    for (int t = 0; t < p->tensor_count; t++)
        for (int i = r->uses[t].written; i >= 0 && i < r->uses[t].completed; i++)
            r->may_end[i] = false;
    for (int g = 0; g < p->group_count; g++)
        for (int i = 0; i < p->groups[g].count - 1; i++)
            if (p->groups[g].first + i < r->end)
                r->may_end[p->groups[g].first + i] = false;
}

/* ---- segments ---------------------------------------------------------------------------- */

/* Bytes of a segment's activations: those that later segments read, and the others that the
   backward pass needs. */
typedef struct segment_bytes {
    int64_t kept, dropped;
} segment_bytes;

/* An operation's change of them where the segment begins with operation `since` or an earlier one.
 */
struct segment_change {
    int since;
    int next; /* another one of the operation; -1: none */
    segment_bytes by;
};

static void add_change(recomputation *r, int i, int since, segment_bytes by)
{
    r->changes[r->change_count] =
        (segment_change){.since = since, .next = r->changes_of[i], .by = by};
    r->changes_of[i] = r->change_count++;
}

/* Once, as each operation joins very many segments. */
static void find_changes(recomputation *r)
{
    r->change_count = 0;
    for (int i = 0; i < r->end; i++)
        r->changes_of[i] = -1;
    for (int t = 0; t < r->p->tensor_count; t++) {
        const activation_use *u = &r->uses[t];
        const int64_t dropped = u->saved ? u->bytes : 0;
        if (u->written < 1)
            continue;
        if (u->read <= u->written) {
            add_change(r, u->written, u->written, (segment_bytes){.dropped = dropped});
            continue;
        }
        add_change(r, u->written, u->written, (segment_bytes){.kept = u->bytes});
        if (u->read < r->end)
            add_change(r, u->read, u->written,
                       (segment_bytes){.kept = -u->bytes, .dropped = dropped});
    }
}

/* Operation `i` joins the segment that begins with operation `first`. */
static void join(const recomputation *r, int first, int i, segment_bytes *bytes)
{
    for (int k = r->changes_of[i]; k >= 0; k = r->changes[k].next) {
        const segment_change *c = &r->changes[k];
        if (c->since < first)
            continue;
        bytes->kept += c->by.kept;
        bytes->dropped += c->by.dropped;
    }
}

/* Bytes of all activations that the backward pass needs. */
static int64_t all_saved(const recomputation *r)
{
    int64_t bytes = 0;
    for (int t = 0; t < r->p->tensor_count; t++)
        if (r->uses[t].written > 0 && r->uses[t].saved)
            bytes += r->uses[t].bytes;
    return bytes;
}

/* Try all segments that begin after operation `start`, itself the end of a segment. */
static void extend(recomputation *r, int start, int64_t budget)
{
    segment_bytes bytes = {0};
    for (int i = start + 1; i < r->end; i++) {
        join(r, start + 1, i, &bytes);
        if (bytes.dropped > budget)
            return;
        const bool last = i == r->end - 1; /* it is not computed again */
        const int64_t kept = r->kept[start] + (last ? 0 : bytes.kept);
        if ((!last && !r->may_end[i]) || (r->kept[i] >= 0 && r->kept[i] <= kept))
            continue;
        r->kept[i] = kept;
        r->before[i] = start;
    }
}

/* Divide the forward pass into segments of at most `budget` bytes; false if one is too large. */
static bool divide(recomputation *r, int64_t budget)
{
    for (int i = 0; i < r->end; i++)
        r->kept[i] = -1;
    r->kept[0] = 0;
    for (int i = 0; i < r->end - 1; i++)
        if (r->kept[i] >= 0)
            extend(r, i, budget);
    if (r->kept[r->end - 1] < 0)
        return false;
    r->largest = 0;
    for (int last = r->end - 1; last > 0; last = r->before[last]) {
        segment_bytes bytes = {0};
        for (int i = r->before[last] + 1; i <= last; i++) {
            join(r, r->before[last] + 1, i, &bytes);
            r->segment[i] = last;
        }
        r->largest = bytes.dropped > r->largest ? bytes.dropped : r->largest;
    }
    return true;
}

/* ---- what is copied ---------------------------------------------------------------------- */

static bool is_dropped(const recomputation *r, tensor_ref root)
{
    if (root == NO_TENSOR || r->uses[root].written < 1)
        return false;
    const int last = r->segment[r->uses[root].written];
    return last < r->end - 1 && r->uses[root].read <= last;
}

static void copy_operation(recomputation *r, int i)
{
    r->again[i] = true;
    for (int k = 0; k < OP_INPUTS_MAX; k++) {
        const tensor_ref t = buffer_of(r->p, r->p->ops[i].in[k]);
        if (is_dropped(r, t))
            r->wanted[t] = true;
    }
}

static bool writes_wanted(const recomputation *r, const op *o)
{
    for (int k = 0; k < OP_OUTPUTS_MAX; k++) {
        const tensor_ref t = buffer_of(r->p, o->out[k]);
        if (t != NO_TENSOR && r->wanted[t])
            return true;
    }
    return false;
}

/* Copy operation `i` with all of the forward groups that it is within. */
static void copy_with_groups(recomputation *r, int i)
{
    const plan *p = r->p;
    copy_operation(r, i);
    for (int g = 0; g < p->group_count; g++) {
        const int first = p->groups[g].first, end = first + p->groups[g].count;
        for (int k = first; first <= i && i < end && end <= r->end && k < end; k++)
            copy_operation(r, k);
    }
}

static void find_copied(recomputation *r)
{
    const plan *p = r->p;
    memset(r->again, 0, (size_t)r->end * sizeof *r->again);
    for (int t = 0; t < p->tensor_count; t++)
        r->wanted[t] = r->uses[t].saved && is_dropped(r, t);
    for (int i = r->end - 1; i > 0; i--) {
        if (!writes_wanted(r, &p->ops[i]))
            continue;
        copy_with_groups(r, i);
    }
}

/* Number the tensors that copies write, and all that share memory with them. */
static void number_copies(recomputation *r)
{
    const plan *p = r->p;
    r->copies = 0;
    for (int t = 0; t < p->tensor_count; t++)
        r->copy[t] = NO_TENSOR;
    for (int i = 1; i < r->end; i++)
        for (int k = 0; r->again[i] && k < OP_OUTPUTS_MAX; k++)
            if (buffer_of(p, p->ops[i].out[k]) != NO_TENSOR)
                r->copy[buffer_of(p, p->ops[i].out[k])] = 0;
    for (int t = 0; t < p->tensor_count; t++) {
        if (r->copy[plan_root(p, t)] == NO_TENSOR)
            continue;
        r->origin[r->copies] = t;
        r->copy[t] = p->tensor_count + r->copies++;
    }
}

/* The first operation of all groups that `i` is within. */
static int group_begin(const plan *p, int i)
{
    for (int g = p->group_count - 1; g >= 0; g--) /* in the order of their first operations */
        if (p->groups[g].first < i && i < p->groups[g].first + p->groups[g].count)
            i = p->groups[g].first;
    return i;
}

/* The copies of a segment go before the first operation of the backward pass that reads one, or
   before the groups of this. */
static void find_places(recomputation *r)
{
    const plan *p = r->p;
    for (int i = 0; i < r->end; i++)
        r->place[i] = -1;
    for (int i = r->backward; i < p->op_count; i++)
        for (int k = 0; k < OP_INPUTS_MAX; k++) {
            const tensor_ref t = buffer_of(p, p->ops[i].in[k]);
            int *place =
                t != NO_TENSOR && r->wanted[t] ? &r->place[r->segment[r->uses[t].written]] : NULL;
            if (place && *place < 0)
                *place = group_begin(p, i);
        }
}

/* ---- the rewritten list ------------------------------------------------------------------ */

static tensor_ref read_now(const recomputation *r, tensor_ref t)
{
    const tensor_ref root = buffer_of(r->p, t);
    return root != NO_TENSOR && r->wanted[root] ? r->copy[t] : t;
}

/* Variables that the operation changes (moving statistics) stay as they are. */
static void add_copy(recomputation *r, const op *from)
{
    op o = *from;
    o.recomputed = true;
    for (int k = 0; k < OP_INPUTS_MAX; k++)
        o.in[k] = read_now(r, from->in[k]);
    for (int k = 0; k < OP_OUTPUTS_MAX; k++) {
        const tensor_ref t = from->out[k];
        const bool stays = t != NO_TENSOR && buffer_of(r->p, t) == NO_TENSOR;
        for (int i = 0; stays && i < OP_INPUTS_MAX; i++)
            if (o.in[i] == t)
                o.in[i] = NO_TENSOR;
        o.out[k] = stays || t == NO_TENSOR ? NO_TENSOR : r->copy[t];
    }
    r->ops[r->op_count++] = o;
}

static void add_segment(recomputation *r, int last)
{
    int first = last;
    while (first > 1 && r->segment[first - 1] == last)
        first--;
    for (int i = first; i <= last; i++)
        if (r->again[i])
            add_copy(r, &r->p->ops[i]);
}

/* The backward pass needs the segments from the last to the first. */
static void rewrite(recomputation *r)
{
    const plan *p = r->p;
    int next = r->before[r->end - 1]; /* the last operation of the next segment to be copied */
    r->op_count = 0;
    for (int i = 0; i < p->op_count; i++) {
        for (; i >= r->backward && next > 0 && r->place[next] <= i; next = r->before[next])
            add_segment(r, next);
        op o = p->ops[i];
        for (int k = 0; i >= r->backward && k < OP_INPUTS_MAX; k++)
            o.in[k] = read_now(r, o.in[k]);
        r->ops[r->op_count++] = o;
    }
}

/* The tensor, or a copy's origin, that owns the memory; a copy's number stays apart. */
static tensor_ref owner(const recomputation *r, tensor_ref t)
{
    const int count = r->p->tensor_count;
    return t < count ? plan_root(r->p, t) : r->copy[plan_root(r->p, r->origin[t - count])];
}

static void touch(recomputation *r, tensor_ref t, int i)
{
    if (t == NO_TENSOR)
        return;
    t = owner(r, t);
    if (r->first[t] < 0)
        r->first[t] = i;
    r->last[t] = i;
}

/* The largest number of bytes of buffers that live at the same time. */
static int64_t peak(recomputation *r)
{
    const plan *p = r->p;
    const int count = p->tensor_count, all = count + r->copies;
    int64_t live = 0, most = 0;
    for (int t = 0; t < all; t++)
        r->first[t] = -1;
    memset(r->change, 0, (size_t)(r->op_count + 1) * sizeof *r->change);
    for (int i = 0; i < r->op_count; i++) {
        for (int k = 0; k < OP_INPUTS_MAX; k++)
            touch(r, r->ops[i].in[k], i);
        for (int k = 0; k < OP_OUTPUTS_MAX; k++)
            touch(r, r->ops[i].out[k], i);
    }
    for (int t = 0; t < all; t++) {
        const tensor *of = &p->tensors[t < count ? t : r->origin[t - count]];
        if (r->first[t] < 0 || of->role != TENSOR_BUFFER)
            continue;
        const int64_t bytes = of->count * (int64_t)sizeof(float);
        r->change[r->first[t]] += bytes;
        if (t >= count || of->last < p->op_count) /* else it is read after the step */
            r->change[r->last[t] + 1] -= bytes;
    }
    for (int i = 0; i < r->op_count; i++) {
        live += r->change[i];
        most = live > most ? live : most;
    }
    return most;
}

/* ---- which division ---------------------------------------------------------------------- */

typedef struct outcome {
    int64_t budget, peak;
    double flops;
} outcome;

/* Rewrite the list for this budget; false if there is no division for it. */
static bool try_budget(recomputation *r, int64_t budget, outcome *out)
{
    *out = (outcome){.budget = budget};
    if (!divide(r, budget))
        return false;
    find_copied(r);
    number_copies(r);
    find_places(r);
    rewrite(r);
    out->peak = peak(r);
    for (int i = 1; i < r->end; i++)
        out->flops += r->again[i] ? r->p->ops[i].flops : 0;
    return true;
}

/* Find the best division, and rewrite the list for it; false if none is better than none. */
static bool choose(recomputation *r)
{
    const int64_t whole = all_saved(r);
    outcome tried[BUDGETS], *best = NULL, *lowest = tried;
    int count = 0;
    double budget = (double)whole;
    r->largest = INT64_MAX;
    for (int i = 0; i < BUDGETS; i++, budget *= SHRINK) {
        if ((int64_t)budget >= r->largest) /* the division of the budget before */
            continue;
        if (!try_budget(r, (int64_t)budget, &tried[count]))
            break;
        if (tried[count].peak < lowest->peak)
            lowest = &tried[count];
        count++;
    }
    for (int i = 0; i < count; i++)
        if ((double)tried[i].peak <= (double)lowest->peak * AS_GOOD &&
            (!best || tried[i].flops < best->flops))
            best = &tried[i];
    return best && try_budget(r, best->budget, best);
}

/* ---- all together ------------------------------------------------------------------------ */

static cornu_status add_tensors(recomputation *r)
{
    plan *p = r->p;
    const int count = p->tensor_count;
    size_t capacity = (size_t)count;
    TRY(memory_grow(&p->tensors, &capacity, (size_t)(count + r->copies), sizeof *p->tensors));
    for (int i = 0; i < r->copies; i++) {
        tensor t = p->tensors[r->origin[i]];
        if (t.alias != NO_TENSOR)
            t.alias = r->copy[t.alias];
        TRY(memory_format(&t.name, "%s (recomputed)", p->tensors[r->origin[i]].name));
        p->tensors[p->tensor_count++] = t;
    }
    return CORNU_OK;
}

/* A copy has a name of its own. */
static cornu_status name_copies(recomputation *r)
{
    for (int i = 0; i < r->op_count; i++) {
        char *name;
        if (!r->ops[i].recomputed)
            continue;
        const cornu_status status = memory_copy_string(r->ops[i].name, &name);
        for (int k = 0; status != CORNU_OK && k < i; k++)
            if (r->ops[k].recomputed)
                free(r->ops[k].name);
        TRY(status);
        r->ops[i].name = name;
    }
    return CORNU_OK;
}

/* The rewritten list becomes the plan's. */
static cornu_status take_over(recomputation *r)
{
    plan *p = r->p;
    TRY(add_tensors(r));
    TRY(name_copies(r));
    free(p->ops);
    p->ops = r->ops;
    p->op_count = r->op_count;
    r->ops = NULL;
    return CORNU_OK;
}

static cornu_status make_room(recomputation *r)
{
    static const char what[] = "plan";
    const size_t tensors = (size_t)r->p->tensor_count, forward = (size_t)r->end,
                 most = (size_t)r->p->op_count + forward;
    TRY(memory_new(tensors, sizeof *r->uses, what, &r->uses));
    TRY(memory_new(tensors, sizeof *r->wanted, what, &r->wanted));
    TRY(memory_new(tensors, sizeof *r->copy, what, &r->copy));
    TRY(memory_new(tensors, sizeof *r->origin, what, &r->origin));
    TRY(memory_new(2 * tensors, sizeof *r->first, what, &r->first));
    TRY(memory_new(2 * tensors, sizeof *r->last, what, &r->last));
    TRY(memory_new(2 * tensors, sizeof *r->changes, what, &r->changes));
    TRY(memory_new(forward, sizeof *r->changes_of, what, &r->changes_of));
    TRY(memory_new(forward, sizeof *r->may_end, what, &r->may_end));
    TRY(memory_new(forward, sizeof *r->kept, what, &r->kept));
    TRY(memory_new(forward, sizeof *r->before, what, &r->before));
    TRY(memory_new(forward, sizeof *r->segment, what, &r->segment));
    TRY(memory_new(forward, sizeof *r->place, what, &r->place));
    TRY(memory_new(forward, sizeof *r->again, what, &r->again));
    TRY(memory_new(most, sizeof *r->ops, what, &r->ops));
    return memory_new(most + 1, sizeof *r->change, what, &r->change);
}

static void free_room(recomputation *r)
{
    free(r->uses);
    free(r->wanted);
    free(r->copy);
    free(r->origin);
    free(r->first);
    free(r->last);
    free(r->changes);
    free(r->changes_of);
    free(r->may_end);
    free(r->kept);
    free(r->before);
    free(r->segment);
    free(r->place);
    free(r->again);
    free(r->ops);
    free(r->change);
}

cornu_status pass_recompute(plan *p)
{
    recomputation r = {.p = p};
    find_passes(&r);
    if (r.end < 2)
        return CORNU_OK;
    cornu_status status = make_room(&r);
    if (status == CORNU_OK) {
        find_uses(&r);
        find_ends(&r);
        find_changes(&r);
        if (choose(&r))
            status = take_over(&r);
    }
    free_room(&r);
    return status;
}
