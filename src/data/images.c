/* A folder of images: train/CLASS/IMAGE and test/CLASS/IMAGE, or CLASS/IMAGE of which a share may
   be set apart; decoded once to bytes of one size. Classes are in the byte order of their names, as
   Python's sorted() and so Keras number them; samples are in the order of class, folder, name. */
#include "data/images.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/threads.h"
#include "data/image.h"
#include <stdlib.h>
#include <string.h>

static const char *const test_names[] = {"test", "validation", "val", "valid", NULL};

/* The folder of the test split, or NULL. */
static cornu_status test_folder(const char *folder, char **out)
{
    for (int i = 0; test_names[i]; i++) {
        TRY(path_join(folder, test_names[i], out));
        if (folder_exists(*out))
            return CORNU_OK;
        free(*out);
        *out = NULL;
    }
    return CORNU_OK;
}

bool images_present(const char *folder)
{
    char *train = NULL;
    bool found = path_join(folder, "train", &train) == CORNU_OK && folder_exists(train);
    free(train);
    return found;
}

/* ---- decoding ---- */

/* The files of one split on the way into its block. */
typedef struct work {
    const data_request *request;
    image_file **files; /* [count] */
    size_t count;
    uint8_t *pixels; /* [count][height][width][channels] */
    int64_t sample;  /* bytes of one */
} work;

/* Runs on the threads of the pool; each image has its own place. */
static void decode_one(void *context, int64_t chunk, int worker)
{
    (void)worker;
    work *w = context;
    image_file *file = w->files[chunk];
    const data_request *r = w->request;
    image from = {0};
    cornu_status status = image_open(file->path, &from);
    if (status == CORNU_OK)
        status = image_fit(&from, r->height, r->width, r->channels, r->filter,
                           w->pixels + chunk * w->sample);
    if (status != CORNU_OK && memory_copy_string(cornu_last_error(), &file->problem) != CORNU_OK)
        file->label = -1;
    image_close(&from);
}

static cornu_status decode_all(work *w)
{
    threads *pool = NULL;
    TRY(threads_open(0, &pool));
    threads_run(pool, (int64_t)w->count, decode_one, w);
    threads_close(pool);
    return CORNU_OK;
}

/* Close the gaps that unreadable files left, and write the labels. */
static cornu_status compact(work *w, int32_t *labels, skips *skipped, int64_t *kept)
{
    *kept = 0;
    for (size_t i = 0; i < w->count; i++) {
        const image_file *file = w->files[i];
        if (file->problem || file->label < 0) {
            TRY(skips_add(skipped, file->problem ? file->problem : "an image could not be read"));
            continue;
        }
        if ((size_t)*kept != i)
            memmove(w->pixels + *kept * w->sample, w->pixels + (int64_t)i * w->sample,
                    (size_t)w->sample);
        labels[(*kept)++] = file->label;
    }
    return CORNU_OK;
}

static cornu_status decode_split(work *w, cornu_split split, skips *skipped, cornu_data *data)
{
    const data_request *r = w->request;
    shape s = {3, {r->height, r->width, r->channels}}, none = {0};
    int32_t *labels;
    w->sample = shape_elements(&s);
    TRY(data_reserve_inputs(data, split, (int64_t)w->count, &s, SAMPLE_U8, &w->pixels));
    TRY(data_reserve_targets(data, split, &none, SAMPLE_I32, &labels));
    TRY(decode_all(w));
    return compact(w, labels, skipped, &data->block[split].count);
}

/* Decode the files that `test` tells into a split. */
static cornu_status read_split(image_files *files, bool test, cornu_split split,
                               const data_request *request, skips *skipped, cornu_data *data)
{
    cornu_status status = CORNU_OK;
    work w = {.request = request};
    TRY(memory_new(files->count + 1, sizeof(image_file *), "list of images", &w.files));
    for (size_t i = 0; i < files->count; i++)
        if (files->items[i].test == test)
            w.files[w.count++] = &files->items[i];
    if (w.count > 0)
        status = decode_split(&w, split, skipped, data);
    free(w.files);
    return status;
}

/* ---- folders ---- */

