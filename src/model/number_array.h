/* An array of numbers among a layer's options: an operand that is the same for every sample. */
#ifndef MODEL_NUMBER_ARRAY_H
#define MODEL_NUMBER_ARRAY_H

#include "base/doc.h"
#include "model/shape.h"

/* The most numbers of an array, which are text in a document (base/doc.h). */
enum { NUMBER_ARRAY_MOST = 32768 };

typedef struct number_array {
    shape shape;   /* rank 0: one number */
    float *values; /* [shape_elements]; NULL: there is no array */
} number_array;

/* Read a number, or lists of numbers, each as long as those beside it; true and false are 1 and 0.
   Or what Keras makes of an array: {class_name: __numpy__, config: {value: [[1, 2]], ...}}. Takes
   the place of the array that *out has. */
cornu_status number_array_read(const doc *d, number_array *out);
/* The number, or Keras's form; a new reference. */
json_t *number_array_to_json(const number_array *a);
/* The number, or lists of numbers; a new reference. */
json_t *number_array_to_list(const number_array *a);
void number_array_free(number_array *a);

/* Fail unless the array can stand beside a tensor whose samples have the shape `x`: it has no more
   axes, and length 1 in the place of the batch. *out is its shape for each sample, of x's rank. */
cornu_status number_array_beside(const number_array *a, const shape *x, shape *out);

#endif
