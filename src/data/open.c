/* Opening a data set: by name, file, folder, or as a recipe says. */
#include "base/files.h"
#include "base/memory.h"
#include "data/datasets.h"
#include "data/image.h"
#include "data/pixels.h"
#include "model/model.h"
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The last part of a folder's real name, so that "." has one too. */
static cornu_status folder_title(const char *folder, char **out)
{
    char full[PATH_MAX];
    const char *name = path_base(realpath(folder, full) ? full : folder);
    return memory_copy_string(*name ? name : folder, out);
}

/* The recipe's scale in place of what the reader took. */
static void apply_scale(const data_request *request, cornu_data *data)
{
    for (int split = 0; split < 2 && request->scale >= 0; split++)
        data->block[split].x_scale = (float)request->scale;
}

/* Read a set's files in `folder`. */
static cornu_status read_place(const dataset *set, const data_reader *reader, const char *folder,
                               const data_request *request, cornu_data *data)
{
    TRY(memory_copy_string(set->name, &data->name));
    TRY(memory_copy_string(folder, &data->folder));
    TRY(data_set_classes(data, set->class_names, set->class_count));
    TRY(reader->read(folder, set, request, data));
    apply_scale(request, data);
    return CORNU_OK;
}

static cornu_status fail_not_found(const dataset *set, const char *looked)
{
    char bytes[16], *cache = NULL;
    int64_t total = 0;
    for (const dataset_file *f = set->files; f->name; f++)
        total += f->bytes;
    cornu_status status = dataset_cache_folder(&cache);
    if (status == CORNU_OK)
        status = status_fail(
            CORNU_NOT_FOUND,
            "%s: not on this machine (looked in %s); `cornu data get %s` downloads "
            "%s, or put %s%s into %s",
            set->name, looked, set->name, memory_human((double)total, bytes), set->files[0].url,
            set->files[1].name ? " and the files beside it" : "", cache);
    free(cache);
    return status;
}

static cornu_status read_named(const dataset *set, const data_request *request, cornu_data *data)
{
    cornu_status status;
    data_place place = {0};
    char *looked = NULL;
    const cornu_data_options *options = &request->options;
    if (options->folder && *options->folder && !folder_exists(options->folder))
        return status_fail(CORNU_NOT_FOUND, "%s: no such folder; expected the folder of %s",
                           options->folder, set->name);
    TRY_GOTO(dataset_find(set, options, &place, &looked));
    if (!place.folder && !options->allow_download) {
        status = fail_not_found(set, looked);
        goto done;
    }
    if (!place.folder)
        TRY_GOTO(dataset_fetch(set, options, &place));
    else if (!place.reader)
        TRY_GOTO(dataset_unpack_found(options, &place));
    if (place.set != set)
        data_notice(options, "%s: holds %s; used in place of %s", place.folder, place.set->name,
                    set->name);
    status = read_place(place.set, place.reader, place.folder, request, data);
done:
    free(place.folder);
    free(looked);
    return status;
}

static cornu_status read_file(const char *path, const data_request *request, cornu_data *data)
{
    if (!file_exists(path))
        return status_fail(CORNU_NOT_FOUND, "%s: no such file", path);
    TRY(memory_copy_string(path_base(path), &data->name));
    size_t length = strlen(path) - strlen(path_base(path));
    TRY(memory_format(&data->folder, "%.*s", (int)length, length ? path : "."));
    return data_read_npz(path, request->scale, data);
}

static cornu_status read_images(const char *folder, const data_request *request, cornu_data *data)
{
    TRY(folder_title(folder, &data->name));
    TRY(memory_copy_string(folder, &data->folder));
    TRY(images_read(folder, request, data));
    apply_scale(request, data);
    return CORNU_OK;
}

/* The only folder of images directly inside `folder`; NULL where there is none, an error where
   there are several. */
static cornu_status find_images(const char *folder, char **found)
{
    cornu_status status = CORNU_OK;
    char *path = NULL;
    DIR *stream = opendir(folder);
    if (!stream)
        return status_fail(CORNU_IO, "%s: cannot read", folder);
    for (struct dirent *entry; (entry = readdir(stream));) {
        if (*entry->d_name == '.')
            continue;
        TRY_GOTO(path_join(folder, entry->d_name, &path));
        if (!images_present(path)) {
            free(path);
            path = NULL;
            continue;
        }
        if (*found) {
            status = status_fail(CORNU_INVALID,
                                 "%s: holds several folders of images (%s, %s); "
                                 "expected one of them",
                                 folder, path_base(*found), path_base(path));
            goto done;
        }
        *found = path;
        path = NULL;
    }
done:
    free(path);
    closedir(stream);
    return status;
}

