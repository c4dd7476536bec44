/* Files: whole-file reads with a limit, and writes that are either complete or not there. */
#ifndef BASE_FILES_H
#define BASE_FILES_H

#include "base/status.h"
#include <stdio.h>

bool file_exists(const char *path);   /* a regular file */
bool folder_exists(const char *path); /* a folder */
/* "folder/name" as a new string. */
cornu_status path_join(const char *folder, const char *name, char **out);
/* The part after the last '/', inside `path`. */
const char *path_base(const char *path);
/* Does `path` end with `ending` (".npz"), letter case ignored? */
bool path_has_ending(const char *path, const char *ending);
cornu_status folder_make(const char *path); /* with parents */

/* Open for reading (*fd, to be closed) what must be a regular file: a pipe, a device, a socket or a
   folder is refused at once, without waiting for anybody. *size is that of now. Files are read and
   never mapped: one that is cut meanwhile is an error, where a mapping would end the process. */
cornu_status file_open_regular(const char *path, int *fd, uint64_t *size);
/* Exactly `size` bytes at `offset`; CORNU_BAD_FILE where the file ends before. */
cornu_status file_read_at(const char *path, int fd, uint64_t offset, void *to, size_t size);
/* The whole (regular) file as bytes followed by one zero byte. Refuses more than `limit` bytes. */
cornu_status file_read(const char *path, size_t limit, char **data, size_t *size);

/* Atomic write: a temporary file in the same folder; commit does fflush, fsync, rename and fsync of
   the folder. Until then `path` is untouched; abandon removes the temporary file. */
typedef struct file_write {
    FILE *stream;
    char *path, *temporary;
} file_write;
cornu_status file_write_open(const char *path, file_write *w);
/* fwrite with the error turned into a status ("PATH: cannot write: No space left on device"). */
cornu_status file_write_bytes(file_write *w, const void *data, size_t size);
cornu_status file_write_commit(file_write *w); /* abandons on failure */
void file_write_abandon(file_write *w);        /* harmless after commit */

#endif
