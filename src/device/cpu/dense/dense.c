/* Decides which microkernels a dense layer uses, and whether it reads uint8 inputs. */
#include "device/cpu/dense/dense.h"

CPU_ISA_TABLE(dense_kernels, cpu_dense);

const dense_kernels *dense_kernels_of(cpu_isa isa, bool amx)
{
    return amx ? DENSE_AMX : cpu_dense[isa];
}

/* AMX multiplies 32 rows of a batch at once, even if fewer exist. Vectors are faster for fewer than
   25 rows, for more than 32, and for a layer where packing x and dy takes long compared with the
   products. */
bool dense_takes_amx(const dense_size *d, const char **why)
{
    enum { ROWS_LEAST = 25, ROWS_MOST = 32, SIDE_LEAST = 384, IN_MOST = 8192 };
    cpu_isa isa;
    if (cpu_isa_choose(&isa) != CORNU_OK || isa != CPU_ISA_WITH_AMX)
        *why = "no AMX";
    else if (d->rows < ROWS_LEAST || d->rows > ROWS_MOST)
        *why = "not 25 to 32 samples";
    else if (d->in < SIDE_LEAST || d->in > IN_MOST || d->units < SIDE_LEAST)
        *why = "not 384 units, 384 to 8192 inputs";
    else
        return true;
    return false;
}

bool dense_reads_samples(const plan *p, tensor_ref x)
{
    const op *gather = NULL;
    for (int i = 0; i < p->op_count; i++)
        for (int k = 0; k < OP_OUTPUTS_MAX; k++) {
            if (plan_root(p, p->ops[i].out[k]) != plan_root(p, x))
                continue;
            if (p->ops[i].kind != OP_GATHER)
                return false;
            gather = &p->ops[i];
        }
    if (!gather || augmentation_any(&gather->a.gather.augment))
        return false;
    const standardization *st = &gather->a.gather.standardize;
    return !st->samplewise_center && !st->featurewise_center;
}

dense_u8 dense_u8_of(const op_run *o)
{
    const float least = 0x1p-64f; /* far from the range where floats overflow or lose precision */
    const sample_block *s = o->input->samples;
    if (s->x_type != SAMPLE_U8 || !(s->x_scale >= least && s->x_scale <= 1 / least))
        return (dense_u8){0};
    return (dense_u8){s->x_scale, s->x, o->input->index, shape_elements(&s->x_shape)};
}