/* A folder whose kind its files tell: a named set's, or of images. */
static cornu_status read_folder(const char *folder, const data_request *request, cornu_data *data)
{
    char *images = NULL;
    if (!folder_exists(folder))
        return status_fail(CORNU_NOT_FOUND, "%s: no such file or folder", folder);
    if (images_present(folder))
        return read_images(folder, request, data);
    for (int i = 0; dataset_at(i); i++)
        for (const data_reader *const *reader = dataset_at(i)->readers; *reader; reader++)
            if ((*reader)->present(folder, dataset_at(i)))
                return read_place(dataset_in_folder(*reader, folder, dataset_at(i)), *reader,
                                  folder, request, data);
    cornu_status status = find_images(folder, &images);
    if (status == CORNU_OK && images)
        status = read_images(images, request, data);
    else if (status == CORNU_OK && images_are_classes(folder))
        status = read_images(folder, request, data);
    else if (status == CORNU_OK)
        status = status_fail(CORNU_NOT_FOUND,
                             "%s: found no data set; expected IDX files, CIFAR's .bin files, or "
                             "train/CLASS/IMAGE or CLASS/IMAGE",
                             folder);
    free(images);
    return status;
}

static cornu_status read_what(const char *what, const data_request *request, cornu_data *data)
{
    const dataset *set = dataset_named(what);
    if (set)
        return read_named(set, request, data);
    if (path_has_ending(what, ".npz"))
        return read_file(what, request, data);
    if (!folder_exists(what))
        return status_fail(
            CORNU_NOT_FOUND,
            "%s: no such data set or folder; expected mnist, fashion_mnist, cifar10, "
            "cifar100, an .npz file or a folder",
            what);
    return read_folder(what, request, data);
}

static cornu_status read_request(const cornu_data_options *options, data_request *request)
{
    *request = (data_request){.scale = -1};
    if (options)
        request->options = *options;
    const cornu_data_options *o = &request->options;
    request->height = o->image_height ? o->image_height : 150;
    request->width = o->image_width ? o->image_width : 150;
    request->channels = o->image_channels ? o->image_channels : 3;
    if (request->height < 1 || request->width < 1 || request->height > 10000 ||
        request->width > 10000)
        return status_fail(CORNU_INVALID, "image size %lldx%lld; expected 1 to 10000",
                           (long long)request->height, (long long)request->width);
    if (request->channels != 1 && request->channels != 3)
        return status_fail(CORNU_INVALID, "image_channels: found %lld; expected 1 or 3",
                           (long long)request->channels);
    if (o->workers < 0 || o->workers > 256)
        return status_fail(CORNU_INVALID, "workers: found %d; expected 1 to 256", o->workers);
    TRY(pixels_read_option(o->cache, &request->cache_limit));
    request->validation_split = o->validation_split;
    if (!(o->validation_split >= 0 && o->validation_split < 1))
        return status_fail(CORNU_INVALID,
                           "validation_split: found %g; expected a share of at least 0 and below 1",
                           o->validation_split);
    request->filter = image_filter_named(o->interpolation);
    if (!request->filter)
        return status_fail(CORNU_INVALID, "interpolation: found \"%s\"; expected " IMAGE_FILTERS,
                           o->interpolation);
    return CORNU_OK;
}

cornu_status cornu_data_open(const char *what, const cornu_data_options *options, cornu_data **out)
{
    cornu_status status;
    cornu_data *data = NULL;
    data_request request;
    if (!what || !*what || !out)
        return status_fail(CORNU_INVALID, "cornu_data_open: found nothing; expected a data set");
    *out = NULL;
    TRY(read_request(options, &request));
    TRY_GOTO(memory_new(1, sizeof *data, "data", &data));
    TRY_GOTO(read_what(what, &request, data));
    *out = data;
    data = NULL;
done:
    cornu_data_close(data);
    return status;
}

/* ---- as a recipe says ---- */

/* Sizes of images and how folders are read: the caller's, else the recipe's, else the model's
 * input. */
static void size_images(const data_spec *spec, const shape *input, data_request *request)
{
    const cornu_data_options *o = &request->options;
    shape picture;
    bool is_picture = shape_picture(input, &picture);
    if (!o->image_height && (spec->image_size[0] || is_picture))
        request->height = spec->image_size[0] ? spec->image_size[0] : picture.dim[0];
    if (!o->image_width && (spec->image_size[1] || is_picture))
        request->width = spec->image_size[1] ? spec->image_size[1] : picture.dim[1];
    if (!o->image_channels && (spec->channels || is_picture))
        request->channels = spec->channels ? spec->channels : picture.dim[2];
    if (!o->interpolation)
        request->filter = image_filter_named(spec->interpolation);
    if (!(o->validation_split > 0))
        request->validation_split = spec->validation_split;
    request->options.strict = o->strict || spec->strict;
    request->options.workers = o->workers ? o->workers : (int)spec->workers;
}

