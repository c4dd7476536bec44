/* Weights and networks for other programs: PyTorch's names, ONNX. The conventions are those of
 * cornu.h. */
#ifndef CORNU_EXCHANGE_H
#define CORNU_EXCHANGE_H

#include <cornu/cornu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a file of weights calls and keeps them. */
typedef struct cornu_weights_options {
    /* NULL: as cornu and Keras do; "torch": as PyTorch does in a state_dict that is saved as
       .safetensors (docs/torch.md). */
    const char *names;
    /* cornu_model_load_weights_as: layers, NULL-ended, whose weights stay as they are, such as the
       last one of a network for other classes: those of the model by these names, and what the file
       calls so. NULL: none. */
    const char *const *skip;
    /* cornu_model_load_weights_as, as Keras has them. by_name: weights go to the layers of the same
       name, and other layers stay as they are, also where the file has layers more; not of .onnx,
       nor with `names`. skip_mismatch: what has another shape stays as it is, too; without by_name
       of Keras 3's files alone, whose layers go by class and order. A file without weights for any
       layer is CORNU_BAD_FILE. on_notice (may be NULL) is told how many layers there were weights
       for, and what stays. */
    bool by_name, skip_mismatch;
    void (*on_notice)(void *user, const char *line);
    void *user;
    uint64_t reserved[4]; /* 0 */
} cornu_weights_options;

CORNU_API cornu_status cornu_model_load_weights_as(cornu_model *model, const char *path,
                                                   const cornu_weights_options *options);
/* Write weights alone, for cornu_model_load_weights_as, to a .safetensors file, atomically; without
   `names` also to one of Keras's. */
CORNU_API cornu_status cornu_model_save_weights(const cornu_model *model, const char *path,
                                                const cornu_weights_options *options);
typedef struct cornu_export_options {
    /* The input is uint8 pixels, and what cornu does to those first (its scale, standardization) is
       in the file; else the input is what the network itself sees: pixels scaled, and standardized
       where the recipe says so. */
    bool preprocess;
    uint64_t reserved[8]; /* 0 */
} cornu_export_options;

/* Write the network for prediction as ONNX (opset 17), atomically: "input" [batch][input shape],
   images NHWC, to "output", the batch of any size, the weights inside. Metadata: class_names, a
   list as JSON, where they are known; of networks of pictures, without `preprocess`, pixel_scale,
   which pixels are to be multiplied by. CORNU_UNSUPPORTED in a build without ONNX. */
CORNU_API cornu_status cornu_model_export_onnx(const cornu_model *model, const char *path,
                                               const cornu_export_options *options);

#ifdef __cplusplus
}
#endif
#endif
