#include "data/folders/image_folder.h"
#include "base/files.h"
#include "base/memory.h"
#include "data/data.h"
#include "data/folders/loader.h"
#include "data/folders/pixels.h"
#include "data/images/image.h"
#include <cornu/images.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---------------------------------------------------------------------------- */

cornu_status data_request_read(const cornu_data_options *options, data_request *request)
{
    *request = (data_request){.scale = -1};
    TRY(STRUCT_READ("cornu_data_options", options, &request->options));
    TRY(STRUCT_READ("cornu_folder_options", request->options.images, &request->images));
    request->options.images = NULL; /* which is the caller's */
    const cornu_folder_options *o = &request->images;
    const double fraction = request->options.fraction;
    request->height = o->height ? o->height : 150;
    request->width = o->width ? o->width : 150;
    request->channels = o->channels ? o->channels : 3;
    if (request->height < 1 || request->width < 1 || request->height > 10000 ||
        request->width > 10000)
        return status_fail(CORNU_INVALID, "image size %lldx%lld; expected 1 to 10000",
                           (long long)request->height, (long long)request->width);
    if (request->channels != 1 && request->channels != 3)
        return status_fail(CORNU_INVALID, "channels: found %lld; expected 1 or 3",
                           (long long)request->channels);
    if (o->workers < 0 || o->workers > 256)
        return status_fail(CORNU_INVALID, "workers: found %d; expected 1 to 256", o->workers);
    TRY(cache_option_read(o->cache, &request->cache_limit));
    request->validation_split = o->validation_split;
    if (o->whole && o->validation_split > 0)
        return status_fail(CORNU_INVALID,
                           "validation_split: found %g of data that is to be taken "
                           "whole; expected one of the two",
                           o->validation_split);
    if (!(o->validation_split >= 0 && o->validation_split < 1))
        return status_fail(CORNU_INVALID,
                           "validation_split: found %g; expected a share of at least 0 and below 1",
                           o->validation_split);
    if (!(fraction >= 0 && fraction <= 1))
        return status_fail(CORNU_INVALID,
                           "fraction: found %g; expected a share above 0 and at most 1", fraction);
    request->filter = image_filter_named(o->interpolation);
    if (!request->filter)
        return status_fail(CORNU_INVALID, "interpolation: found \"%s\"; expected " IMAGE_FILTERS,
                           o->interpolation);
    return CORNU_OK;
}

/* ---- files as samples --------------------------------------------------------------------- */

/* ---- the splits ---- */

/* The result of listing the folders. */
typedef struct listing {
    const data_request *request;
    skips skipped;
    image_files files;
} listing;

/* The training samples first, otherwise in the same order. */
static cornu_status order_splits(image_files *files, int64_t *train)
{
    image_file *sorted;
    TRY(memory_new(files->count + 1, sizeof *sorted, "list of images", &sorted));
    size_t count = 0;
    for (int test = 0; test < 2; test++) {
        for (size_t i = 0; i < files->count; i++)
            if (files->items[i].test == test)
                sorted[count++] = files->items[i];
        if (!test)
            *train = (int64_t)count;
    }
    free(files->items);
    files->items = sorted;
    files->capacity = files->count + 1;
    return CORNU_OK;
}

static cornu_status reserve_values(const image_file *files, int64_t count, cornu_split split,
                                   cornu_data *data)
{
    float *values;
    shape none = {0};
    TRY(data_reserve_targets(data, split, &none, SAMPLE_F32, &values));
    for (int64_t i = 0; i < count; i++)
        values[i] = files[i].value;
    return CORNU_OK;
}

static cornu_status reserve_split(const image_files *all, int64_t first, int64_t count,
                                  cornu_split split, const data_request *r, cornu_data *data)
{
    int32_t *labels;
    shape none = {0};
    const image_file *files = all->items + first;
    sample_block *block = &data->block[split];
    *block = (sample_block){.count = count,
                            .x_shape = {3, {r->height, r->width, r->channels}},
                            .x_type = SAMPLE_U8,
                            .x_scale = 1.0f / 255.0f};
    if (all->values)
        return reserve_values(files, count, split, data);
    if (count > 0 && files->label == LABEL_NONE)
        return CORNU_OK;
    TRY(data_reserve_targets(data, split, &none, SAMPLE_I32, &labels));
    for (int64_t i = 0; i < count; i++)
        labels[i] = files[i].label;
    return CORNU_OK;
}

