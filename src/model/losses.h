/* Losses: Keras's. Their arithmetic is in device/rules/losses.h. */
#ifndef MODEL_LOSSES_H
#define MODEL_LOSSES_H

#include "base/doc.h"
#include "model/kinds.h"

/* The targets that the outputs are compared with. */
typedef enum loss_targets {
    LOSS_TARGETS_CLASSES, /* a sample's class number */
    LOSS_TARGETS_SHARES,  /* a value per class: one-hot, or numbers from 0 to 1 */
    LOSS_TARGETS_VALUES   /* any numbers */
} loss_targets;

typedef struct loss_kind {
    const char *name;       /* "categorical_crossentropy" */
    const char *class_name; /* "CategoricalCrossentropy" */
    const char *other_name; /* "mse"; or NULL */
    loss_targets targets;
    bool sparse;     /* targets are class numbers */
    bool has_logits; /* has a form on logits, which Keras also uses under a softmax or sigmoid */
} loss_kind;

typedef struct loss {
    loss_id id;
    bool from_logits; /* the user said so */
} loss;

const loss_kind *loss_kind_of(loss_id id);
cornu_status loss_read(const doc *d,
                       loss *out); /* name, or {class_name, config}, or {NAME: {...}} */
json_t *loss_to_json(const loss *l);
/* The rows with their options: a list for cornu_tables. */
json_t *loss_table(void);

#endif
