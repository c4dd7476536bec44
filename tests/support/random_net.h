/* Random networks that branch, from all kinds of layers: what a test of whole networks compares. */
#ifndef SUPPORT_RANDOM_NET_H
#define SUPPORT_RANDOM_NET_H

#include "model/model.h"

/* A compiled network of about 4 to 40 layers, 1 to 3 inputs and 1 to 3 outputs, drawn from `seed`,
   with tensors that several layers read, or one layer twice, layers that are called several times,
   and frozen ones. Its weights are random, also biases and statistics, so that no two of them may
   be confused unseen. Close with cornu_model_close. */
cornu_model *random_net(uint64_t seed);
/* Its configuration for messages, in fresh memory (free). */
char *random_net_show(const cornu_model *m);
/* How many graphs a test takes: CORNU_TEST_GRAPHS, else `fallback`; and the first one's seed,
   CORNU_TEST_SEED. */
int random_net_count(int fallback);
uint64_t random_net_first(void);

#endif
