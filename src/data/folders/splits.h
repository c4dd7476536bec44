/* Finds the splits of an image folder. */
#ifndef DATA_FOLDERS_SPLITS_H
#define DATA_FOLDERS_SPLITS_H

#include "data/data.h"

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
