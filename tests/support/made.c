#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/made.h"
#include "support/scratch.h"
#include <cornu/images.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include <jpeglib.h>

int made_open(void **state)
{
    if (scratch_open(state))
        return -1;
    setenv("HOME", scratch_path("home"), 1);
    unsetenv("XDG_CACHE_HOME");
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("KERAS_HOME");
    unsetenv("CORNU_DATA");
    return 0;
}

const char made_small_recipe[] = "data: mnist\n"
                                 "model:\n"
                                 "  input: [28, 28, 1]\n"
                                 "  layers: [Flatten, {Dense: {units: 10, activation: softmax}}]\n"
                                 "compile: {optimizer: sgd, loss: categorical_crossentropy, "
                                 "metrics: [accuracy]}\n"
                                 "fit: {batch_size: 10, epochs: 3}\n";

int made_open_small(void **state)
{
    if (made_open(state))
        return -1;
    scratch_write("small.yaml", made_small_recipe, strlen(made_small_recipe));
    made_mnist("mnist", 60, 20, 0);
    return 0;
}

static const char *with_parents(const char *name)
{
    const char *path = scratch_path(name);
    char part[1024];
    for (const char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
        snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        mkdir(part, 0755);
    }
    return path;
}

const char *made_file(const char *name, const void *data, size_t size)
{
    with_parents(name);
    return scratch_write(name, data, size);
}

const char *made_gz(const char *name, const void *data, size_t size)
{
    const char *path = with_parents(name);
    gzFile file = gzopen(path, "wb");
    if (!file || gzwrite(file, data, (unsigned)size) != (int)size || gzclose(file) != Z_OK)
        exit(1);
    return path;
}

const char *made_idx(const char *name, int rank, const uint32_t *dims, int modulo)
{
    size_t header = 4 + 4 * (size_t)rank, count = 1;
    for (int i = 0; i < rank; i++)
        count *= dims[i];
    uint8_t *data = calloc(1, header + count);
    data[2] = 8;
    data[3] = (uint8_t)rank;
    for (int i = 0; i < rank; i++)
        for (int b = 0; b < 4; b++)
            data[4 + 4 * i + b] = (uint8_t)(dims[i] >> (24 - 8 * b));
    for (size_t i = 0; i < count; i++)
        data[header + i] = (uint8_t)(i % (size_t)modulo);
    size_t length = strlen(name);
    const char *path = length > 3 && !strcmp(name + length - 3, ".gz")
                           ? made_gz(name, data, header + count)
                           : made_file(name, data, header + count);
    free(data);
    return path;
}

void made_mnist(const char *folder, unsigned train, unsigned test, int gz)
{
    char name[256];
    const char *ending = gz ? ".gz" : "";
    for (int split = 0; split < 2; split++) {
        uint32_t dims[3] = {split ? test : train, 28, 28};
        snprintf(name, sizeof name, "%s/%s-images-idx3-ubyte%s", folder, split ? "t10k" : "train",
                 ending);
        made_idx(name, 3, dims, 256);
        snprintf(name, sizeof name, "%s/%s-labels-idx1-ubyte%s", folder, split ? "t10k" : "train",
                 ending);
        made_idx(name, 1, dims, 10);
    }
}

const char *made_cifar(const char *name, int records, int label_bytes, int classes)
{
    size_t record = (size_t)label_bytes + 3072;
    uint8_t *data = malloc(record * (size_t)records + 1), *at = data;
    for (int i = 0; i < records; i++) {
        *at = 7;
        at[label_bytes - 1] = (uint8_t)(i % classes);
        at += label_bytes;
        for (int c = 0; c < 3; c++)
            memset(at + 1024 * c, 10 * (c + 1), 1024);
        at[0] = 99;
        at += 3072;
    }
    const char *path = made_file(name, data, record * (size_t)records);
    free(data);
    return path;
}

void made_cifar10(const char *folder, int records)
{
    char name[256];
    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "%s/data_batch_%d.bin", folder, i + 1);
        made_cifar(name, records, 1, 10);
    }
    snprintf(name, sizeof name, "%s/test_batch.bin", folder);
    made_cifar(name, records, 1, 10);
}

const char *made_jpeg(const char *name, int height, int width, int components, const uint8_t *color)
{
    const char *path = with_parents(name);
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    FILE *stream = fopen(path, "wb");
    uint8_t *row = malloc((size_t)width * (size_t)components);
    for (int i = 0; i < width * components; i++)
        row[i] = color[i % components];
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_stdio_dest(&jpeg, stream);
    jpeg.image_height = (JDIMENSION)height;
    jpeg.image_width = (JDIMENSION)width;
    jpeg.input_components = components;
    jpeg.in_color_space = components == 1 ? JCS_GRAYSCALE : components == 3 ? JCS_RGB : JCS_CMYK;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, 100, TRUE);
    jpeg_start_compress(&jpeg, TRUE);
    while (jpeg.next_scanline < jpeg.image_height)
        jpeg_write_scanlines(&jpeg, &row, 1);
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    fclose(stream);
    free(row);
    return path;
}

const char *made_grey(const char *name, int grey)
{
    char pixel[] = "P5 1 1 255\n?";
    pixel[11] = (char)grey;
    return made_file(name, pixel, 12);
}

int64_t made_count(const cornu_data *data, cornu_split split)
{
    cornu_data_info info = {.size = sizeof info};
    assert_int_equal(cornu_data_info_get(data, &info), CORNU_OK);
    return info.count[split];
}

int64_t made_skipped(const cornu_data *data)
{
    cornu_data_loading loading = {.size = sizeof loading};
    assert_int_equal(cornu_data_loading_get(data, &loading), CORNU_OK);
    return loading.skipped;
}

cornu_status made_read(const char *path, int64_t height, int64_t width, int64_t channels,
                       float *values)
{
    const cornu_image_options o = {
        .size = sizeof o, .height = height, .width = width, .channels = channels};
    int64_t count; /* absurd sizes are tests, too */
    if (__builtin_mul_overflow(height, width, &count) ||
        __builtin_mul_overflow(count, channels, &count))
        count = INT64_MAX;
    return cornu_image_read(path, &o, values, count);
}

cornu_status made_read_for(const cornu_model *model, const char *path, float *values)
{
    cornu_image_options o = {.size = sizeof o};
    cornu_status status = cornu_model_image_options(model, &o);
    if (status != CORNU_OK)
        return status;
    return cornu_image_read(path, &o, values, o.height * o.width * o.channels);
}
