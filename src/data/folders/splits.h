/* Which folders of an image folder are its splits. */
#ifndef DATA_FOLDERS_SPLITS_H
#define DATA_FOLDERS_SPLITS_H

#include "data/data.h"

/* Both are NULL where the folder itself holds the classes; `test` alone where there is none. */
typedef struct image_splits {
    char *train, *test;
} image_splits;

/* A folder is a split if its name says so (train, test, val, ..., in any case), it holds folders,
   and every folder of pictures beside it has a split's name, too: else it is a class. What is
   beside the splits and not used is told. CORNU_INVALID where two could be the same split. */
cornu_status splits_find(const char *folder, const cornu_data_options *options, image_splits *out);
void splits_free(image_splits *splits);

#endif
