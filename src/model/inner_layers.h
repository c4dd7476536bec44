/* Layers that are options of other layers: what Bidirectional, TimeDistributed and RNN apply. */
#ifndef MODEL_INNER_LAYERS_H
#define MODEL_INNER_LAYERS_H

#include "model/config.h"
#include "model/model.h"

/* Options of every layer, besides its own. */
typedef struct layer_common {
    const char *name;
    bool trainable;
    shape input_shape;
} layer_common;

/* Fill in config, inner layers and `trainable` of a layer whose kind is set. */
cornu_status layer_read_options(layer *l, const doc *at, const doc *options, layer_common *common);
/* The numbers of the arrays among the layer's options, and those of its inner layers. */
int64_t layer_numbers(const layer *l);
/* The layer that declared weight `number` of those of `l`: itself, or one within it. */
const layer *layer_of_weight(const layer *l, int number);
/* Add the layer's options, and those of its inner layers, as Keras writes them. */
cornu_status layer_write_options(const layer *l, json_t *object);

#endif
