#include "device/gather_sample.h"
#include "device/reference/reference.h"

cornu_status reference_gather_samples(const op_run *r)
{
    const plan *p = r->plan;
    int64_t x_size = OP_OUT(p, r->op, 0)->count / p->batch;
    int64_t t_size = r->out[1] ? OP_OUT(p, r->op, 1)->count / p->batch : 0;
    for (int64_t i = 0; r->out[2] && i < p->batch; i++)
        r->out[2][i] = gather_weight(r->input->samples, r->input->index[i]);
    for (int64_t i = 0; i < p->batch; i++)
        gather_sample(p, r->op, r->input, i, r->out[0] + i * x_size,
                      r->out[1] ? r->out[1] + i * t_size : NULL);
    return CORNU_OK;
}
