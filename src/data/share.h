/* A fraction of the samples, the same of each class if there are classes. */
#ifndef DATA_SHARE_H
#define DATA_SHARE_H

#include "data/data.h"

/* Mark the fraction `fraction` of `count` samples: of each class (labels[count]; NULL: one class)
   the rounded number, at least one, as if drawn at random, but always the same samples. */
cornu_status share_choose(const int32_t *labels, int64_t count, double fraction, bool *kept);
/* Keep in each split of samples in memory the fraction that the request asks for. */
cornu_status share_apply(const data_request *request, cornu_data *data);
/* Say what is left of `count`; by_class: of each class so large a share. */
void share_notice(const data_request *request, const char *name, bool by_class,
                  const int64_t count[2], const int64_t left[2]);

#endif
