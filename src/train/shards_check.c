/* What users say of shards. */
#include "train/shards.h"
#include <string.h>

cornu_status shards_check(int64_t count, int64_t batch, const cornu_ranks *ranks)
{
    int all = cornu_ranks_count(ranks);
    if (count < 1 || count > SHARDS_MOST || (count & (count - 1)) != 0)
        return status_fail(CORNU_INVALID, "shards: found %jd; expected a power of two, 1 to %d",
                           (intmax_t)count, SHARDS_MOST);
    if (count < all)
        return status_fail(CORNU_INVALID,
                           "shards: found %jd, and %d ranks; expected at least one for each",
                           (intmax_t)count, all);
    if (count <= batch)
        return CORNU_OK;
    return status_fail(CORNU_INVALID,
                       "shards: found %jd, and batches of %jd; expected at least a sample for each",
                       (intmax_t)count, (intmax_t)batch);
}

cornu_status shards_wire_find(const char *name, bool *bf16)
{
    *bf16 = name && strcmp(name, "bf16") == 0;
    if (*bf16 || !name || strcmp(name, "fp32") == 0)
        return CORNU_OK;
    return status_fail(CORNU_INVALID, "wire: found %.40s; expected fp32 or bf16", name);
}

const char *shards_wire_name(bool bf16)
{
    return bf16 ? "bf16" : "fp32";
}
