/* Weights and networks for other programs: PyTorch's names, ONNX. The conventions of cornu.h
 * hold. */
#ifndef CORNU_EXCHANGE_H
#define CORNU_EXCHANGE_H

#include <cornu/cornu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a weights file names and stores the weights. */
typedef struct cornu_weights_options {
    size_t size;
    /* NULL: cornu's and Keras's names; "torch": PyTorch's names and layout, as in a state_dict
       that is saved as .safetensors (docs/torch.md). */
    const char *names;
    /* cornu_model_load_weights_as: a NULL-terminated list of layer names, such as the last layer
       of a network for other classes. Layers of the model with these names keep their weights,
       and the file's weights under these names are not loaded. NULL: none. */
    const char *const *skip;
    /* cornu_model_load_weights_as, as in Keras. by_name: load weights into the layers of the
       same name; other layers keep theirs, and further layers of the file are ignored; not for
       .onnx, nor with `names`. skip_mismatch: weights of another shape are skipped, too; without
       by_name only for Keras's files, whose layers are matched by class and order, or in its
       older .h5 format by order. A file without weights for any layer is CORNU_BAD_FILE.
       on_notice (may be NULL) gets the number of layers that were loaded and the layers that
       were not, if there are any. */
    bool by_name, skip_mismatch;
    void (*on_notice)(void *user, const char *line);
    void *user;
} cornu_weights_options;

CORNU_API cornu_status cornu_model_load_weights_as(cornu_model *model, const char *path,
                                                   const cornu_weights_options *options);
/* Write only the weights, for cornu_model_load_weights_as, to a .safetensors file, atomically;
   without `names` also to a Keras file. */
CORNU_API cornu_status cornu_model_save_weights(const cornu_model *model, const char *path,
                                                const cornu_weights_options *options);
typedef struct cornu_export_options {
    size_t size;
    /* The exported network takes uint8 pixels and contains cornu's preprocessing (scale,
       standardization). Without this it takes preprocessed input: scaled pixels, standardized if
       the recipe says so. */
    bool preprocess;
} cornu_export_options;

/* Write the network for prediction as ONNX (opset 17), atomically: it maps "input" [batch][input
   shape], images NHWC, to "output", for any batch size, and contains the weights. Metadata:
   class_names, a JSON list, if they are known; pixel_scale, the factor for pixels, if the input
   is a picture and `preprocess` is false. CORNU_UNSUPPORTED in a build without ONNX. */
CORNU_API cornu_status cornu_model_export_onnx(const cornu_model *model, const char *path,
                                               const cornu_export_options *options);

#ifdef __cplusplus
}
#endif
#endif
