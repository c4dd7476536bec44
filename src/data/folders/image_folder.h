/* The files of an image folder. */
#ifndef DATA_FOLDERS_IMAGE_FOLDER_H
#define DATA_FOLDERS_IMAGE_FOLDER_H

#include "data/data.h"

/* Of this many files that cannot be used the names are told, of the others the number. */
#define SKIPS_TOLD 20

/* Files that cannot be used: told as they come. */
typedef struct skips {
    const cornu_data_options *options;
    int64_t count;
    char *first;       /* what was said of the first */
    bool listed, told; /* where it is to be brief: of what is found later, the first is told */
} skips;

/* `line` begins with the path and says what is wrong. */
cornu_status skips_add(skips *s, const char *line);
/* Tell how many were not named; with the strict option, one is an error. */
cornu_status skips_finish(skips *s, const char *folder);

#define LABEL_NONE (-1)

/* One image file. */
typedef struct image_file {
    char *path;    /* FOLDER/CLASS/..., owned */
    char *problem; /* why it could not be read, or NULL; owned */
    int label;     /* LABEL_NONE: of all files or of none */
    float value;   /* of a table: what is to be predicted */
    bool test;     /* of the split that validation_split takes */
} image_file;

typedef struct image_files {
    image_file *items;
    size_t count, capacity;
    bool values; /* they have values, and no labels */
} image_files;
void image_files_free(image_files *files);

typedef struct name_list {
    char **names;
    size_t count, capacity;
} name_list;
void names_free(name_list *list);

/* The names of the folders in `folder` that are classes, in byte order. */
cornu_status images_list_classes(const char *folder, const cornu_data_options *options,
                                 name_list *classes);
/* Is an image in it, not below, if only one of a format that is not read? */
bool images_hold(const char *folder);
/* Add the images in `folder` and below it, ordered by folder, then name. `test_fraction` of them,
   told by their paths inside the data set, get `test`. */
cornu_status images_scan_class(const char *folder, const char *class_name, int label,
                               double test_fraction, skips *skipped, image_files *files);

/* Where a file lies between 0 and 1, by its name in the data set alone. */
double images_fraction(const char *inside);

/* Of the files of each split, and class, the share that r->options.fraction asks for; `name` is
   that of the data. */
cornu_status images_take_share(image_files *files, const data_request *r, const char *name);
/* Hand the files over to the loader of `data`, the training samples first; its blocks then show
   their pixels and labels. */
cornu_status images_load(image_files *files, const data_request *request, skips *skipped,
                         cornu_data *data);

#endif
