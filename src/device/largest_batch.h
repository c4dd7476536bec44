/* Advice for a plan that does not fit into a device's memory. Linked into the library and into each
   plug-in. */
#ifndef DEVICE_LARGEST_BATCH_H
#define DEVICE_LARGEST_BATCH_H

#include "step/plan.h"

/* "training", "evaluating", "predicting" */
const char *batch_plan_does(const plan *p);

/* Would this plan fit? */
typedef bool batch_fits(void *context, const plan *smaller);

/* Find the largest batch below p's whose plan fits, and say so in `text`: "the largest batch that
   fits is 12", or "not even batch 1 fits". */
enum { BATCH_ADVICE = 96 };
const char *batch_advice(const plan *p, batch_fits *fits, void *context, char text[BATCH_ADVICE]);

#endif
