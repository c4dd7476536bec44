/* A data set made from the caller's image files. */
#include "base/memory.h"
#include "data/folders/image_folder.h"
#include <cornu/images.h>
#include <stdlib.h>

static cornu_status check_files(const cornu_image_files *f)
{
    TRY(CHECK_RESERVE("cornu_image_files", f));
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

cornu_status cornu_data_from_files(const cornu_image_files *f, const cornu_data_options *options,
                                   cornu_data **out)
{
    cornu_status status;
    cornu_data *data = NULL;
    image_files files = {0};
    data_request request;
    if (!f || !out)
        return status_fail(CORNU_INVALID, "cornu_data_from_files: found NULL; expected files");
    *out = NULL;
    TRY(check_files(f));
    TRY(data_request_read(options, &request));
    request.each_must_be_read = request.options.strict;
    skips skipped = {.options = &request.options};
    TRY_GOTO(memory_new(1, sizeof *data, "data", &data));
    TRY_GOTO(memory_copy_string("files", &data->name));
    TRY_GOTO(memory_copy_string("", &data->folder));
    TRY_GOTO(set_classes(f, data));
    TRY_GOTO(copy_files(f, &files));
    TRY_GOTO(images_load(&files, &request, &skipped, data));
    *out = data;
    data = NULL;
done:
    image_files_free(&files);
    free(skipped.first);
    cornu_data_close(data);
    return status;
}
