/* Small training runs for tests: data that can be learned, models, and comparisons of bits. Every
   function fails the running cmocka test, with cornu's message, where something goes wrong. */
#ifndef SUPPORT_RUNS_H
#define SUPPORT_RUNS_H

#include "data/data.h"
#include "model/model.h"
#include <stddef.h>

/* Fail with cornu's message where `status` is not `expected`. */
#define expect_status(status, expected) runs_expect((status), (expected), __FILE__, __LINE__)
#define expect_ok(status) expect_status(status, CORNU_OK)
void runs_expect(cornu_status status, cornu_status expected, const char *file, int line);
/* The last message must contain `part`, and be one line. */
void expect_message(const char *part);

/* Samples of 8 features in 3 well-separated classes; `train` and `test` of them (0: no such
   split). */
cornu_data *runs_data(int train, int test);
/* A recipe with a small network for runs_data; `compile` and `fit` are YAML flow text, or NULL. */
cornu_model *runs_model(const char *layers, const char *compile, const char *fit);
/* Blocks whose input is also their shortcut, one within the other, on rows and on images. */
#define BRANCHING                                                                               \
    "[{Dense: {units: 32, activation: relu, name: x}}, {Dropout: {rate: 0.4, inputs: x}}, "     \
    "{Dense: {units: 32}}, {BatchNormalization: {name: n}}, {Add: {inputs: [x, n], name: a}}, " \
    "{Dropout: {rate: 0.2, inputs: x, name: d}}, {Average: {inputs: [a, d, x]}}, "              \
    "{Reshape: {target_shape: [4, 4, 2], name: r}}, {Conv2D: {filters: 2, kernel_size: 3, "     \
    "padding: same, activation: relu}}, {BatchNormalization: {name: m}}, "                      \
    "{Add: {inputs: [m, r], name: s}}, {MaxPooling2D: {inputs: s, name: p}}, "                  \
    "{Conv2D: {filters: 2, kernel_size: 1, strides: 2, inputs: s, name: c}}, "                  \
    "{Add: {inputs: [c, p]}}, Flatten, {Dense: {units: 3, activation: softmax}}]"
/* The usual one: Dense 16 relu, Dropout, BatchNormalization, Dense 3 softmax; Adam. */
cornu_model *runs_usual(const char *fit);
/* The same, trained, with class names, callbacks with state, and best weights. */
cornu_model *runs_trained(void);

/* Same weights and slots, bit by bit? */
bool same_bits(const cornu_model *a, const cornu_model *b);

/* Did the last session that was opened recompute? */
bool runs_recomputed(void);

/* should_stop after `steps` calls; user points to the count left. */
bool stop_after(void *user);

/* on_notice: keeps the lines, one after another. */
typedef struct notices {
    char lines[4096];
    int count;
} notices;
void notices_add(void *user, const char *line);

#endif
