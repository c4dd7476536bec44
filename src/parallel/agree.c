#include "parallel/agree.h"
#include "base/memory.h"
#include "model/config.h"
#include <cornu/parallel.h>
#include <cornu/tables.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* ---- claims ------------------------------------------------------------------------------ */

void claim(claims *c, const char *name, const char *format, ...)
{
    va_list arguments;
    ranks_claim *to = &c->all[c->count++];
    to->name = name;
    va_start(arguments, format);
    vsnprintf(to->value, sizeof to->value, format, arguments);
    va_end(arguments);
}

void claim_number(claims *c, const char *name, int64_t number)
{
    claim(c, name, "%jd", (intmax_t)number);
}

static uLong add_text(uLong digest, const char *more)
{
    return more ? crc32_z(digest, (const Bytef *)more, strlen(more) + 1) : digest;
}

void claim_text(claims *c, const char *name, const char *value)
{
    claim(c, name, "\"%.60s\" (digest %08lx)", value, add_text(crc32_z(0, NULL, 0), value));
}

void claim_samples(claims *c, const char *name, const cornu_data *data, const sample_block *b)
{
    uLong digest = crc32_z(0, NULL, 0);
    size_t count = (size_t)b->count;
    if (b->x && !data->loader)
        digest = crc32_z(digest, b->x,
                         count * (size_t)shape_elements(&b->x_shape) * sample_size(b->x_type));
    if (b->y)
        digest = crc32_z(digest, b->y,
                         count * (size_t)shape_elements(&b->y_shape) * sample_size(b->y_type));
    if (b->weight)
        digest = crc32_z(digest, (const Bytef *)b->weight, count * sizeof *b->weight);
    for (int i = 0; data->class_names && i < data->class_count; i++)
        digest = add_text(digest, data->class_names[i]);
    claim(c, name, "%jd (digest %08lx)", (intmax_t)b->count, digest);
}

void claim_files(claims *c, const char *name, const cornu_data *data)
{
    if (!data || !data->loader)
        claim(c, name, "none");
    else
        claim(c, name, "%jd (digest %08x, %08x)",
              (intmax_t)(data->block[CORNU_TRAIN].count + data->block[CORNU_TEST].count),
              data_files_digest(data, CORNU_TRAIN), data_files_digest(data, CORNU_TEST));
}

cornu_status claim_network(claims *c, const cornu_model *model)
{
    char *config = NULL, *compile = NULL;
    TRY(cornu_model_config(model, &config));
    cornu_status status = cornu_model_compile_config(model, &compile);
    claim(c, "network", "%s (digest %08lx)", model->name,
          add_text(add_text(crc32_z(0, NULL, 0), config), compile));
    cornu_free(config);
    cornu_free(compile);
    return status;
}

void claim_weights(claims *c, const cornu_model *m)
{
    const position *p = &m->training.position;
    uLong digest = crc32_z(0, NULL, 0);
    for (int i = 0; i < m->variable_count; i++)
        digest = crc32_z(digest, (const Bytef *)m->variables[i].value,
                         (size_t)m->variables[i].count * sizeof(float));
    claim(c, "weights", "those of step %jd (digest %08lx)", (intmax_t)p->iterations, digest);
    claim_number(c, "epochs done", p->epoch);
    claim_number(c, "steps done of the epoch", p->step);
}

/* ---- votes ------------------------------------------------------------------------------- */

/* Followed by its tables. */
typedef struct rank_vote {
    int32_t vote;
    step_results results;
} rank_vote;

cornu_status results_new(const cornu_model *m, step_results *out)
{
    *out = (step_results){.table_count = m->table_count};
    if (m->table_count == 0)
        return CORNU_OK;
    return memory_new((size_t)m->table_count, sizeof *out->tables, "tables of metrics",
                      &out->tables);
}

void results_free(step_results *r)
{
    free(r->tables);
    *r = (step_results){.samples = 0};
}

void results_clear(step_results *r)
{
    if (r->tables)
        memset(r->tables, 0, (size_t)r->table_count * sizeof *r->tables);
    *r = (step_results){.tables = r->tables, .table_count = r->table_count};
}

static int tables_of_both(const step_results *a, const step_results *b)
{
    return a->table_count < b->table_count ? a->table_count : b->table_count;
}

void results_copy(step_results *to, const step_results *from)
{
    const int tables = tables_of_both(to, from);
    results_clear(to);
    double *own = to->tables;
    const int count = to->table_count;
    *to = *from;
    to->tables = own;
    to->table_count = count;
    if (tables > 0)
        memcpy(own, from->tables, (size_t)tables * sizeof *own);
}

void results_add(step_results *to, const step_results *from)
{
    to->samples += from->samples;
    to->loss += from->loss;
    for (int i = 0; i < MODEL_METRICS_MAX; i++)
        to->metrics[i] += from->metrics[i];
    for (int i = 0; i < tables_of_both(to, from); i++)
        to->tables[i] += from->tables[i];
    to->gather_seconds += from->gather_seconds;
    to->not_finite = to->not_finite || from->not_finite;
}

/* Vote number `i` of votes of `size` bytes; its tables are those that follow it. */
static rank_vote *vote_at(unsigned char *all, size_t size, int i)
{
    rank_vote *v = (rank_vote *)(void *)(all + (size_t)i * size);
    v->results.tables = (double *)(void *)(v + 1);
    return v;
}

/* Adds in the order of the tree: neighbours first. */
static void add_votes(unsigned char *all, size_t size, int count)
{
    for (int distance = 1; distance < count; distance *= 2)
        for (int i = 0; i + distance < count; i += 2 * distance) {
            rank_vote *to = vote_at(all, size, i), *from = vote_at(all, size, i + distance);
            results_add(&to->results, &from->results);
            if (from->vote > to->vote)
                to->vote = from->vote;
        }
}

/* own[size]: this rank's vote, all 0. */
static cornu_status share_votes(cornu_ranks *r, int table_count, step_results *results,
                                unsigned char *own, size_t size, shards_vote *agreed)
{
    unsigned char *all;
    const int count = cornu_ranks_count(r);
    rank_vote *mine = vote_at(own, size, 0);
    mine->vote = *agreed;
    mine->results.table_count = table_count;
    if (results)
        results_copy(&mine->results, results);
    TRY(memory_new((size_t)count, size, "results of ranks", &all));
    cornu_status status = ranks_share(r, own, all, size);
    add_votes(all, size, count);
    *agreed = (shards_vote)vote_at(all, size, 0)->vote;
    if (results)
        results_copy(results, &vote_at(all, size, 0)->results);
    free(all);
    return status;
}

cornu_status vote_share(cornu_ranks *r, shards_vote vote, int table_count, step_results *results,
                        shards_vote *agreed)
{
    unsigned char *own;
    const size_t size = sizeof(rank_vote) + (size_t)table_count * sizeof(double);
    TRY(memory_new(1, size, "results of a rank", &own));
    *agreed = vote;
    cornu_status status = share_votes(r, table_count, results, own, size, agreed);
    free(own);
    return status;
}
