/* PyTorch's state_dicts, saved as safetensors: docs/torch.md describes the names and the layout
   of a network's weights. */
#ifndef EXCHANGE_TORCH_H
#define EXCHANGE_TORCH_H

#include "exchange/weight_order.h"
#include "format/tensor_file.h"
#include "model/model.h"

/* The tensors of a module: NAME.weight, NAME.bias, NAME.running_mean, NAME.running_var. */
typedef enum torch_role {
    TORCH_WEIGHT,
    TORCH_BIAS,
    TORCH_MEAN,
    TORCH_VARIANCE,
    TORCH_ROLES
} torch_role;

typedef enum torch_kind {
    TORCH_CONV,
    TORCH_CONV_1D,
    TORCH_LINEAR,
    TORCH_BATCH_NORM,
    TORCH_LAYER_NORM,
    TORCH_OTHER
} torch_kind;

/* A layer with weights as the module that it is in PyTorch. */
typedef struct torch_module {
    const layer *layer;
    torch_kind kind;
    int variable[TORCH_ROLES]; /* the model's variables; -1: the layer has none */
    int64_t flat[3];           /* see weight_order; 0: it reads no flattened image */
} torch_module;

/* Load all weights from the file, or none if one is missing, unused or of another shape:
   CORNU_BAD_FILE names the tensor. Layers of the model and modules of the file that are named in
   the NULL-terminated list `skip` (may be NULL) are ignored. */
cornu_status torch_read(const tensor_file *f, cornu_model *m, const char *const *skip);
/* Write the host's weights, which must be there, under the layers' names. */
cornu_status torch_write(const cornu_model *m, const char *path);

#endif