static cornu_status check_test_classes(const char *folder, const name_list *found,
                                       const cornu_data *data)
{
    for (size_t i = 0; i < found->count; i++) {
        bool known = false;
        for (int k = 0; k < data->class_count && !known; k++)
            known = !strcmp(found->names[i], data->class_names[k]);
        if (!known)
            return status_fail(CORNU_BAD_FILE,
                               "%s/%s: class that is not in train; expected the same classes",
                               folder, found->names[i]);
    }
    return CORNU_OK;
}

/* The files of all classes. A class may be missing in the test split. */
static cornu_status scan(const char *folder, const cornu_data *data, double share, skips *skipped,
                         image_files *files)
{
    for (int k = 0; k < data->class_count; k++) {
        char *path = NULL;
        TRY(path_join(folder, data->class_names[k], &path));
        cornu_status status = CORNU_OK;
        if (folder_exists(path))
            status = images_scan_class(path, data->class_names[k], k, share, skipped, files);
        else
            data_notice(skipped->options, "%s: class without images", path);
        free(path);
        TRY(status);
    }
    return CORNU_OK;
}

/* Read a folder of classes: one split, or (with a share) both. */
static cornu_status read_folder(const char *folder, cornu_split split, double share,
                                const data_request *request, cornu_data *data)
{
    cornu_status status;
    skips skipped = {.options = &request->options};
    image_files files = {0};
    TRY_GOTO(scan(folder, data, share, &skipped, &files));
    TRY_GOTO(read_split(&files, false, split, request, &skipped, data));
    if (share > 0)
        TRY_GOTO(read_split(&files, true, CORNU_TEST, request, &skipped, data));
    TRY_GOTO(skips_finish(&skipped, folder));
    if (data->block[split].count == 0)
        status = status_fail(CORNU_BAD_FILE,
                             "%s: found no readable images (%lld files skipped); expected "
                             "CLASS/IMAGE of " IMAGE_FORMATS,
                             folder, (long long)skipped.count);
    else if (share > 0 && data->block[CORNU_TEST].count == 0)
        data_notice(&request->options, "%s: validation_split %g of %lld images is none", folder,
                    share, (long long)data->block[split].count);
    data->skipped += skipped.count;
done:
    free(skipped.first);
    image_files_free(&files);
    return status;
}

static cornu_status read_classes(const char *folder, const data_request *request, cornu_data *data)
{
    name_list classes = {0};
    cornu_status status = images_list_classes(folder, &request->options, &classes);
    if (status == CORNU_OK && classes.count == 0)
        status = status_fail(CORNU_BAD_FILE, "%s: found no folders; expected one a class", folder);
    if (status == CORNU_OK)
        status = data_set_classes(data, (const char *const *)classes.names, (int)classes.count);
    if (status == CORNU_OK && classes.count == 1)
        data_notice(&request->options, "%s: only one class, %s", folder, classes.names[0]);
    names_free(&classes);
    return status;
}

static cornu_status read_test(const char *folder, const data_request *request, cornu_data *data)
{
    name_list classes = {0};
    cornu_status status = images_list_classes(folder, &request->options, &classes);
    if (status == CORNU_OK)
        status = check_test_classes(folder, &classes, data);
    if (status == CORNU_OK)
        status = read_folder(folder, CORNU_TEST, 0, request, data);
    names_free(&classes);
    return status;
}

cornu_status images_read(const char *folder, const data_request *request, cornu_data *data)
{
    cornu_status status;
    char *train = NULL, *test = NULL;
    double share = request->validation_split;
    bool split = images_present(folder);
    TRY_GOTO(split ? path_join(folder, "train", &train) : memory_copy_string(folder, &train));
    if (split)
        TRY_GOTO(test_folder(folder, &test));
    if (test && share > 0) {
        status = status_fail(CORNU_INVALID,
                             "%s: found this folder and a validation_split of %g; expected one",
                             test, share);
        goto done;
    }
    TRY_GOTO(read_classes(train, request, data));
    TRY_GOTO(read_folder(train, CORNU_TRAIN, share, request, data));
    if (test)
        TRY_GOTO(read_test(test, request, data));
    data_notice(&request->options, "%s: %lld images in %d classes (%lld files skipped)", data->name,
                (long long)(data->block[0].count + data->block[1].count), data->class_count,
                (long long)data->skipped);
done:
    free(train);
    free(test);
    return status;
}
