/* Do all ranks of a run do the same? Asked before its first step. */
#include "data/data.h"
#include "device/cpu/isa.h"
#include "model/config.h"
#include "train/fit_run.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { CLAIMS_MOST = 20 };

typedef struct claims {
    ranks_claim all[CLAIMS_MOST];
    int count;
} claims;

static char *claim(claims *c, const char *name)
{
    c->all[c->count].name = name;
    return c->all[c->count++].value;
}

static void claim_number(claims *c, const char *name, int64_t number)
{
    snprintf(claim(c, name), RANKS_VALUE, "%jd", (intmax_t)number);
}

static uLong add_text(uLong digest, const char *more)
{
    return more ? crc32_z(digest, (const Bytef *)more, strlen(more) + 1) : digest;
}

/* Samples as far as they lie in memory: of pictures that are decoded later, their targets. */
static void claim_samples(claims *c, const char *name, const cornu_data *data,
                          const sample_block *b)
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
    snprintf(claim(c, name), RANKS_VALUE, "%jd (digest %08lx)", (intmax_t)b->count, digest);
}

/* Of pictures no rank reads all: names and sizes are compared, and a few of them. */
static void claim_files(claims *c, const cornu_data *data, const char *name)
{
    if (!data || !data->loader)
        snprintf(claim(c, name), RANKS_VALUE, "none");
    else
        snprintf(claim(c, name), RANKS_VALUE, "%jd (digest %08x, %08x)",
                 (intmax_t)(data->block[CORNU_TRAIN].count + data->block[CORNU_TEST].count),
                 data_files_digest(data, CORNU_TRAIN), data_files_digest(data, CORNU_TEST));
}

cornu_status fit_check_files(const fit_run *run)
{
    claims c = {.count = 0};
    if (!run->options->ranks)
        return CORNU_OK;
    snprintf(claim(&c, "version of cornu"), RANKS_VALUE, "%s", cornu_version());
    snprintf(claim(&c, "run"), RANKS_VALUE, "%s", run->options->resume ? "resumed" : "new");
    claim_files(&c, run->data, "files of the pictures");
    claim_files(&c, run->options->validation_data, "files of the validation pictures");
    return ranks_agree(run->options->ranks, c.all, c.count);
}

static cornu_status claim_network(claims *c, const cornu_model *model)
{
    char *config = NULL, *compile = NULL;
    TRY(cornu_model_config(model, &config));
    cornu_status status = cornu_model_compile_config(model, &compile);
    snprintf(claim(c, "network"), RANKS_VALUE, "%s (digest %08lx)", model->name,
             add_text(add_text(crc32_z(0, NULL, 0), config), compile));
    cornu_free(config);
    cornu_free(compile);
    return status;
}

static void claim_weights(claims *c, const cornu_model *m)
{
    const position *p = &m->training.position;
    uLong digest = crc32_z(0, NULL, 0);
    for (int i = 0; i < m->variable_count; i++)
        digest = crc32_z(digest, (const Bytef *)m->variables[i].value,
                         (size_t)m->variables[i].count * sizeof(float));
    snprintf(claim(c, "weights"), RANKS_VALUE, "those of step %jd (digest %08lx)",
             (intmax_t)p->iterations, digest);
    claim_number(c, "epochs done", p->epoch);
    claim_number(c, "steps done of the epoch", p->step);
}

static cornu_status claim_device(claims *c, const fit_run *run)
{
    cpu_isa isa;
    device_tuning tuning;
    const cornu_fit_options *o = run->options;
    TRY(cpu_isa_choose(&isa));
    TRY(session_tuning(run->session, &tuning));
    snprintf(claim(c, "device"), RANKS_VALUE, "%s", session_device(run->session)->ops->name);
    snprintf(claim(c, "precision"), RANKS_VALUE, "%s", o->precision ? o->precision : "fp32");
    snprintf(claim(c, "convolutions"), RANKS_VALUE, "%s", o->exact_convolution ? "exact" : "any");
    snprintf(claim(c, "instruction set (CORNU_ISA)"), RANKS_VALUE, "%s", cpu_isa_name(isa));
    snprintf(claim(c, "tuning"), RANKS_VALUE, "\"%.60s\" (digest %08lx)", tuning.text,
             add_text(crc32_z(0, NULL, 0), tuning.text));
    return CORNU_OK;
}

cornu_status fit_check_ranks(fit_run *run)
{
    const cornu_fit_options *o = run->options;
    const evaluation *v = &run->validation;
    claims c = {.count = 0};
    if (!o->ranks)
        return CORNU_OK;
    snprintf(claim(&c, "version of cornu"), RANKS_VALUE, "%s", cornu_version());
    TRY(claim_network(&c, run->model));
    claim_number(&c, "seed", (int64_t)run->spec.seed);
    claim_number(&c, "batch", run->batch);
    claim_number(&c, "shards", run->spec.shards);
    snprintf(claim(&c, "wire"), RANKS_VALUE, "%s", shards_wire_name(run->wire_bf16));
    snprintf(claim(&c, "shard-optimizer"), RANKS_VALUE, "%s", o->shard_optimizer ? "yes" : "no");
    claim_number(&c, "steps an epoch", run->steps);
    claim_number(&c, "epochs", run->epochs);
    claim_samples(&c, "training samples", run->data, &run->train);
    if (run->validates)
        claim_samples(&c, "validation samples", v->data, &v->data->block[v->split]);
    else
        snprintf(claim(&c, "validation samples"), RANKS_VALUE, "none");
    TRY(claim_device(&c, run));
    claim_weights(&c, run->model);
    return ranks_agree(o->ranks, c.all, c.count);
}
