/* What TensorBoard shows of a run besides Keras's values. */
#ifndef TRAIN_TENSORBOARD_VALUES_H
#define TRAIN_TENSORBOARD_VALUES_H

#include "format/tensorboard/event_file.h"
#include "train/op_times.h"
#include "train/report/report.h"

/* Are the samples pictures that can be looked at? */
bool tensorboard_has_pictures(const cornu_data *data);
/* `count` of the first `samples` training samples, one from each of as many equal stretches; those
   that cannot be read are left out. */
cornu_status tensorboard_add_samples(event_file *f, const cornu_data *data, int64_t samples,
                                     int64_t count);
cornu_status tensorboard_add_matrix(event_file *f, const cornu_report *r, int64_t step);
/* The operations of a training step, with these times (seconds[op_count]; 0: none of its own), for
   event_file_operations; to be released with free(). */
cornu_status tensorboard_pack_operations(session *s, const session_plan *ready,
                                         const double *seconds, void **packed, size_t *size);
/* The same of a profile of one step at least, as an event. */
cornu_status tensorboard_add_operations(event_file *f, session *s, const op_profile *p,
                                        int64_t step);
/* Optimizer and loss with their numbers, batch_size, epochs and seed. */
cornu_status tensorboard_add_settings(event_file *f, const cornu_model *model);

#endif
