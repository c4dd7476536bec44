/* Values of a run for TensorBoard in addition to Keras's. */
#ifndef REPORT_TENSORBOARD_VALUES_H
#define REPORT_TENSORBOARD_VALUES_H

#include "device/device.h"
#include "format/tensorboard/event_file.h"
#include "report/report.h"
#include <cornu/report.h>

/* True if the samples can be shown as pictures. */
bool tensorboard_has_pictures(const cornu_data *data);
/* Add `count` of the first `samples` training samples, one from each of `count` equal ranges;
   unreadable ones are left out. */
cornu_status tensorboard_add_samples(event_file *f, const cornu_data *data, int64_t samples,
                                     int64_t count);
cornu_status tensorboard_add_matrix(event_file *f, const cornu_report *r, int64_t step);
/* A training step that was measured. */
typedef struct measured_step {
    const char *device; /* the device's name for users */
    const plan *plan;
    const kernel_choice *choices; /* [op_count] */
    const double *seconds;        /* [op_count]; 0: no time of its own */
} measured_step;
/* The same as an event. */
cornu_status tensorboard_add_operations(event_file *f, const measured_step *m, int64_t step);
/* Optimizer and loss with their numbers, batch_size, epochs and seed. */
cornu_status tensorboard_add_settings(event_file *f, const cornu_model *model);

#endif
