/* A residual network of 20 layers for CIFAR-10 (He et al. 2015), built layer by layer: that of
   resnet20.yaml. Layers that others name as their inputs have names. */
#ifndef RESNET20_H
#define RESNET20_H

#include <cornu/cornu.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* printf-like: appends a layer whose options are made from `format`. */
static cornu_status add(cornu_model *m, const char *class_name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static cornu_status add(cornu_model *m, const char *class_name, const char *format, ...)
{
    char options[256];
    va_list values;
    va_start(values, format);
    vsnprintf(options, sizeof options, format, values);
    va_end(values);
    return cornu_model_add(m, class_name, options);
}

static cornu_status add_convolution(cornu_model *m, int filters, int kernel, int strides,
                                    const char *more)
{
    return add(m, "Conv2D",
               "{filters: %d, kernel_size: %d, strides: %d, padding: same, kernel_initializer: "
               "he_normal%s}",
               filters, kernel, strides, more);
}

/* Two convolutions, and the sum of their output and of `input`, which a convolution brings into
   shape where a stage begins. The block's output, after a relu, is called `name`. */
static cornu_status add_block(cornu_model *m, const char *input, const char *name, int filters,
                              int strides)
{
    char more[64], shortcut[32];
    cornu_status status = add_convolution(m, filters, 3, strides, "");
    if (status == CORNU_OK)
        status = add(m, "BatchNormalization", "{}");
    if (status == CORNU_OK)
        status = add(m, "ReLU", "{}");
    if (status == CORNU_OK)
        status = add_convolution(m, filters, 3, 1, "");
    if (status == CORNU_OK)
        status = add(m, "BatchNormalization", "{name: %s_norm}", name);
    snprintf(shortcut, sizeof shortcut, "%s", input);
    if (status == CORNU_OK && strides > 1) {
        snprintf(shortcut, sizeof shortcut, "%s_shortcut", name);
        snprintf(more, sizeof more, ", name: %s, inputs: %s", shortcut, input);
        status = add_convolution(m, filters, 1, strides, more);
    }
    if (status == CORNU_OK)
        status = add(m, "Add", "{inputs: [%s, %s_norm]}", shortcut, name);
    if (status == CORNU_OK)
        status = add(m, "ReLU", "{name: %s}", name);
    return status;
}

static cornu_status resnet20_build(cornu_model **model)
{
    enum { STAGES = 3, BLOCKS = 3 };
    char input[16] = "stem", name[16];
    cornu_status status = cornu_model_new((int64_t[]){32, 32, 3}, 3, model);
    if (status == CORNU_OK)
        status = add_convolution(*model, 16, 3, 1, "");
    if (status == CORNU_OK)
        status = add(*model, "BatchNormalization", "{}");
    if (status == CORNU_OK)
        status = add(*model, "ReLU", "{name: stem}");
    for (int stage = 1; stage <= STAGES; stage++)
        for (int block = 1; status == CORNU_OK && block <= BLOCKS; block++) {
            snprintf(name, sizeof name, "block%d%d", stage, block);
            status = add_block(*model, input, name, 8 << stage, stage > 1 && block == 1 ? 2 : 1);
            memcpy(input, name, sizeof input);
        }
    if (status == CORNU_OK)
        status = add(*model, "GlobalAveragePooling2D", "{}");
    if (status == CORNU_OK)
        status =
            add(*model, "Dense", "{units: 10, activation: softmax, kernel_initializer: he_normal}");
    if (status == CORNU_OK)
        status =
            cornu_model_compile(*model, "{optimizer: {adam: {learning_rate: 0.001}}, loss: "
                                        "sparse_categorical_crossentropy, metrics: [accuracy]}");
    return status;
}

#endif
