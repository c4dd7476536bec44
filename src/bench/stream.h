/* What the program, which sees no room before this one, asks of base/files.h. */
#ifndef BENCH_STREAM_H
#define BENCH_STREAM_H

#include <stdio.h>

/* Open `path` to write from its beginning, with further flags of open() (O_EXCL), as a stream that
   goes on where a signal interrupts a write; *fd is its file's. NULL: errno says why not. */
FILE *bench_stream_open(const char *path, int flags, int *fd);

#endif
