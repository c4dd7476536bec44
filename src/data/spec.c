/* The data section of a recipe. */
#include "base/files.h"
#include "data/images/image.h"
#include "data/sets/datasets.h"
#include "model/model.h"
#include <cornu/tables.h>
#include <string.h>

/* A number, or [height, width]. */
static cornu_status read_image_size(const doc *section, data_spec *spec)
{
    const doc *size = doc_get(section, "image_size");
    if (!size || size->type == DOC_NULL)
        return CORNU_OK;
    bool list = size->type == DOC_LIST && size->count == 2;
    for (int i = 0; i < 2; i++) {
        const doc *side = list ? size->items[i] : size;
        if (side->type != DOC_INT || side->integer < 1 || side->integer > 10000)
            return doc_fail(size, "expected one size or [height, width], each 1 to 10000");
        spec->image_size[i] = side->integer;
    }
    return CORNU_OK;
}

static cornu_status read_interpolation(const doc *section, data_spec *spec)
{
    TRY(doc_read_string(section, "interpolation", &spec->interpolation));
    if (!image_filter_named(spec->interpolation))
        return doc_fail(doc_get(section, "interpolation"), "found \"%s\"; expected " IMAGE_FILTERS,
                        spec->interpolation);
    return CORNU_OK;
}

/* Options for folders only. */
static cornu_status read_folder_options(const doc *section, data_spec *spec)
{
    TRY(read_image_size(section, spec));
    TRY(doc_read_int(section, "channels", 1, 3, &spec->channels));
    if (spec->channels == 2)
        return doc_fail(doc_get(section, "channels"), "found 2; expected 1 or 3");
    TRY(read_interpolation(section, spec));
    TRY(doc_read_bool(section, "keep_aspect_ratio", &spec->keep_aspect_ratio));
    TRY(doc_read_real(section, "validation_split", &spec->validation_split));
    if (!(spec->validation_split >= 0 && spec->validation_split < 1))
        return doc_fail(doc_get(section, "validation_split"),
                        "found %g; expected a share of at least 0 and below 1",
                        spec->validation_split);
    TRY(doc_read_bool(section, "strict", &spec->strict));
    TRY(doc_read_int(section, "workers", 1, 256, &spec->workers));
    if (!spec->name && !spec->file)
        return CORNU_OK;
    if (spec->image_size[0] || spec->channels || spec->interpolation || spec->keep_aspect_ratio ||
        spec->validation_split > 0)
        return doc_fail(section, "image_size, channels, interpolation, keep_aspect_ratio and "
                                 "validation_split are for folders of images only");
    return CORNU_OK;
}

/* Read which of a table's columns are the file names, and the numbers. */
static cornu_status read_columns(const doc *section, data_spec *spec)
{
    TRY(doc_read_string(section, "x", &spec->x));
    TRY(doc_read_string(section, "y", &spec->y));
    if (spec->table && !path_has_ending(spec->table, ".csv"))
        return doc_fail(doc_get(section, "table"), "found \"%s\"; expected a .csv file",
                        spec->table);
    if (spec->table && (!spec->x || !spec->y))
        return doc_fail(section, "%s is missing; a table needs it: the column of the %s",
                        spec->x ? "y" : "x",
                        spec->x ? "numbers that are to be predicted" : "pictures' file names");
    if (!spec->table && (spec->x || spec->y))
        return doc_fail(doc_get(section, spec->x ? "x" : "y"),
                        "found no table; expected one beside it");
    return CORNU_OK;
}

static cornu_status read_source(const doc *section, data_spec *spec)
{
    TRY(doc_read_string(section, "name", &spec->name));
    TRY(doc_read_string(section, "file", &spec->file));
    TRY(doc_read_string(section, "folder", &spec->folder));
    TRY(doc_read_string(section, "table", &spec->table));
    if (!!spec->name + !!spec->file + !!spec->folder + !!spec->table > 1)
        return doc_fail(section,
                        "found more than one of name, file, folder and table; expected one");
    if (spec->name && !dataset_named(spec->name))
        return doc_fail(doc_get(section, "name"),
                        "unknown data set \"%s\"; expected mnist, fashion_mnist, cifar10 or "
                        "cifar100 (files are given with file:, folders with folder:)",
                        spec->name);
    if (spec->file && !path_has_ending(spec->file, ".npz"))
        return doc_fail(doc_get(section, "file"), "found \"%s\"; expected an .npz file",
                        spec->file);
    return read_columns(section, spec);
}

cornu_status data_spec_read(const doc *section, data_spec *spec)
{
    static const char *const known[] = {"name",
                                        "file",
                                        "folder",
                                        "table",
                                        "x",
                                        "y",
                                        "scale",
                                        "fewer_classes",
                                        "image_size",
                                        "channels",
                                        "interpolation",
                                        "keep_aspect_ratio",
                                        "validation_split",
                                        "strict",
                                        "workers",
                                        "augment",
                                        NULL};
    *spec = (data_spec){.scale = -1};
    if (!section || section->type == DOC_NULL)
        return CORNU_OK;
    if (section->type == DOC_STRING) {
        const char *what = section->string;
        if (dataset_named(what))
            spec->name = what;
        else if (path_has_ending(what, ".npz"))
            spec->file = what;
        else
            spec->folder = what;
        return CORNU_OK;
    }
    if (section->type != DOC_MAP)
        return doc_fail(section, "found %s; expected a data set's name, a path or a map",
                        doc_type_name(section->type));
    TRY(doc_only_keys(section, known));
    TRY(read_source(section, spec));
    TRY(data_scale_read(section, "scale", &spec->scale));
    TRY(doc_read_bool(section, "fewer_classes", &spec->fewer_classes));
    TRY(read_folder_options(section, spec));
    return augment_spec_read(doc_get(section, "augment"), spec);
}

cornu_status data_samples_for(const cornu_data *data, cornu_split split, const cornu_model *model,
                              sample_block *out)
{
    data_spec spec;
    *out = data->block[split];
    if (data->scaled)
        return CORNU_OK;
    TRY(data_spec_read(model->data, &spec));
    if (spec.scale > 0)
        out->x_scale = (float)spec.scale;
    else if (out->x_type == SAMPLE_U8)
        out->x_scale = model_pixel_scale(model);
    return CORNU_OK;
}

cornu_status cornu_model_set_data(cornu_model *model, const char *section)
{
    doc *d = NULL;
    data_spec spec;
    if (!model)
        return status_fail(CORNU_INVALID, "cornu_model_set_data: found no model; expected one");
    if (section)
        TRY(doc_parse(section, strlen(section), "data", &d));
    cornu_status status = data_spec_read(d, &spec);
    if (status != CORNU_OK) {
        doc_free(d);
        return status;
    }
    doc_free(model->own_data);
    model->data = model->own_data = d;
    return CORNU_OK;
}

cornu_status data_standardization(const cornu_model *model, standardization *out)
{
    data_spec spec;
    TRY(data_spec_read(model->data, &spec));
    *out = spec.standardize;
    const feature_statistics *s = &model->training.features;
    if (!out->featurewise_center)
        return CORNU_OK;
    out->channels = s->channels;
    memcpy(out->mean, s->mean, sizeof out->mean);
    memcpy(out->std, s->std, sizeof out->std);
    return CORNU_OK;
}
