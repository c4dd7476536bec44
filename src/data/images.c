/* A folder of images: train/CLASS/IMAGE and test/CLASS/IMAGE, decoded once to bytes of one size.
   Classes are in the byte order of their names, as Python's sorted() and so Keras number them;
   samples are in the order of class, then file name. */
#include "base/files.h"
#include "base/memory.h"
#include "base/threads.h"
#include "data/data.h"
#include "data/image.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct name_list {
    char **names;
    size_t count, capacity;
} name_list;

/* One image file on the way into the block. */
typedef struct item {
    char *path;
    int label;
    char *problem; /* why it could not be read, or NULL */
} item;

typedef struct work {
    const data_request *request;
    item *items;
    size_t count, capacity;
    uint8_t *pixels; /* [count][height][width][channels] */
    int64_t sample;  /* bytes of one */
    int64_t skipped;
} work;

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

static void names_free(name_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->names[i]);
    free(list->names);
    *list = (name_list){0};
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The sorted names of the folders (or of everything else) in `folder`. */
static cornu_status list_names(const char *folder, bool folders, name_list *list)
{
    cornu_status status = CORNU_OK;
    char *path = NULL;
    DIR *stream = opendir(folder);
    if (!stream)
        return status_fail(errno == ENOENT ? CORNU_NOT_FOUND : CORNU_IO, "%s: cannot read: %s",
                           folder, strerror(errno));
    for (struct dirent *entry; (entry = readdir(stream));) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        free(path);
        path = NULL;
        TRY_GOTO(path_join(folder, entry->d_name, &path));
        if (folder_exists(path) != folders)
            continue;
        TRY_GOTO(memory_grow(&list->names, &list->capacity, list->count + 1, sizeof(char *)));
        TRY_GOTO(memory_copy_string(entry->d_name, &list->names[list->count]));
        list->count++;
    }
    if (list->count)
        qsort(list->names, list->count, sizeof(char *), by_bytes);
done:
    free(path);
    closedir(stream);
    return status;
}

/* Class folders; hidden ones (editors leave such) are none. */
static cornu_status list_classes(const char *folder, const data_request *request, name_list *list)
{
    TRY(list_names(folder, true, list));
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (*list->names[i] == '.') {
            data_notice(&request->options, "%s/%s: hidden folder; not taken as a class", folder,
                        list->names[i]);
            free(list->names[i]);
        } else {
            list->names[kept++] = list->names[i];
        }
    }
    list->count = kept;
    return CORNU_OK;
}

static void skip(work *w, const char *path, const char *why)
{
    w->skipped++;
    data_notice(&w->request->options, "%s: %s; skipped", path, why);
}

/* Add the images of one class. */
static cornu_status add_class(work *w, const char *folder, int label)
{
    cornu_status status;
    name_list files = {0}, folders = {0};
    char *path = NULL;
    size_t before = w->count;
    TRY_GOTO(list_names(folder, false, &files));
    TRY_GOTO(list_names(folder, true, &folders));
    for (size_t i = 0; i < folders.count; i++)
        data_notice(&w->request->options, "%s/%s: folder inside a class; skipped", folder,
                    folders.names[i]);
    for (size_t i = 0; i < files.count; i++) {
        TRY_GOTO(path_join(folder, files.names[i], &path));
        if (!image_format_of(path)) {
            skip(w, path, "no image");
            free(path);
        } else {
            TRY_GOTO(memory_grow(&w->items, &w->capacity, w->count + 1, sizeof *w->items));
            w->items[w->count++] = (item){.path = path, .label = label};
        }
        path = NULL;
    }
    if (w->count == before)
        data_notice(&w->request->options, "%s: class without images", folder);
done:
    free(path);
    names_free(&files);
    names_free(&folders);
    return status;
}

