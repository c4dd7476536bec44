/* The files of an image folder. */
#ifndef DATA_FOLDERS_IMAGE_FOLDER_H
#define DATA_FOLDERS_IMAGE_FOLDER_H

#include "data/data.h"

/* Notices name this many unusable files, and give the number of the others. */
#define SKIPS_TOLD 20

/* Unusable files, reported as they are found. */
typedef struct skips {
    const cornu_data_options *options;
    bool strict; /* an unusable file is an error */
    int64_t count;
    char *first;       /* the message about the first */
    bool listed, told; /* with brief notices: of later files only the first is reported */
} skips;

/* `line` begins with the path and describes the problem. */
cornu_status skips_add(skips *s, const char *line);
/* Report how many were not named; with the strict option one is an error. */
cornu_status skips_finish(skips *s, const char *folder);

#define LABEL_NONE (-1)

/* One image file. */
typedef struct image_file {
    char *path;    /* FOLDER/CLASS/..., owned */
    char *problem; /* why it could not be read, or NULL; owned */
    int label;     /* LABEL_NONE: for all files or for none */
    float value;   /* in a table: the number to be predicted */
    bool test;     /* in the test split, by validation_split */
} image_file;

typedef struct image_files {
    image_file *items;
    size_t count, capacity;
    bool values; /* they have values and no labels */
} image_files;
void image_files_free(image_files *files);

typedef struct name_list {
    char **names;
    size_t count, capacity;
} name_list;
void names_free(name_list *list);

/* The names of the class folders in `folder`, in byte order. */
cornu_status images_list_classes(const char *folder, const cornu_data_options *options,
                                 name_list *classes);
/* Add the images in `folder` and below it, ordered by folder, then name. The fraction
   `test_fraction` of them, chosen by their paths inside the data set, gets `test`. */
cornu_status images_scan_class(const char *folder, const char *class_name, int label,
                               double test_fraction, skips *skipped, image_files *files);

/* A number between 0 and 1 for a file, from its path in the data set alone. */
cornu_status images_fraction(const char *inside, double *fraction);

/* Keep the fraction r->options.fraction of the files of each split and class; `name` is that of the
   data. */
cornu_status images_take_share(image_files *files, const data_request *r, const char *name);
/* Pass the files to the loader of `data`, the training samples first; the blocks of `data` then
   point to the loader's pixels and labels. */
cornu_status images_load(image_files *files, const data_request *request, skips *skipped,
                         cornu_data *data);

/* ---- splits ----------------------------------------------------------------------------- */

/* Both are NULL where the folder itself holds the classes; `test` alone where there is no test
   split. */
typedef struct image_splits {
    char *train, *test;
} image_splits;

/* A folder is a split if its name says so (train, test, val, ..., in any case), it holds folders,
   and every folder of pictures beside it also has a split's name: otherwise it is a class. Unused
   folders beside the splits are reported. CORNU_INVALID where two could be the same split. */
cornu_status splits_find(const char *folder, const cornu_data_options *options, image_splits *out);
void splits_free(image_splits *splits);

#endif
