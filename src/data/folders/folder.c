/* Recognizes the data sets of a folder by its files. */
#include "data/folders/folder.h"
#include "base/files.h"
#include "base/memory.h"
#include "data/folders/image_folder.h"
#include <stdlib.h>
#include <string.h>

/* ---- the data sets in a folder ---- */

typedef struct location_list {
    data_location *items;
    size_t count, capacity;
} location_list;

static void locations_free(location_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i].folder);
    free(list->items);
}

/* Add it once, though several readers may read its files, and the same files may belong to several
   sets. */
static cornu_status add_location(location_list *list, const dataset *set, const data_reader *reader,
                                 const char *folder)
{
    char *copy = NULL;
    for (size_t i = 0; i < list->count; i++) {
        const data_location *p = &list->items[i];
        if (!strcmp(p->folder, folder) && (p->set == set || p->reader == reader))
            return CORNU_OK;
    }
    TRY(memory_grow(&list->items, &list->capacity, list->count + 1, sizeof *list->items));
    TRY(memory_copy_string(folder, &copy));
    list->items[list->count++] = (data_location){.set = set, .reader = reader, .folder = copy};
    return CORNU_OK;
}

/* The sets whose files are in `folder` itself. */
static cornu_status add_own(const char *folder, location_list *list)
{
    const dataset *set;
    if (images_present(folder))
        TRY(add_location(list, NULL, NULL, folder));
    for (int i = 0; (set = dataset_at(i)); i++)
        for (const data_reader *const *reader = set->readers; *reader; reader++)
            if ((*reader)->present(folder, set))
                TRY(add_location(list, dataset_in_folder(*reader, folder, set), *reader, folder));
    return CORNU_OK;
}

static cornu_status add_inside(const char *folder, const char *name, location_list *list)
{
    char *path = NULL;
    TRY(path_join(folder, name, &path));
    cornu_status status = folder_exists(path) ? add_own(path, list) : CORNU_OK;
    free(path);
    return status;
}

/* The sets in the folders of `folder`, and in the usual ones deeper down (MNIST/raw). */
static cornu_status add_children(const char *folder, location_list *list)
{
    static const cornu_data_options silent = {0};
    name_list names = {0};
    cornu_status status;
    TRY_GOTO(images_list_classes(folder, &silent, &names));
    for (size_t i = 0; i < names.count; i++)
        TRY_GOTO(add_inside(folder, names.names[i], list));
    for (int i = 0; dataset_at(i); i++)
        for (const char *const *name = dataset_at(i)->folders; *name; name++)
            if (strchr(*name, '/'))
                TRY_GOTO(add_inside(folder, *name, list));
done:
    names_free(&names);
    return status;
}

/* The data of `folder`; else of the folders in it; else classes of images. */
static cornu_status list_locations(const char *folder, location_list *list)
{
    TRY(add_own(folder, list));
    if (list->count == 0)
        TRY(add_children(folder, list));
    if (list->count == 0 && images_are_classes(folder))
        TRY(add_location(list, NULL, NULL, folder));
    return CORNU_OK;
}

/* ---- messages ---- */

/* "mnist (MNIST/raw), cifar10 and images (photos)"; locations outside `root` itself are named. */
static void name_locations(const location_list *list, const char *root, text *out)
{
    size_t length = strlen(root);
    for (size_t i = 0; i < list->count; i++) {
        const data_location *p = &list->items[i];
        const char *inside = p->folder + length + strspn(p->folder + length, "/");
        text_add(out, "%s%s",
                 i == 0                ? ""
                 : i + 1 < list->count ? ", "
                                       : " and ",
                 p->set ? p->set->name : "images");
        if (*inside)
            text_add(out, " (%s)", inside);
    }
    if (list->count == 0)
        text_add(out, "no data set");
}

cornu_status folder_fail(const char *folder, const char *expected)
{
    location_list list = {0};
    text found = {0};
    cornu_status status = list_locations(folder, &list);
    name_locations(&list, folder, &found);
    if (status == CORNU_OK)
        status = status_fail(CORNU_NOT_FOUND, "%s: found %s; expected %s", folder,
                             found.data ? found.data : "others", expected);
    text_free(&found);
    locations_free(&list);
    return status;
}

/* ---- the choice ---- */

/* Could the samples be the network's inputs? Images are resized. */
static bool could_fit(const data_location *p, const shape *input)
{
    if (!input || input->rank == 0)
        return true;
    return p->set ? shape_equal_but_ones(&p->set->x_shape, input)
                  : input->rank == 2 || input->rank == 3;
}

/* The only one that fits; NULL if none does, or several do. */
static const data_location *only_fitting(const location_list *list, const shape *input)
{
    const data_location *found = NULL;
    for (size_t i = 0; i < list->count; i++) {
        if (!could_fit(&list->items[i], input))
            continue;
        if (found)
            return NULL;
        found = &list->items[i];
    }
    return found;
}

static cornu_status take(const data_location *p, data_location *location)
{
    *location = (data_location){.set = p->set, .reader = p->reader};
    return memory_copy_string(p->folder, &location->folder);
}

static cornu_status choose(const location_list *list, const char *folder, const shape *input,
                           const cornu_data_options *options, data_location *location)
{
    text found = {0};
    cornu_status status;
    const data_location *only = list->count == 1 ? &list->items[0] : only_fitting(list, input);
    name_locations(list, folder, &found);
    const char *names = found.data ? found.data : "several data sets";
    if (only && list->count > 1)
        data_notice(options, "%s: holds %s; taking %s, the one that fits the model's input", folder,
                    names, only->folder);
    if (only)
        status = take(only, location);
    else
        status = status_fail(CORNU_INVALID, "%s: holds %s; expected the folder of one of them",
                             folder, names);
    text_free(&found);
    return status;
}

cornu_status folder_find(const char *folder, const shape *input, const cornu_data_options *options,
                         data_location *location)
{
    location_list list = {0};
    *location = (data_location){0};
    if (!folder_exists(folder))
        return status_fail(CORNU_NOT_FOUND, "%s: no such file or folder", folder);
    cornu_status status = list_locations(folder, &list);
    if (status == CORNU_OK && list.count == 0)
        status = status_fail(CORNU_NOT_FOUND,
                             "%s: found no data set; expected IDX files, CIFAR's .bin files, or "
                             "train/CLASS/IMAGE or CLASS/IMAGE",
                             folder);
    else if (status == CORNU_OK)
        status = choose(&list, folder, input, options, location);
    locations_free(&list);
    return status;
}

cornu_status folder_find_hint(const char *name, const char *path, data_location *location)
{
    const dataset *set = dataset_named(name);
    const data_reader *reader = NULL;
    *location = (data_location){0};
    if (*path != '/')
        return CORNU_OK;
    for (const data_reader *const *r = set ? set->readers : NULL; r && *r && !reader; r++)
        if ((*r)->present(path, set))
            reader = *r;
    bool array = path_has_ending(path, ".npz") || path_has_ending(path, ".csv");
    bool file = !set && array && file_exists(path);
    bool images = !set && !file && (images_present(path) || images_are_classes(path));
    if (!reader && !file && !images)
        return CORNU_OK;
    *location = (data_location){.set = set, .reader = reader};
    return memory_copy_string(path, &location->folder);
}
