/* TensorBoard's event files, read back record by record. What is not as it should be fails the
   running cmocka test. */
#ifndef SUPPORT_EVENTS_H
#define SUPPORT_EVENTS_H
#if CORNU_TENSORBOARD

#include "format/tensorboard/event.pb-c.h"

enum { EVENTS_MOST = 400 };

typedef struct events {
    Tensorboard__Event *event[EVENTS_MOST];
    int count;
} events;

/* All event files in a folder of the scratch folder; their number. */
int events_read(const char *folder, events *all);
void events_free(events *all);
/* The event's one value; NULL where it has none. */
const Tensorboard__Summary__Value *events_value(const Tensorboard__Event *e);
/* The event under this tag of this step; NULL where there is none. */
const Tensorboard__Tensor *events_find(const events *all, const char *tag, int64_t step);
int events_count(const events *all, const char *tag);
float events_scalar(const events *all, const char *tag, int64_t step);
/* What the tag tells of hyperparameters, to be freed; and one of them. */
Tensorboard__Hyperparameters *events_hyperparameters(const events *all, const char *tag);
const Tensorboard__Hyperparameters__Setting *events_setting(const Tensorboard__Hyperparameters *h,
                                                            const char *key);
/* The operations of the last event under this tag, to be freed. */
Tensorboard__RunMetadata *events_operations(const events *all, const char *tag);

#endif
#endif
