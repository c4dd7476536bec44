#include "support/residual.h"
#include "base/memory.h"
#include "support/runs.h"

static void add_convolution(text *t, int filters, int kernel, int strides, const char *more)
{
    text_add(t,
             ", {Conv2D: {filters: %d, kernel_size: %d, strides: %d, padding: same, "
             "kernel_initializer: he_normal%s}}",
             filters, kernel, strides, more);
}

/* A block is called by the number of its last relu; block 0 is the stem. */
static void add_block(text *t, int number, int filters, int strides, const char *more)
{
    char shortcut[64];
    add_convolution(t, filters, 3, strides, "");
    text_add(t, ", BatchNormalization, ReLU%s", more);
    add_convolution(t, filters, 3, 1, "");
    text_add(t, ", {BatchNormalization: {name: norm_%d}}", number);
    if (strides > 1) {
        snprintf(shortcut, sizeof shortcut, ", name: short_%d, inputs: block_%d", number,
                 number - 1);
        add_convolution(t, filters, 1, strides, shortcut);
        text_add(t, ", {Add: {inputs: [short_%d, norm_%d]}}", number, number);
    } else {
        text_add(t, ", {Add: {inputs: [block_%d, norm_%d]}}", number - 1, number);
    }
    text_add(t, ", {ReLU: {name: block_%d}}", number);
}

char *residual_recipe(int blocks, int side, const char *more)
{
    text t = {0};
    char *out = NULL;
    text_add(&t,
             "model: {input: [%d, %d, 3], layers: [{Conv2D: {filters: 16, kernel_size: 3, padding: "
             "same, kernel_initializer: he_normal}}, BatchNormalization, {ReLU: {name: block_0}}",
             side, side);
    for (int i = 0; i < 3 * blocks; i++) {
        const int stage = i / blocks;
        add_block(&t, i + 1, 16 << stage, stage > 0 && i % blocks == 0 ? 2 : 1, more);
    }
    text_add(&t,
             ", GlobalAveragePooling2D, {Dense: {units: 10, activation: softmax}}]}\n"
             "compile: {optimizer: adam, loss: categorical_crossentropy, metrics: [accuracy]}\n");
    expect_ok(text_take(&t, &out));
    return out;
}