/* Runs on the threads of the pool; each image has its own place. */
static void decode_one(void *context, int64_t chunk, int worker)
{
    (void)worker;
    work *w = context;
    item *it = &w->items[chunk];
    const data_request *r = w->request;
    image from = {0};
    cornu_status status = image_open(it->path, &from);
    if (status == CORNU_OK)
        status = image_fit(&from, r->height, r->width, r->channels, r->filter,
                           w->pixels + chunk * w->sample);
    if (status != CORNU_OK && memory_copy_string(cornu_last_error(), &it->problem) != CORNU_OK)
        it->problem = NULL, it->label = -1;
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
static int64_t compact(work *w, int32_t *labels)
{
    int64_t kept = 0;
    for (size_t i = 0; i < w->count; i++) {
        item *it = &w->items[i];
        if (it->problem || it->label < 0) {
            w->skipped++;
            data_notice(&w->request->options, "%s; skipped",
                        it->problem ? it->problem : "an image could not be read");
            continue;
        }
        if ((size_t)kept != i)
            memmove(w->pixels + kept * w->sample, w->pixels + (int64_t)i * w->sample,
                    (size_t)w->sample);
        labels[kept++] = it->label;
    }
    return kept;
}

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

/* Add the images of every class of a split. */
static cornu_status add_split(work *w, const char *folder, const cornu_data *data)
{
    for (int k = 0; k < data->class_count; k++) {
        char *path = NULL;
        TRY(path_join(folder, data->class_names[k], &path));
        cornu_status status = CORNU_OK;
        if (folder_exists(path))
            status = add_class(w, path, k);
        else
            data_notice(&w->request->options, "%s: class without images", path);
        free(path);
        TRY(status);
    }
    return CORNU_OK;
}

static cornu_status read_split(const char *folder, cornu_split split, const data_request *request,
                               cornu_data *data)
{
    cornu_status status;
    work w = {.request = request};
    shape s = {3, {request->height, request->width, request->channels}}, none = {0};
    int32_t *labels;
    w.sample = shape_elements(&s);
    TRY_GOTO(add_split(&w, folder, data));
    if (w.count > 0) {
        TRY_GOTO(data_reserve_inputs(data, split, (int64_t)w.count, &s, SAMPLE_U8, &w.pixels));
        TRY_GOTO(data_reserve_targets(data, split, &none, SAMPLE_I32, &labels));
        TRY_GOTO(decode_all(&w));
        data->block[split].count = compact(&w, labels);
    }
    if (data->block[split].count == 0) {
        status = status_fail(CORNU_BAD_FILE,
                             "%s: found no readable images (%lld files skipped); expected "
                             "CLASS/IMAGE of " IMAGE_FORMATS,
                             folder, (long long)w.skipped);
        goto done;
    }
    data->skipped += w.skipped;
done:
    for (size_t i = 0; i < w.count; i++) {
        free(w.items[i].path);
        free(w.items[i].problem);
    }
    free(w.items);
    return status;
}

cornu_status images_read(const char *folder, const data_request *request, cornu_data *data)
{
    cornu_status status;
    char *train = NULL, *test = NULL;
    name_list classes = {0}, test_classes = {0};
    TRY_GOTO(path_join(folder, "train", &train));
    TRY_GOTO(test_folder(folder, &test));
    TRY_GOTO(list_classes(train, request, &classes));
    if (classes.count == 0) {
        status = status_fail(CORNU_BAD_FILE, "%s: found no folders; expected one a class", train);
        goto done;
    }
    TRY_GOTO(data_set_classes(data, (const char *const *)classes.names, (int)classes.count));
    TRY_GOTO(read_split(train, CORNU_TRAIN, request, data));
    if (test) {
        TRY_GOTO(list_classes(test, request, &test_classes));
        TRY_GOTO(check_test_classes(test, &test_classes, data));
        TRY_GOTO(read_split(test, CORNU_TEST, request, data));
    }
    data_notice(&request->options, "%s: %lld images in %d classes (%lld files skipped)", data->name,
                (long long)(data->block[0].count + data->block[1].count), data->class_count,
                (long long)data->skipped);
done:
    names_free(&classes);
    names_free(&test_classes);
    free(train);
    free(test);
    return status;
}
