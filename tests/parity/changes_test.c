/* The results of Keras's ImageDataGenerator (peers/make_changes.py, which describes the files) must
   come out here too. CORNU_CHANGES names a folder of further files, of photographs say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/gather_sample.h"
#include "format/tensor_file.h"
#include "support/fixtures.h"
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The numbers of CASE/parameters. */
enum {
    THETA,
    TX,
    TY,
    SHEAR,
    ZX,
    ZY,
    CHANNEL_SHIFT,
    BRIGHTNESS,
    FLIP_HORIZONTAL,
    FLIP_VERTICAL,
    FILL,
    CVAL,
    RESCALE,
    SAMPLEWISE_CENTER,
    SAMPLEWISE_STD,
    FEATUREWISE_CENTER,
    FEATUREWISE_STD,
    PARAMETERS
};

typedef struct tally {
    int64_t values, apart; /* that differ by more than a 255th of the range */
    int cases;
    double largest; /* difference in 255ths */
} tally;

static const file_tensor *member(const tensor_file *f, const char *name, const char *what)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", name, what);
    return tensor_file_find(f, path);
}

static random_transform transform_of(const double *p)
{
    return (random_transform){.rotation = p[THETA],
                              .shear = p[SHEAR],
                              .right = p[TX],
                              .down = p[TY],
                              .zoom_x = p[ZX],
                              .zoom_y = p[ZY],
                              .channel_shift = (float)p[CHANNEL_SHIFT],
                              .brightens = p[BRIGHTNESS] >= 0,
                              .brightness = (float)p[BRIGHTNESS],
                              .cval = (float)p[CVAL],
                              .fill = (fill_mode)p[FILL],
                              .flip_horizontal = p[FLIP_HORIZONTAL] != 0,
                              .flip_vertical = p[FLIP_VERTICAL] != 0};
}

static standardization standardization_of(const tensor_file *f, const char *name, const double *p)
{
    standardization st = {.samplewise_center = p[SAMPLEWISE_CENTER] != 0,
                          .samplewise_std = p[SAMPLEWISE_STD] != 0,
                          .featurewise_center = p[FEATUREWISE_CENTER] != 0,
                          .featurewise_std = p[FEATUREWISE_STD] != 0};
    const file_tensor *mean = member(f, name, "mean"), *std = member(f, name, "std");
    if (mean && std) {
        st.channels = (int32_t)mean->count;
        memcpy(st.mean, mean->data, (size_t)mean->count * sizeof(float));
        memcpy(st.std, std->data, (size_t)std->count * sizeof(float));
    }
    return st;
}

/* Pixels from Keras range from 0 to 255; scaled or standardized ones are near 0 to 1. */
static void compare(const double *p, const file_tensor *expected, const float *found, tally *t)
{
    bool pixels = p[RESCALE] == 0 && !p[SAMPLEWISE_CENTER];
    const float *y = expected->data;
    for (int64_t i = 0; i < expected->count; i++) {
        double apart = fabs((double)found[i] - (double)y[i]) * (pixels ? 1 : 255);
        t->largest = fmax(t->largest, apart);
        t->apart += !(apart <= 1 + 1e-4);
    }
    t->values += expected->count;
    t->cases++;
}

static void run_case(const tensor_file *f, const char *name, tally *t)
{
    const file_tensor *image = member(f, name, "image"),
                      *parameters = member(f, name, "parameters");
    const file_tensor *y = member(f, name, "y");
    char number[16];
    assert_true(image && parameters && y && parameters->count == PARAMETERS);
    snprintf(number, sizeof number, "%d", ((const int32_t *)image->data)[0]);
    const file_tensor *x = member(f, number, "x");
    assert_true(x && x->rank == 3 && x->type == ELEMENT_U8 && x->count == y->count);
    const double *p = parameters->data;
    sample_block block = {.count = 1,
                          .x_shape = {3, {x->shape[0], x->shape[1], x->shape[2]}},
                          .x_type = SAMPLE_U8,
                          .x = x->data};
    random_transform transform = transform_of(p);
    standardization st = standardization_of(f, name, p);
    float *found = malloc((size_t)x->count * sizeof *found);
    gather_augmented(&block, 0, &transform, found);
    gather_standardize(&st, p[RESCALE] != 0 ? (float)p[RESCALE] : 1, x->shape[2], x->count, found);
    compare(p, y, found, t);
    free(found);
}

/* Every case of a file: those with parameters. Each kind of change has a tally, named by the case's
   name up to " of ". */
static void run_file(const char *path)
{
    tensor_file *f;
    tally all = {0};
    if (tensor_file_open(path, &f) != CORNU_OK)
        fail_msg("%s", cornu_last_error());
    for (int i = 0; i < f->count; i++) {
        char name[200];
        const char *slash = strrchr(f->tensors[i].name, '/');
        tally one = {0};
        if (!slash || strcmp(slash, "/parameters") != 0)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(slash - f->tensors[i].name), f->tensors[i].name);
        run_case(f, name, &one);
        if (one.apart * 1000 > one.values)
            fail_msg("%s: %s: %lld of %lld values differ by more than 1/255 (up to %g/255)", path,
                     name, (long long)one.apart, (long long)one.values, one.largest);
        all.values += one.values;
        all.apart += one.apart;
        all.cases += one.cases;
        all.largest = fmax(all.largest, one.largest);
    }
    assert_true(all.cases > 0);
    print_message("%s: %d changes, %lld values, %lld apart by more than 1/255, at most %.4g/255\n",
                  path, all.cases, (long long)all.values, (long long)all.apart, all.largest);
    tensor_file_close(f);
}

static void small_images_change_as_in_keras(void **state)
{
    (void)state;
    run_file(fixture_path("changes.npz"));
}

static void photographs_change_as_in_keras(void **state)
{
    (void)state;
    const char *folder = getenv("CORNU_CHANGES");
    DIR *d = folder ? opendir(folder) : NULL;
    char path[4096];
    if (!d)
        skip();
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        const char *ending = strrchr(e->d_name, '.');
        if (!ending || strcmp(ending, ".npz") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        run_file(path);
    }
    closedir(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_images_change_as_in_keras),
        cmocka_unit_test(photographs_change_as_in_keras),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
