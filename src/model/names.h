/* Names that users write: which row do they mean, and if none, which one is nearest? */
#ifndef MODEL_NAMES_H
#define MODEL_NAMES_H

#include "base/doc.h"

/* Changes of one letter (insert, delete, replace, swap) that turn `a` into `b`, letter case
   ignored; names longer than 63 bytes count as far away. */
int name_distance(const char *a, const char *b);
/* The number of the name in names[count] that is near enough to be meant, or -1. */
int name_nearest(const char *name, const char *const *names, int count);
/* Fail with `unknown WHAT "NAME"; did you mean "..."? cornu has A, B, C`. */
cornu_status name_fail(const doc *at, const char *what, const char *name, const char *const *names,
                       int count);

/* Refuse what stands for code of somebody else, as Keras's JSON marks it: a Lambda layer, a
   registered name ("Package>Name"), a module other than Keras's. Its class may be called like one
   of Keras's. */
cornu_status name_refuse_custom(const doc *at);

/* A choice of one named thing with options, in each form that a recipe may use:
     adam
     {class_name: Adam, config: {learning_rate: 0.01}}     Keras's, with module and registered_name
     {adam: {learning_rate: 0.01}}
   *options is NULL where there are none. `what` is "an optimizer". */
cornu_status name_split(const doc *d, const char *what, const char **name, const doc **options);

#endif
