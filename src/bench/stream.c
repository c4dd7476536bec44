#include "bench/stream.h"
#include "base/files.h"
#include <errno.h>
#include <fcntl.h>

FILE *bench_stream_open(const char *path, int flags, int *fd)
{
    do
        *fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY | flags, 0666);
    while (*fd < 0 && errno == EINTR);
    return *fd < 0 ? NULL : file_stream(*fd);
}
