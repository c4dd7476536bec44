/* The official binary form of CIFAR: records of the label bytes (CIFAR-100: coarse, then fine) and
   3072 bytes of pixels, all red, then all green, then all blue. */
#include "base/files.h"
#include "base/memory.h"
#include "data/sets/datasets.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLANE 1024
#define PIXELS (3 * PLANE)
enum { RECORDS = 64 }; /* read at a time */

typedef struct cifar_layout {
    const char *const *files[2]; /* by split, NULL-ended */
    int64_t official[2];         /* records of each published file */
    int label_bytes;             /* before the pixels; the last is the class */
    const char *names_file;      /* one class per line; may be missing */
} cifar_layout;

static const cifar_layout cifar10 = {
    {(const char *const[]){"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                           "data_batch_4.bin", "data_batch_5.bin", NULL},
     (const char *const[]){"test_batch.bin", NULL}},
    {10000, 10000},
    1,
    "batches.meta.txt"};
static const cifar_layout cifar100 = {
    {(const char *const[]){"train.bin", NULL}, (const char *const[]){"test.bin", NULL}},
    {50000, 10000},
    2,
    "fine_label_names.txt"};

static bool any_file(const char *folder, const cifar_layout *layout)
{
    for (int split = 0; split < 2; split++)
        for (const char *const *name = layout->files[split]; *name; name++) {
            char *path = NULL;
            bool found = path_join(folder, *name, &path) == CORNU_OK && file_exists(path);
            free(path);
            if (found)
                return true;
        }
    return false;
}

/* The number of records of one file, and whether it is the published number. */
static cornu_status measure(const char *folder, const cifar_layout *layout, int split,
                            const char *name, int64_t *records)
{
    cornu_status status;
    char *path = NULL;
    int fd = -1;
    uint64_t size;
    int64_t record = layout->label_bytes + PIXELS;
    TRY_GOTO(path_join(folder, name, &path));
    if (!file_exists(path)) {
        status =
            status_fail(CORNU_NOT_FOUND, "%s: not found; expected beside the other files", path);
        goto done;
    }
    TRY_GOTO(file_open_regular(path, &fd, &size));
    *records = (int64_t)size / record;
    if (*records < 1 || (int64_t)size % record)
        status = status_fail(
            CORNU_BAD_FILE,
            "%s: truncated or damaged: found %lld bytes; expected %lld records of %lld bytes", path,
            (long long)size, (long long)layout->official[split], (long long)record);
done:
    if (fd >= 0)
        close(fd);
    free(path);
    return status;
}

/* All files of a set have the published size, or (in sets made by hand) all training files have the
   same size; anything else is a truncated download, which must not pass as a smaller set. */
static cornu_status check_sizes(const char *folder, const cifar_layout *layout, int64_t each[2])
{
    bool official = false;
    int64_t found[2][8];
    for (int split = 0; split < 2; split++) {
        each[split] = 0;
        for (int i = 0; layout->files[split][i]; i++) {
            int64_t *records = &found[split][i];
            TRY(measure(folder, layout, split, layout->files[split][i], records));
            each[split] = *records > each[split] ? *records : each[split];
            official |= *records == layout->official[split];
        }
    }
    for (int split = 0; split < 2; split++) {
        each[split] = official ? layout->official[split] : each[split];
        for (int i = 0; layout->files[split][i]; i++)
            if (found[split][i] != each[split])
                return status_fail(CORNU_BAD_FILE, "%s/%s: found %lld records; expected %lld",
                                   folder, layout->files[split][i], (long long)found[split][i],
                                   (long long)each[split]);
    }
    return CORNU_OK;
}

/* Records [first, first + count) of the file: their pixels become channels-last. */
static cornu_status take_records(const char *path, const uint8_t *records, int label_bytes,
                                 int64_t first, int64_t count, int classes, uint8_t *x, int32_t *y)
{
    for (int64_t i = 0; i < count; i++, x += PIXELS) {
        const uint8_t *labels = records + i * (label_bytes + PIXELS);
        const uint8_t *planes = labels + label_bytes;
        y[i] = labels[label_bytes - 1];
        if (y[i] >= classes)
            return status_fail(CORNU_BAD_FILE, "%s: label of record %lld is %d; expected 0 to %d",
                               path, (long long)(first + i), y[i], classes - 1);
        for (int p = 0; p < PLANE; p++)
            for (int c = 0; c < 3; c++)
                x[3 * p + c] = planes[c * PLANE + p];
    }
    return CORNU_OK;
}

static cornu_status read_file(const char *folder, const cifar_layout *layout, const char *name,
                              int64_t count, int classes, uint8_t *x, int32_t *y)
{
    cornu_status status;
    char *path = NULL;
    uint8_t *records = NULL;
    int fd = -1;
    uint64_t size;
    int64_t record = layout->label_bytes + PIXELS;
    TRY_GOTO(path_join(folder, name, &path));
    TRY_GOTO(file_open_regular(path, &fd, &size));
    if ((int64_t)size != count * record) {
        status = status_fail(CORNU_BAD_FILE, "%s: changed while it was read", path);
        goto done;
    }
    TRY_GOTO(memory_new(RECORDS, (size_t)record, "records", &records));
    for (int64_t i = 0; i < count; i += RECORDS) {
        int64_t n = count - i < RECORDS ? count - i : RECORDS;
        TRY_GOTO(file_read_at(path, fd, (uint64_t)(i * record), records, (size_t)(n * record)));
        TRY_GOTO(
            take_records(path, records, layout->label_bytes, i, n, classes, x + i * PIXELS, y + i));
    }
done:
    if (fd >= 0)
        close(fd);
    free(records);
    free(path);
    return status;
}

/* Read the set's own list of class names, if it has one of the right length. */
static cornu_status read_names(const char *folder, const cifar_layout *layout, cornu_data *data)
{
    cornu_status status;
    char *path = NULL, *names = NULL, *rest = NULL;
    size_t size;
    int count = 0;
    TRY_GOTO(path_join(folder, layout->names_file, &path));
    if (!file_exists(path))
        goto done;
    TRY_GOTO(file_read(path, 1 << 16, &names, &size));
    for (char *line = strtok_r(names, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest)) {
        if (count < data->class_count) {
            free(data->class_names[count]);
            data->class_names[count] = NULL;
            TRY_GOTO(memory_copy_string(line, &data->class_names[count]));
        }
        count++;
    }
    if (count != data->class_count)
        status = status_fail(CORNU_BAD_FILE, "%s: found %d class names; expected %d", path, count,
                             data->class_count);
done:
    free(names);
    free(path);
    return status;
}

static cornu_status read_set(const char *folder, const dataset *set, const cifar_layout *layout,
                             cornu_data *data)
{
    int64_t each[2];
    shape none = {0};
    TRY(check_sizes(folder, layout, each));
    TRY(read_names(folder, layout, data));
    for (int split = 0; split < 2; split++) {
        uint8_t *x;
        int32_t *y;
        int files = 0;
        while (layout->files[split][files])
            files++;
        TRY(data_reserve_inputs(data, (cornu_split)split, files * each[split], &set->x_shape,
                                SAMPLE_U8, &x));
        TRY(data_reserve_targets(data, (cornu_split)split, &none, SAMPLE_I32, &y));
        for (int i = 0; i < files; i++)
            TRY(read_file(folder, layout, layout->files[split][i], each[split], set->class_count,
                          x + i * each[split] * PIXELS, y + i * each[split]));
    }
    return CORNU_OK;
}

static bool cifar10_present(const char *folder, const dataset *set)
{
    (void)set;
    return any_file(folder, &cifar10);
}

static cornu_status cifar10_read(const char *folder, const dataset *set,
                                 const data_request *request, cornu_data *data)
{
    (void)request;
    return read_set(folder, set, &cifar10, data);
}

static bool cifar100_present(const char *folder, const dataset *set)
{
    (void)set;
    return any_file(folder, &cifar100);
}

static cornu_status cifar100_read(const char *folder, const dataset *set,
                                  const data_request *request, cornu_data *data)
{
    (void)request;
    return read_set(folder, set, &cifar100, data);
}

const data_reader cifar10_reader = {"CIFAR-10's binary files", cifar10_present, cifar10_read};
const data_reader cifar100_reader = {"CIFAR-100's binary files", cifar100_present, cifar100_read};
