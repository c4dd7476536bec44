/* Small data sets made for the tests, in the scratch folder. */
#ifndef SUPPORT_MADE_H
#define SUPPORT_MADE_H

#include <cornu/cornu.h>
#include <stddef.h>

/* cmocka setup: a scratch folder, and an environment in which none of the user's files is found. */
int made_open(void **state);
/* The same, with small.yaml, a recipe for 28 x 28 pixels, and the folder mnist of 60 + 20 samples.
 */
extern const char made_small_recipe[];
int made_open_small(void **state);

/* Write a file into the scratch folder, with its parents; returns its path. */
const char *made_file(const char *name, const void *data, size_t size);
/* The same, gzip-compressed. */
const char *made_gz(const char *name, const void *data, size_t size);
/* An IDX file with bytes 0, 1, 2, ... modulo `modulo`; a name that ends with .gz is compressed. */
const char *made_idx(const char *name, int rank, const uint32_t *dims, int modulo);
/* The four files of MNIST with `train` and `test` samples; labels count up modulo 10. */
void made_mnist(const char *folder, unsigned train, unsigned test, int gz);
/* CIFAR files of `records` records: record i has label i modulo `classes`, red 10, green 20, blue
   30, but red 99 in the first pixel. `label_bytes` is 1 or 2 (the first is then 7). */
const char *made_cifar(const char *name, int records, int label_bytes, int classes);
void made_cifar10(const char *folder, int records);
/* A JPEG of one colour: components 1 (grey), 3 (RGB) or 4 (Adobe's CMYK, `color` inverted as
 * stored). */
const char *made_jpeg(const char *name, int height, int width, int components,
                      const uint8_t *color);
/* A picture of one pixel with this grey. */
const char *made_grey(const char *name, int grey);

/* Read a picture as floats in 0..1, resized to the nearest pixels; and as the model's recipe says.
 */
cornu_status made_read(const char *path, int64_t height, int64_t width, int64_t channels,
                       float *values);
cornu_status made_read_for(const cornu_model *model, const char *path, float *values);

/* A data set's own count: samples of a split; unusable files of its folder. */
int64_t made_count(const cornu_data *data, cornu_split split);
int64_t made_skipped(const cornu_data *data);

#endif
