/* Element e of the step's whole batch is kept if word e % 4 of Philox(seed, layer; e / 4,
   iteration) as a number in [0, 1) is at least the rate: the backward pass draws the same mask
   again. */
#include "base/philox.h"
#include "device/reference/reference.h"

cornu_status reference_dropout(const op_run *r)
{
    int64_t count = OP_OUT(r->plan, r->op, 0)->count;
    float rate = r->op->a.dropout.rate, scale = 1 / (1 - rate);
    uint64_t key = random_key(r->input->seed, RANDOM_DROPOUT, r->op->a.dropout.stream);
    uint64_t iteration = (uint64_t)r->input->iteration;
    uint64_t first = (uint64_t)(r->input->first * (count / r->plan->batch));
    uint32_t bits[4];
    for (int64_t i = 0; i < count; i++) {
        uint64_t e = first + (uint64_t)i, block = e / 4;
        if (i == 0 || e % 4 == 0)
            philox(key, (uint32_t)block, (uint32_t)(block >> 32), (uint32_t)iteration,
                   (uint32_t)(iteration >> 32), bits);
        r->out[0][i] = random_to_float(bits[e % 4]) >= rate ? r->in[0][i] * scale : 0;
    }
    return CORNU_OK;
}
