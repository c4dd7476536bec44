/* Regular expressions that are looked for in names. */
#ifndef MODEL_PATTERNS_H
#define MODEL_PATTERNS_H

#include "base/doc.h"

enum { PATTERNS_SIZE = 512 };

/* One after the other, each with its 0, then an empty one. */
typedef struct patterns {
    char text[PATTERNS_SIZE];
} patterns;

/* Is one of them found in the name? */
bool patterns_find(const patterns *p, const char *name);
json_t *patterns_to_json(const patterns *p);

#endif