cornu_status images_load(image_files *files, const data_request *r, skips *skipped,
                         cornu_data *data)
{
    int64_t train = 0, all = (int64_t)files->count;
    TRY(order_splits(files, &train));
    TRY(reserve_split(files, 0, train, CORNU_TRAIN, r, data));
    TRY(reserve_split(files, train, all - train, CORNU_TEST, r, data));
    if (all == 0)
        return CORNU_OK; /* the caller reports what is missing */
    TRY(loader_open(files, r, skipped, data->name, &data->loader));
    const uint8_t *all_pixels = loader_pixels(data->loader);
    data->block[CORNU_TRAIN].x = all_pixels;
    data->block[CORNU_TEST].x =
        all_pixels + train * shape_elements(&data->block[CORNU_TRAIN].x_shape);
    bool together = r->options.ranks && r->images.background; /* cornu_fit finishes them */
    if (!r->images.background || (loader_is_strict(data->loader) && !together))
        TRY(data_finish(data));
    return CORNU_OK;
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

/* Scan the files of all classes. A class may be missing in the test split. */
static cornu_status scan(const char *folder, const cornu_data *data, double test_fraction,
                         skips *skipped, image_files *files)
{
    for (int k = 0; k < data->class_count; k++) {
        char *path = NULL;
        TRY(path_join(folder, data->class_names[k], &path));
        cornu_status status = CORNU_OK;
        if (folder_exists(path))
            status =
                images_scan_class(path, data->class_names[k], k, test_fraction, skipped, files);
        else
            data_detail(skipped->options, "%s: class without images", path);
        free(path);
        TRY(status);
    }
    return CORNU_OK;
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

static cornu_status list_test(const char *folder, const cornu_data *data, listing *l)
{
    name_list classes = {0};
    size_t before = l->files.count;
    cornu_status status = images_list_classes(folder, &l->request->options, &classes);
    if (status == CORNU_OK)
        status = check_test_classes(folder, &classes, data);
    if (status == CORNU_OK)
        status = scan(folder, data, 0, &l->skipped, &l->files);
    names_free(&classes);
    for (size_t i = before; i < l->files.count; i++)
        l->files.items[i].test = true;
    return status;
}

/* Does the split have an image, as far as is known? */
static cornu_status check_found(const char *folder, cornu_split split, const listing *l,
                                const cornu_data *data)
{
    cornu_data_loading loading = {.size = sizeof loading};
    TRY(cornu_data_loading_get(data, &loading));
    if (data_usable(data, split, 0, data->block[split].count) > 0)
        return CORNU_OK;
    const char *first = l->skipped.first; /* the loader has it, if there is one */
    int64_t skipped = data->loader ? loading.skipped : l->skipped.count;
    return status_fail(CORNU_BAD_FILE,
                       "%s: found no readable images (%lld %s skipped%s%s); expected CLASS/IMAGE "
                       "of " IMAGE_FORMATS,
                       folder, (long long)skipped, PLURAL(skipped, "file", "files"),
                       first ? ", the first: " : "", first ? first : "");
}

static cornu_status list(const char *train, const char *test, cornu_data *data, listing *l)
{
    double spare = test || l->request->validation_split > 0 ? 0 : l->request->spare_split;
    double test_fraction = spare > 0 ? spare : l->request->validation_split;
    data->spare_split = spare;
    TRY(read_classes(train, l->request, data));
    TRY(scan(train, data, test_fraction, &l->skipped, &l->files));
    if (test)
        TRY(list_test(test, data, l));
    return CORNU_OK;
}

/* The notices once the samples are read, or (in the background) listed. */
static cornu_status conclude(const char *train, const char *test, const listing *l,
                             const cornu_data *data)
{
    int64_t count = data_usable(data, CORNU_TRAIN, 0, data->block[CORNU_TRAIN].count);
    int64_t tests = data_usable(data, CORNU_TEST, 0, data->block[CORNU_TEST].count);
    const cornu_data_options *options = &l->request->options;
    cornu_data_loading loading = {.size = sizeof loading};
    TRY(check_found(train, CORNU_TRAIN, l, data));
    if (test)
        TRY(check_found(test, CORNU_TEST, l, data));
    else if (l->request->validation_split > 0 && tests == 0)
        data_notice(options, "%s: validation_split %g of %lld %s is none", train,
                    l->request->validation_split, (long long)count,
                    PLURAL(count, "image", "images"));
    char *classes;
    TRY(cornu_data_loading_get(data, &loading));
    TRY(data_class_list(data, true, true, &classes));
    bool details = options->brief && loading.skipped > 0;
    data_notice(options, "%s: %lld %s in %d %s (%lld %s skipped%s%s%s): %s", data->name,
                (long long)(count + tests), PLURAL(count + tests, "image", "images"),
                data->class_count, PLURAL(data->class_count, "class", "classes"),
                (long long)loading.skipped, PLURAL(loading.skipped, "file", "files"),
                details ? "; cornu data show " : "", details ? data->folder : "",
                details ? " says which" : "", classes);
    free(classes);
    return CORNU_OK;
}

cornu_status images_take_share(image_files *files, const data_request *r, const char *name)
{
    double fraction = r->options.fraction;
    size_t count = files->count, left = 0;
    int64_t before[2] = {0}, after[2] = {0};
    int32_t *labels;
    bool *kept, by_class = false;
    if (!(fraction > 0 && fraction < 1))
        return CORNU_OK;
    TRY(memory_new(count + 1, sizeof *labels + sizeof *kept, "share of the images", &labels));
    kept = (bool *)(labels + count);
    for (size_t i = 0; i < count; i++) /* for each class of each split separately */
        labels[i] = 2 * files->items[i].label + files->items[i].test;
    cornu_status status = share_choose(labels, (int64_t)count, fraction, kept);
    for (size_t i = 0; status == CORNU_OK && i < count; i++) {
        image_file *file = &files->items[i];
        by_class = by_class || file->label > 0; /* of a table none has one */
        before[file->test]++;
        after[file->test] += kept[i];
        if (kept[i])
            files->items[left++] = *file;
        else
            free(file->path);
    }
    free(labels);
    TRY(status);
    files->count = left;
    share_notice(r, name, by_class, before, after);
    return CORNU_OK;
}

cornu_status images_read(const char *folder, const data_request *request, cornu_data *data)
{
    cornu_status status;
    image_splits splits;
    listing l = {.request = request,
                 .skipped = {.options = &request->options, .strict = request->images.strict}};
    TRY(splits_find(folder, &request->options, &splits));
    const char *train = splits.train ? splits.train : folder, *test = splits.test;
    if (test && request->validation_split > 0) {
        status = status_fail(CORNU_INVALID,
                             "%s: found this folder and a validation_split of %g; expected one",
                             test, request->validation_split);
        goto done;
    }
    TRY_GOTO(list(train, test, data, &l));
    TRY_GOTO(images_take_share(&l.files, request, data->name));
    TRY_GOTO(images_load(&l.files, request, &l.skipped, data));
    status = conclude(train, test, &l, data);
done:
    free(l.skipped.first);
    image_files_free(&l.files);
    splits_free(&splits);
    return status;
}

/* ---- the caller's image files ----------------------------------------------------------- */

static cornu_status check_files(const cornu_image_files *f)
{
    if (f->count < 1 || !f->paths)
        return status_fail(CORNU_INVALID, "files: found %lld; expected at least 1 path",
                           (long long)f->count);
    if (f->class_count < 0 || (f->class_count > 0 && !f->class_names))
        return status_fail(CORNU_INVALID, "files.class_count: found %d and no class_names",
                           f->class_count);
    for (int64_t i = 0; i < f->count; i++) {
        if (!f->paths[i] || !*f->paths[i])
            return status_fail(CORNU_INVALID, "files.paths[%lld]: found none; expected a path",
                               (long long)i);
        int32_t label = f->labels ? f->labels[i] : 0;
        if (label < 0 || label == INT32_MAX || (f->class_names && label >= f->class_count))
            return status_fail(CORNU_INVALID,
                               "files.labels[%lld]: found %d; expected a class number from 0%s",
                               (long long)i, label, f->class_names ? " and below class_count" : "");
    }
    return CORNU_OK;
}

static cornu_status copy_files(const cornu_image_files *f, image_files *files)
{
    TRY(memory_grow(&files->items, &files->capacity, (size_t)f->count, sizeof *files->items));
    for (int64_t i = 0; i < f->count; i++) {
        image_file *item = &files->items[i];
        *item = (image_file){.label = f->labels ? f->labels[i] : LABEL_NONE};
        TRY(memory_copy_string(f->paths[i], &item->path));
        files->count++;
    }
    return CORNU_OK;
}

static cornu_status set_classes(const cornu_image_files *f, cornu_data *data)
{
    data->fewer_classes = f->fewer_classes;
    if (f->class_names)
        return data_set_classes(data, f->class_names, f->class_count);
    for (int64_t i = 0; f->labels && i < f->count; i++)
        if (f->labels[i] >= data->class_count)
            data->class_count = f->labels[i] + 1;
    return CORNU_OK;
}

cornu_status cornu_data_from_files(const cornu_image_files *caller,
                                   const cornu_data_options *options, cornu_data **out)
{
    cornu_status status;
    cornu_data *data = NULL;
    image_files files = {0};
    data_request request;
    cornu_image_files f;
    if (!caller || !out)
        return status_fail(CORNU_INVALID, "cornu_data_from_files: found NULL; expected files");
    *out = NULL;
    TRY(STRUCT_READ("cornu_image_files", caller, &f));
    TRY(check_files(&f));
    TRY(data_request_read(options, &request));
    request.each_must_be_read = request.images.strict;
    skips skipped = {.options = &request.options, .strict = request.images.strict};
    TRY_GOTO(memory_new(1, sizeof *data, "data", &data));
    TRY_GOTO(memory_copy_string("files", &data->name));
    TRY_GOTO(memory_copy_string("", &data->folder));
    TRY_GOTO(set_classes(&f, data));
    TRY_GOTO(copy_files(&f, &files));
    TRY_GOTO(images_load(&files, &request, &skipped, data));
    *out = data;
    data = NULL;
done:
    image_files_free(&files);
    free(skipped.first);
    cornu_data_close(data);
    return status;
}
