/* TensorBoard's event files, read back record by record. An error in them fails the running cmocka
   test. */
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
/* The event with this tag and step; NULL if there is none. */
const Tensorboard__Tensor *events_find(const events *all, const char *tag, int64_t step);
int events_count(const events *all, const char *tag);
float events_scalar(const events *all, const char *tag, int64_t step);
/* The hyperparameters in the tag, which the caller frees; and one of them. */
Tensorboard__Hyperparameters *events_hyperparameters(const events *all, const char *tag);
const Tensorboard__Hyperparameters__Setting *events_setting(const Tensorboard__Hyperparameters *h,
                                                            const char *key);
/* The operations of the last event with this tag; the caller frees them. */
Tensorboard__RunMetadata *events_operations(const events *all, const char *tag);

#endif
#endif
