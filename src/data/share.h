/* A share of the samples, the same of each class where there are some. */
#ifndef DATA_SHARE_H
#define DATA_SHARE_H

#include "data/data.h"

/* Mark of `count` samples the share `fraction`: of each class (labels[count]; NULL: one class)
   as many as that rounds to, at least one, as if drawn at random, but always the same. */
cornu_status share_choose(const int32_t *labels, int64_t count, double fraction, bool *kept);
/* Leave in each split of samples that lie in memory the share that the request asks for. */
cornu_status share_apply(const data_request *request, cornu_data *data);
/* Say what is left of `count`; by_class: of each class so large a share. */
void share_notice(const data_request *request, const char *name, bool by_class,
                  const int64_t count[2], const int64_t left[2]);

#endif
