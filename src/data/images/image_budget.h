/* The memory budget of pictures that are decoded at the same time. Which of them waits changes no
   pixel. */
#ifndef DATA_IMAGES_IMAGE_BUDGET_H
#define DATA_IMAGES_IMAGE_BUDGET_H

#include "base/status.h"
#include <pthread.h>

enum {
    IMAGE_BUDGET_SPARE = 384000000, /* bytes for all pictures together ... */
    IMAGE_BUDGET_TIMES = 32         /* ... plus this multiple of their files' sizes */
};

typedef struct image_budget {
    pthread_mutex_t lock;
    pthread_cond_t returned;
    int64_t spare, most; /* bytes: in addition to the files' sizes; in all */
    int64_t taken, files, peak;
    uint64_t next, serving; /* tickets: first come, first served */
} image_budget;

/* At most `most` bytes in all (and no fewer than `spare`): `spare` plus IMAGE_BUDGET_TIMES the
   files' sizes. */
void image_budget_open(image_budget *b, int64_t spare, int64_t most);
void image_budget_close(image_budget *b);
/* Wait until there is room. A picture that needs more than the whole budget waits until it is
   alone. A thread must return its bytes before it takes more. */
void image_budget_take(image_budget *b, int64_t bytes, size_t file_bytes);
void image_budget_return(image_budget *b, int64_t bytes, size_t file_bytes);

#endif
