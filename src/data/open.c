/* Opening a data set: by name, file, folder, or from a recipe. */
#include "base/files.h"
#include "base/memory.h"
#include "data/data.h"
#include "data/images/image.h"
#include "data/sets/datasets.h"
#include "model/model.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The last name of a folder's real path, so that "." also has a name. */
static cornu_status folder_title(const char *folder, char **out)
{
    char full[PATH_MAX];
    const char *name = path_base(realpath(folder, full) ? full : folder);
    return memory_copy_string(*name ? name : folder, out);
}

/* The recipe's scale replaces the reader's. */
static void apply_scale(const data_request *request, cornu_data *data)
{
    for (int split = 0; split < 2 && request->scale >= 0; split++)
        data->block[split].x_scale = (float)request->scale;
}

/* Read a set's files in `folder`. */
static cornu_status read_set(const dataset *set, const data_reader *reader, const char *folder,
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

/* Fail: the caller's folder does not hold the set. */
static cornu_status fail_not_inside(const dataset *set, const char *folder)
{
    text expected = {0};
    text_add(&expected, "%s: ", set->name);
    for (const data_reader *const *reader = set->readers; *reader; reader++)
        text_add(&expected, "%s%s", reader == set->readers ? "" : " or ", (*reader)->name);
    text_add(&expected, ", here or in a folder");
    for (const char *const *name = set->folders; *name; name++)
        text_add(&expected, "%s %s", name == set->folders ? "" : name[1] ? "," : " or", *name);
    cornu_status status = folder_fail(folder, expected.data ? expected.data : set->name);
    text_free(&expected);
    return status;
}

/* Find a set: in `folder`, or (NULL) in one of the usual places. A location without a folder is to
   be downloaded. */
static cornu_status find_named(const dataset *set, const char *folder,
                               const cornu_data_options *options, data_location *location)
{
    char *looked = NULL;
    if (folder && !folder_exists(folder))
        return status_fail(CORNU_NOT_FOUND, "%s: no such folder; expected the folder of %s", folder,
                           set->name);
    cornu_status status = dataset_find(set, folder, location, &looked);
    if (status == CORNU_OK && !location->folder && folder)
        status = fail_not_inside(set, folder);
    else if (status == CORNU_OK && !location->folder && !options->allow_download)
        status = fail_not_found(set, looked);
    else if (status == CORNU_OK && !location->folder)
        location->set = set;
    else if (status == CORNU_OK && location->set != set)
        data_notice(options, "%s: holds %s; used in place of %s", location->folder,
                    location->set->name, set->name);
    free(looked);
    return status;
}

static bool is_table(const char *path)
{
    return path_has_ending(path, ".csv");
}

static cornu_status find_file(const char *path, data_location *location)
{
    if (!file_exists(path))
        return status_fail(CORNU_NOT_FOUND, "%s: no such file", path);
    return memory_copy_string(path, &location->folder);
}

static const char *own_folder(const cornu_data_options *options)
{
    return options->folder && *options->folder ? options->folder : NULL;
}

static cornu_status find_what(const char *what, const shape *input, const char *folder,
                              const cornu_data_options *options, data_location *location)
{
    const dataset *set = dataset_named(what);
    if (set)
        return find_named(set, folder, options, location);
    if (path_has_ending(what, ".npz"))
        return find_file(what, location);
    if (is_table(what) && file_exists(what))
        return table_fail(what);
    if (!folder_exists(what))
        return status_fail(
            CORNU_NOT_FOUND,
            "%s: no such data set or folder; expected mnist, fashion_mnist, cifar10, "
            "cifar100, an .npz file or a folder",
            what);
    return folder_find(what, input, options, location);
}

/* ---- reading ---- */

/* Set the name and the origin of a file's data. */
static cornu_status name_file(const char *path, cornu_data *data)
{
    TRY(memory_copy_string(path_base(path), &data->name));
    size_t length = strlen(path) - strlen(path_base(path));
    return memory_format(&data->folder, "%.*s", (int)length, length ? path : ".");
}

static cornu_status read_file(const char *path, const data_request *request, cornu_data *data)
{
    TRY(name_file(path, data));
    return data_read_npz(path, request->scale, data);
}

static cornu_status read_table(const char *path, const data_request *request, cornu_data *data)
{
    TRY(name_file(path, data));
    TRY(images_read_table(path, request, data));
    apply_scale(request, data);
    return CORNU_OK;
}

static cornu_status read_images(const char *folder, const data_request *request, cornu_data *data)
{
    TRY(folder_title(folder, &data->name));
    TRY(memory_copy_string(folder, &data->folder));
    TRY(images_read(folder, request, data));
    apply_scale(request, data);
    return CORNU_OK;
}

/* Read the location; a set without one is downloaded. */
static cornu_status read_all(data_location *location, const data_request *request, cornu_data *data)
{
    if (location->set && !location->folder)
        TRY(dataset_fetch(location->set, &request->options, location));
    else if (location->set && !location->reader)
        TRY(dataset_unpack_found(&request->options, location));
    data->set = location->set;
    data->origin = realpath(location->folder, NULL);
    if (location->set)
        return read_set(location->set, location->reader, location->folder, request, data);
    if (folder_exists(location->folder))
        return read_images(location->folder, request, data);
    return is_table(location->folder) ? read_table(location->folder, request, data)
                                      : read_file(location->folder, request, data);
}

static cornu_status read_location(data_location *location, const data_request *request,
                                  cornu_data *data)
{
    TRY(read_all(location, request, data));
    return share_apply(request, data);
}

cornu_status cornu_data_open(const char *what, const cornu_data_options *options, cornu_data **out)
{
    cornu_status status;
    cornu_data *data = NULL;
    data_request request;
    data_location location = {0};
    if (!what || !*what || !out)
        return status_fail(CORNU_INVALID, "cornu_data_open: found nothing; expected a data set");
    *out = NULL;
    TRY(data_request_read(options, &request));
    TRY_GOTO(find_what(what, NULL, own_folder(&request.options), &request.options, &location));
    TRY_GOTO(memory_new(1, sizeof *data, "data", &data));
    TRY_GOTO(read_location(&location, &request, data));
    *out = data;
    data = NULL;
done:
    free(location.folder);
    cornu_data_close(data);
    return status;
}

/* ---- data of a recipe ---- */

/* Fraction of a folder without a test split, for a built-in workload that validates. */
#define SPARE_SPLIT 0.2

/* Sizes of images and how folders are read: from the caller, else the recipe, else the model's
   input. */
static void size_images(const data_spec *spec, const shape *input, data_request *request)
{
    cornu_folder_options *o = &request->images;
    shape picture;
    bool is_picture = shape_picture(input, &picture);
    if (!o->height && (spec->image_size[0] || is_picture))
        request->height = spec->image_size[0] ? spec->image_size[0] : picture.dim[0];
    if (!o->width && (spec->image_size[1] || is_picture))
        request->width = spec->image_size[1] ? spec->image_size[1] : picture.dim[1];
    if (!o->channels && (spec->channels || is_picture))
        request->channels = spec->channels ? spec->channels : picture.dim[2];
    if (!o->interpolation)
        request->filter = image_filter_named(spec->interpolation);
    request->table_x = spec->x;
    request->table_y = spec->y;
    o->keep_aspect_ratio = o->keep_aspect_ratio || spec->keep_aspect_ratio;
    if (!(o->validation_split > 0) && !o->whole)
        request->validation_split = spec->validation_split;
    o->strict = o->strict || spec->strict;
    o->workers = o->workers ? o->workers : (int)spec->workers;
}

/* Resolve a recipe's file: or folder: where --data is `first`: that name inside `first`, or else (a
   folder) `first` itself. */
static cornu_status look_first(const char *path, bool folder, const char *first, char **found)
{
    TRY(path_join(first, path_base(path), found));
    if (folder ? folder_exists(*found) : file_exists(*found))
        return CORNU_OK;
    free(*found);
    *found = NULL;
    return folder ? memory_copy_string(first, found) : folder_fail(first, path_base(path));
}

static cornu_status find_path(const data_spec *spec, const cornu_model *model,
                              const cornu_data_options *options, data_location *location)
{
    char *found = NULL;
    const char *file = spec->file ? spec->file : spec->table, *path = file ? file : spec->folder;
    const char *first = own_folder(options);
    cornu_status status = first ? look_first(path, !file, first, &found)
                                : path_beside(path, model->data->source, &found);
    if (status == CORNU_OK)
        status = file ? find_file(found, location)
                      : folder_find(found, &model->input, options, location);
    free(found);
    return status;
}

static const char *source_of(const cornu_model *model)
{
    return model->source ? model->source : model->name;
}

/* Neither the caller nor the recipe names data: the origin that the model file remembers may be
   found by its name. */
static cornu_status find_unnamed(const cornu_model *model, const cornu_data_options *options,
                                 data_location *location)
{
    const dataset *set = dataset_named(model->training.data_name);
    const char *file = source_of(model), *path = model->training.data_path;
    cornu_status status = set ? find_named(set, NULL, options, location) : CORNU_NOT_FOUND;
    if (set && status != CORNU_OK)
        return status_prefix(status,
                             "%s: says that it was trained on %s of %s, where it is not now", file,
                             set->name, path ? path : "some folder");
    if (!set && path)
        return status_fail(CORNU_NOT_FOUND,
                           "%s: says that it was trained on %s, where no data set is now; expected "
                           "one from you (--data DIR)",
                           file, path);
    if (!set)
        return status_fail(CORNU_NOT_FOUND,
                           "%s: names no data set of its own; expected one from you (--data DIR)",
                           file);
    return CORNU_OK;
}

/* A built-in workload's own set, or another data set in its folder. */
static cornu_status find_other(const dataset *set, const cornu_model *model,
                               const cornu_data_options *options, data_location *location)
{
    const char *first = own_folder(options);
    if (find_named(set, first, options, location) == CORNU_OK)
        return CORNU_OK;
    *location = (data_location){0};
    cornu_status status = folder_find(first, &model->input, options, location);
    return status == CORNU_NOT_FOUND ? find_named(set, first, options, location) : status;
}

/* The data that a recipe asks for. --data may also be a file, or the name of another set. */
static cornu_status find_spec(const data_spec *spec, const cornu_model *model,
                              const cornu_data_options *options, data_location *location)
{
    const char *first = own_folder(options);
    if (first && !folder_exists(first)) {
        if (dataset_named(first) || path_has_ending(first, ".npz"))
            return find_what(first, &model->input, NULL, options, location);
        if (is_table(first))
            return spec->table || !file_exists(first) ? find_file(first, location)
                                                      : table_fail(first);
        return status_fail(CORNU_NOT_FOUND, "%s: no such data set, .npz file or folder", first);
    }
    if (spec->name && first && options->other_data && model->published)
        return find_other(dataset_named(spec->name), model, options, location);
    if (spec->name)
        return find_named(dataset_named(spec->name), first, options, location);
    if (spec->file || spec->folder || spec->table)
        return find_path(spec, model, options, location);
    if (first)
        return folder_find(first, &model->input, options, location);
    return find_unnamed(model, options, location);
}

/* The data that the model was trained on, if it still exists; otherwise location->folder is
   NULL. */
static cornu_status find_hint(const data_spec *spec, const cornu_model *model,
                              const cornu_data_options *options, data_location *location)
{
    if (!model->training.data_path)
        return CORNU_OK;
    TRY(folder_find_hint(model->training.data_name, model->training.data_path, location));
    bool own = spec->name || spec->file || spec->folder || spec->table;
    const char *file = source_of(model), *path = model->training.data_path;
    if (location->folder && (!location->set || location->set != dataset_named(spec->name)))
        data_notice(options, "%s: taking the data that it was trained on, %s", file, path);
    else if (!location->folder && own)
        data_notice(options,
                    "%s: says that it was trained on %s, where no data set is now; taking "
                    "what its recipe names",
                    file, path);
    return CORNU_OK;
}

static bool is_hint(const cornu_model *model, const cornu_data_options *options,
                    const data_location *location)
{
    return location->folder && model->training.data_path && !own_folder(options) &&
           !strcmp(location->folder, model->training.data_path);
}

/* The caller's data, else the origin in the model file, else the recipe's. */
static cornu_status find_for_model(const data_spec *spec, const cornu_model *model,
                                   const cornu_data_options *options, data_location *location)
{
    if (!own_folder(options))
        TRY(find_hint(spec, model, options, location));
    return location->folder ? CORNU_OK : find_spec(spec, model, options, location);
}

static cornu_status check_shape(const char *name, const shape *samples, const shape *input)
{
    char found[128], expected[128];
    if (shape_equal_but_ones(samples, input))
        return CORNU_OK;
    return status_fail(CORNU_INVALID, "%s: samples are of %s; the model's input is %s", name,
                       shape_show(samples, false, found), shape_show(input, false, expected));
}

/* The samples must have the model's input shape; dimensions of 1 (a channel, say) may be missing in
   either. Pictures then get their channel dimension, by which random transforms recognize them. */
static cornu_status match_shape(cornu_data *data, const cornu_model *model)
{
    shape picture;
    shape_picture(&model->input, &picture);
    const shape *input = &picture;
    for (int split = 0; split < 2 && input->rank > 0; split++) {
        shape *s = &data->block[split].x_shape;
        if (data->block[split].count == 0)
            continue;
        TRY(check_shape(data->name, s, input));
        *s = *input;
    }
    return CORNU_OK;
}

/* Warn that pictures that trained the model are among the data, which is used as a whole. */
static void notice_trained(const cornu_data *data, const data_spec *spec, const cornu_model *model,
                           const data_request *request)
{
    const char *path = model->training.data_path;
    if (request->images.whole && spec->validation_split > 0 && path && data->origin &&
        !strcmp(path, data->origin))
        data_notice(&request->options,
                    "%s: the model was trained on this folder, and all its pictures are taken; "
                    "where none is named (no --data), only the share of %g that was set apart",
                    data->name, spec->validation_split);
}

/* A set, a folder and a file have one input and one target a sample. */
static cornu_status check_ends(const cornu_model *model)
{
    if (model->input_count <= 1 && model->output_count <= 1)
        return CORNU_OK;
    return status_fail(CORNU_UNSUPPORTED,
                       "%s: found a model of %d input%s and %d output%s; data sets, folders and "
                       "files have one of each: expected arrays in a program of your own "
                       "(cornu_data_from_arrays, or fit in Python)",
                       model->name, model->input_count, PLURAL(model->input_count, "", "s"),
                       model->output_count, PLURAL(model->output_count, "", "s"));
}

cornu_status cornu_data_open_for_model(const cornu_model *model, const cornu_data_options *options,
                                       cornu_data **out)
{
    cornu_status status;
    cornu_data *data = NULL;
    data_request request;
    data_spec spec;
    data_location location = {0};
    if (!model || !out)
        return status_fail(CORNU_INVALID,
                           "cornu_data_open_for_model: found NULL; expected a model");
    *out = NULL;
    TRY(check_ends(model));
    TRY(data_spec_read(model->data, &spec));
    TRY(data_request_read(options, &request));
    request.scale = spec.scale;
    size_images(&spec, &model->input, &request);
    if (request.options.other_data && model->published && doc_get(model->fit, "validation"))
        request.spare_split = SPARE_SPLIT;
    TRY_GOTO(find_for_model(&spec, model, &request.options, &location));
    TRY_GOTO(memory_new(1, sizeof *data, "data", &data));
    TRY_GOTO(read_location(&location, &request, data));
    TRY_GOTO(match_shape(data, model));
    notice_trained(data, &spec, model, &request);
    data->scaled = spec.scale > 0;
    for (int split = 0; split < 2; split++)
        TRY_GOTO(data_samples_for(data, (cornu_split)split, model, &data->block[split]));
    *out = data;
    data = NULL;
done:
    if (status != CORNU_OK && is_hint(model, &request.options, &location))
        status = status_prefix(status, "%s (on which it was trained, as %s says)",
                               model->training.data_path, source_of(model));
    free(location.folder);
    cornu_data_close(data);
    return status;
}

cornu_status data_find_for_model(const cornu_model *model, const cornu_data_options *options)
{
    data_spec spec;
    data_location location = {0};
    TRY(data_spec_read(model->data, &spec));
    cornu_status status = find_for_model(&spec, model, options, &location);
    if (status == CORNU_OK && location.set)
        status = check_shape(location.set->name, &location.set->x_shape, &model->input);
    free(location.folder);
    return status;
}
