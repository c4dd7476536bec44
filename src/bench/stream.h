/* base/files.h for the program, which sees no room before bench. */
#ifndef BENCH_STREAM_H
#define BENCH_STREAM_H

#include <stdio.h>

/* Open `path` to write from its beginning, with further flags of open() (O_EXCL), as a stream that
   goes on where a signal interrupts a write; *fd is its file's. NULL: errno says why not. */
FILE *bench_stream_open(const char *path, int flags, int *fd);

#endif
