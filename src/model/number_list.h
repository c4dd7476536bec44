/* A list of numbers among options. */
#ifndef MODEL_NUMBER_LIST_H
#define MODEL_NUMBER_LIST_H

#include <stdbool.h>

enum { NUMBER_LIST_MAX = 33 };

typedef struct number_list {
    int count; /* -1: null */
    bool one;  /* not in a list */
    double value[NUMBER_LIST_MAX];
} number_list;

#endif
