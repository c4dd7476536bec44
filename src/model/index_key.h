/* The key of a part of a tensor, as Python has it between brackets: x[:, 1:3, ..., 0, None]. */
#ifndef MODEL_INDEX_KEY_H
#define MODEL_INDEX_KEY_H

#include "base/doc.h"
#include "model/shape.h"

typedef enum index_kind { INDEX_RANGE, INDEX_ONE, INDEX_ELLIPSIS, INDEX_NEW_AXIS } index_kind;
enum { INDEX_BEGIN, INDEX_END, INDEX_STEP, INDEX_NUMBERS };
typedef struct index_item {
    index_kind kind;
    bool given[INDEX_NUMBERS];
    int64_t number[INDEX_NUMBERS]; /* INDEX_ONE has the first */
} index_item;

enum { INDEX_ITEMS_MAX = 2 * SHAPE_MAX };
typedef struct index_key {
    int count;
    index_item item[INDEX_ITEMS_MAX];
} index_key;

/* Read the text ":, 1:3, ..., 0, None", or Keras's form: a list of numbers, nulls and {class_name:
   __slice__, config: {start, stop, step}}; or one of these. */
cornu_status index_key_read(const doc *d, index_key *out);
json_t *index_key_to_json(const index_key *key); /* Keras's form; a new reference */

/* Elements begin, begin + step, ... of an axis; the step of one element is 1. */
typedef struct index_run {
    int64_t begin, step, count;
} index_run;

/* What the key selects of a tensor of this shape, which lacks the batch: runs[i] of dimension i,
   and the shape of the result. The batch, which is the key's first axis, must stay whole. The rank
   of the result may exceed what a shape can have; its dimensions are then incomplete. */
cornu_status index_key_apply(const index_key *key, const shape *in, index_run runs[SHAPE_MAX],
                             shape *out);

#endif
