/* A folder of a test's own, removed with all that is in it. One at a time per test program. */
#ifndef SUPPORT_SCRATCH_H
#define SUPPORT_SCRATCH_H

#include <stddef.h>

/* cmocka setup and teardown. */
int scratch_open(void **state);
int scratch_close(void **state);
/* Path of `name` in the folder; the last 8 results stay valid. */
const char *scratch_path(const char *name);
/* Write a file; returns its path. */
const char *scratch_write(const char *name, const void *data, size_t size);
/* Number of files and folders directly in the folder. */
int scratch_count(void);

#endif
