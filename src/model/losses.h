/* Losses: Keras's, row by row. */
#ifndef MODEL_LOSSES_H
#define MODEL_LOSSES_H

#include "base/doc.h"
#include "model/emit.h"

/* One sample's loss over its n outputs, and its gradient with respect to them in grad[n] (may be
   NULL). target: [n], or [1] (the class number) where the row's sparse flag is set. */
typedef double loss_row(const float *output, const float *target, int64_t n, float *grad);

typedef struct loss_kind {
    const char *name;       /* "categorical_crossentropy" */
    const char *class_name; /* "CategoricalCrossentropy" */
    bool sparse;            /* target is a class number */
    bool has_logits; /* has a form on logits, which Keras also takes under softmax or sigmoid */
    loss_row *row;   /* on outputs (probabilities) */
    loss_row *logits_row; /* on logits, or NULL */
} loss_kind;

/* losses.def: LOSS(id, name, class name, sparse, row, logits row or NULL) */
typedef enum loss_id {
#define LOSS(id, name, class_name, sparse, row, logits_row) LOSS_##id,
#include "model/losses.def"
#undef LOSS
    LOSS_COUNT
} loss_id;

typedef struct loss {
    loss_id id;
    bool from_logits; /* the user said so */
} loss;

const loss_kind *loss_kind_of(loss_id id);
cornu_status loss_read(const doc *d,
                       loss *out); /* name, or {class_name, config}, or {NAME: {...}} */
json_t *loss_to_json(const loss *l);

#endif
