/* Names that users write: find the row that a name means, or else the nearest name. */
#ifndef MODEL_NAMES_H
#define MODEL_NAMES_H

#include "base/doc.h"

/* The number of single-letter edits (insert, delete, replace, swap) between `a` and `b`, letter
   case ignored; names longer than 63 bytes count as far apart. */
int name_distance(const char *a, const char *b);
/* The index in names[count] of the name that was probably meant, or -1 where none is near
   enough. */
int name_nearest(const char *name, const char *const *names, int count);
/* Fail with `unknown WHAT "NAME"; did you mean "..."? cornu has A, B, C`. */
cornu_status name_fail(const doc *at, const char *what, const char *name, const char *const *names,
                       int count);

/* Refuse references to foreign code, as Keras's JSON marks them: a Lambda layer, a registered name
   ("Package>Name"), a module other than Keras's. Such a class may have the name of one of
   Keras's. */
cornu_status name_refuse_custom(const doc *at);

/* A choice of one named thing with options, in each form that a recipe may use:
     adam
     {class_name: Adam, config: {learning_rate: 0.01}}     Keras's, with module and registered_name
     {adam: {learning_rate: 0.01}}
   *options is NULL where there are none. `what` is "an optimizer". */
cornu_status name_split(const doc *d, const char *what, const char **name, const doc **options);

#endif
