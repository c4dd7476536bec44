/* Reading and writing learning rates: numbers and Keras's schedules. */
#ifndef MODEL_SCHEDULES_H
#define MODEL_SCHEDULES_H

#include "model/optimizers.h"

/* A number; Keras's {class_name: CosineDecay, config: {...}}; or {cosine: {...}}, {step: {...}},
   {exponential: {...}}, {inverse_time: {...}} with the same options. */
cornu_status schedule_read(const doc *d, schedule *out);
json_t *schedule_to_json(const schedule *s);
/* As optimizer_table. */
json_t *schedule_table(void);

#endif
