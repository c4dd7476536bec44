/* The rows of metrics.def. */
#include "model/compile.h"

static const metric_kind kinds[] = {
#define METRIC(id, name, class_name, sparse, options, value, sum, second) \
    {name,                                                                \
     class_name,                                                          \
     sparse,                                                              \
     false,                                                               \
     LOSS_COUNT,                                                          \
     METRIC_VALUE_##value,                                                \
     SUM_##second == SUM_NONE ? 1 : 2,                                    \
     {SUM_##sum, SUM_##second}},
#define METRIC_OF_LOSS(id, name, class_name, sparse, options, value, loss) \
    {name, class_name, sparse, true, LOSS_##loss, METRIC_VALUE_##value, 1, {SUM_NONE, SUM_NONE}},
#define METRIC_OF_TABLE(id, name, class_name, options, value) \
    {name, class_name, false, false, LOSS_COUNT, METRIC_VALUE_##value, 0, {SUM_NONE, SUM_NONE}},
#include "model/metrics.def"
};

const metric_kind *metric_kind_of(metric_id id)
{
    return &kinds[id];
}
