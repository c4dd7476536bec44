#include "device/select.h"
#include "base/memory.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- candidates ---------------------------------------------------------------------------- */

static bool is_forced(const selector *s, const kernel_info *k)
{
    return s->forced && strcmp(k->name, s->forced) == 0;
}

/* Candidate `n` in the order in which they are asked: the forced ones before all others. */
static const kernel_info *candidate_in_order(const selector *s, op_kind kind, int n)
{
    const kernel_info *k;
    for (int pass = s->forced ? 0 : 1; pass < 2; pass++)
        for (int i = 0; (k = s->candidate(s, kind, i)); i++)
            if (is_forced(s, k) == (pass == 0) && n-- == 0)
                return k;
    return NULL;
}

const op *select_lacks(const selector *s, const plan *p)
{
    for (int i = 0; i < p->op_count; i++)
        if (!s->candidate(s, p->ops[i].kind, 0))
            return &p->ops[i];
    return NULL;
}

static void add_refusal(kernel_choice *c, const kernel_info *k, const char *why)
{
    size_t used = strlen(c->refused);
    snprintf(c->refused + used, sizeof c->refused - used, "%s%s: %s", used ? "; " : "", k->name,
             why);
}

/* ---- one operation ------------------------------------------------------------------------- */

/* Operation `i` has no kernel from now on. */
static void drop(const selector *s, selection *c, int i)
{
    if (c->kernels[i] && c->states[i])
        s->release(s, c->kernels[i], c->states[i]);
    free(c->names[i]);
    c->names[i] = NULL;
    c->states[i] = NULL;
    c->kernels[i] = NULL;
    c->groups[i] = NULL;
    kernel_choice *choice = &c->choices[i];
    choice->kernel = choice->group = NULL;
    choice->flops = choice->bytes = 0;
    choice->scratch_bytes = 0;
}

cornu_status selection_call_fused(selection *c, int first, int i)
{
    free(c->names[i]);
    c->names[i] = NULL;
    TRY(memory_format(&c->names[i], "with %d", first + 1));
    c->choices[i].kernel = c->names[i];
    return CORNU_OK;
}

cornu_status select_fuse(const selector *s, selection *c, int first, int i)
{
    drop(s, c, i);
    return selection_call_fused(c, first, i);
}

/* Kernel `k` is chosen. */
static cornu_status take(const selector *s, const plan *p, selection *c, int i,
                         const kernel_info *k)
{
    kernel_choice *choice = &c->choices[i];
    TRY(memory_format(&c->names[i], "%s/%s", k->device ? k->device : s->prefix, k->name));
    choice->kernel = c->names[i];
    c->kernels[i] = k;
    if (k->group) {
        c->groups[i] = plan_group(p, &p->ops[i], k->group);
        choice->group = group_names[k->group];
    }
    plan_group_cost(p, &p->ops[i], c->groups[i], &choice->flops, &choice->bytes);
    for (int n = i + 1; n < selection_next(c, i); n++)
        TRY(select_fuse(s, c, i, n));
    return CORNU_OK;
}

cornu_status select_kernel(const selector *s, const plan *p, selection *c, int i)
{
    const op *o = &p->ops[i];
    const kernel_info *k;
    drop(s, c, i);
    while ((k = candidate_in_order(s, o->kind, c->asked[i]))) {
        const char *why = "does not take this operation";
        c->asked[i]++;
        if (k->group && !plan_group(p, o, k->group))
            continue;
        if (s->accepts(s, k, p, o, &why))
            return take(s, p, c, i, k);
        /* Where the same kernel comes next for the operation alone, its refusal says it all. */
        const kernel_info *next = candidate_in_order(s, o->kind, c->asked[i]);
        if (!k->group || !next || strcmp(next->name, k->name) != 0)
            add_refusal(&c->choices[i], k, why);
    }
    return status_fail(CORNU_UNSUPPORTED, "device %s: %s of %s: %s", s->name,
                       op_infos[o->kind].name, o->name, c->choices[i].refused);
}

cornu_status select_replace(const selector *s, const plan *p, selection *c, int i)
{
    add_refusal(&c->choices[i], c->kernels[i], cornu_last_error());
    c->replaced++;
    return select_kernel(s, p, c, i);
}

cornu_status select_prepare(const selector *s, const plan *p, selection *c, int i)
{
    if (!c->kernels[i])
        TRY(select_kernel(s, p, c, i));
    for (;;) {
        size_t scratch = 0;
        cornu_status status = s->prepare(s, c->kernels[i], p, &p->ops[i], &c->states[i], &scratch);
        c->choices[i].scratch_bytes = scratch;
        if (status != CORNU_UNSUPPORTED)
            return status;
        TRY(select_replace(s, p, c, i));
    }
}

/* ---- a plan's ------------------------------------------------------------------------------ */

cornu_status selection_new(const plan *p, selection *out)
{
    const size_t count = (size_t)p->op_count;
    const char *what = "prepared plan";
    *out = (selection){.op_count = p->op_count};
    TRY(memory_new(count, sizeof *out->kernels, what, &out->kernels));
    TRY(memory_new(count, sizeof *out->groups, what, &out->groups));
    TRY(memory_new(count, sizeof *out->states, what, &out->states));
    TRY(memory_new(count, sizeof *out->choices, what, &out->choices));
    TRY(memory_new(count, sizeof *out->names, what, &out->names));
    return memory_new(count, sizeof *out->asked, what, &out->asked);
}

void selection_free(const selector *s, selection *c)
{
    for (int i = 0; c->asked && i < c->op_count; i++)
        drop(s, c, i);
    free(c->kernels);
    free(c->groups);
    free(c->states);
    free(c->choices);
    free(c->names);
    free(c->asked);
    *c = (selection){0};
}

size_t selection_scratch(const selection *c)
{
    size_t most = 0;
    for (int i = 0; i < c->op_count; i++)
        if (c->choices[i].scratch_bytes > most)
            most = c->choices[i].scratch_bytes;
    return most;
}