/* What a recipe's file: or folder: means where --data is `first`: that name in there, else (a
   folder) what `first` itself is. *found is NULL where `first` does not help. */
static cornu_status look_first(const char *path, bool folder, const char *first, char **found)
{
    *found = NULL;
    if (!first || !*first)
        return CORNU_OK;
    TRY(path_join(first, path_base(path), found));
    if (folder ? folder_exists(*found) : file_exists(*found))
        return CORNU_OK;
    free(*found);
    *found = NULL;
    return folder ? memory_copy_string(first, found) : CORNU_OK;
}

static cornu_status read_path(const data_spec *spec, const cornu_model *model,
                              const data_request *request, cornu_data *data)
{
    char *found = NULL;
    const char *path = spec->file ? spec->file : spec->folder;
    cornu_status status = look_first(path, !spec->file, request->options.folder, &found);
    if (status == CORNU_OK && !found)
        status = path_beside(path, model->data->source, &found);
    if (status == CORNU_OK)
        status = spec->file ? read_file(found, request, data) : read_folder(found, request, data);
    free(found);
    return status;
}

/* The data that a recipe asks for. --data may also be a file, or the name of another set. */
static cornu_status read_spec(const data_spec *spec, const cornu_model *model,
                              data_request *request, cornu_data *data)
{
    const char *first = request->options.folder;
    if (first && !*first)
        first = request->options.folder = NULL;
    if (first && !folder_exists(first)) {
        request->options.folder = NULL;
        if (dataset_named(first) || path_has_ending(first, ".npz"))
            return read_what(first, request, data);
        return status_fail(CORNU_NOT_FOUND, "%s: no such data set, .npz file or folder", first);
    }
    if (spec->name)
        return read_named(dataset_named(spec->name), request, data);
    if (spec->file || spec->folder)
        return read_path(spec, model, request, data);
    if (first)
        return read_folder(first, request, data);
    return status_fail(CORNU_NOT_FOUND,
                       "%s: names no data set of its own; expected one from you (--data DIR)",
                       model->name ? model->name : "the model");
}

/* The samples must have the model's input shape; sizes of 1 (a channel, say) may be missing in
   either. Those of pictures get their channel, by which random changes know them. */
static cornu_status fit_shape(cornu_data *data, const cornu_model *model)
{
    char found[128], expected[128];
    shape picture;
    shape_picture(&model->input, &picture);
    const shape *input = &picture;
    for (int split = 0; split < 2 && input->rank > 0; split++) {
        shape *s = &data->block[split].x_shape;
        if (data->block[split].count == 0 || shape_equal(s, input))
            continue;
        shape plain[2] = {{0}, {0}};
        for (int k = 0; k < 2; k++)
            for (int i = 0; i < (k ? input : s)->rank; i++)
                if ((k ? input : s)->dim[i] != 1)
                    plain[k].dim[plain[k].rank++] = (k ? input : s)->dim[i];
        if (!shape_equal(&plain[0], &plain[1]))
            return status_fail(CORNU_INVALID, "%s: samples are of %s; the model's input is %s",
                               data->name, shape_show(s, false, found),
                               shape_show(&model->input, false, expected));
        *s = *input;
    }
    return CORNU_OK;
}

cornu_status cornu_data_open_for_model(const cornu_model *model, const cornu_data_options *options,
                                       cornu_data **out)
{
    cornu_status status;
    cornu_data *data = NULL;
    data_request request;
    data_spec spec;
    if (!model || !out)
        return status_fail(CORNU_INVALID,
                           "cornu_data_open_for_model: found NULL; expected a model");
    *out = NULL;
    TRY(data_spec_read(model->data, &spec));
    TRY(read_request(options, &request));
    request.scale = spec.scale;
    size_images(&spec, &model->input, &request);
    TRY_GOTO(memory_new(1, sizeof *data, "data", &data));
    TRY_GOTO(read_spec(&spec, model, &request, data));
    TRY_GOTO(fit_shape(data, model));
    data->scaled = spec.scale > 0;
    for (int split = 0; split < 2; split++)
        TRY_GOTO(data_samples_for(data, (cornu_split)split, model, &data->block[split]));
    *out = data;
    data = NULL;
done:
    cornu_data_close(data);
    return status;
}
