/* Files: whole-file reads with a limit, and writes that are either complete or not there; and files
   whose names come from another person's recipe, which stay beneath one folder, whatever they are
   called and whatever links lie there. */
#ifndef BASE_FILES_H
#define BASE_FILES_H

#include "base/status.h"
#include <cornu/trainer.h>
#include <stdio.h>

/* "PATH: cannot ACTION: No such file or directory", by errno's value `error`. */
cornu_status file_fail(const char *path, const char *action, int error);
bool file_exists(const char *path);   /* a regular file */
bool folder_exists(const char *path); /* a folder */
/* "folder/name" as a new string. */
cornu_status path_join(const char *folder, const char *name, char **out);
/* The part after the last '/', inside `path`. */
const char *path_base(const char *path);
/* Resolve `path` as the file `source` names it: relative to the source's folder, unless it begins
   with '/'. */
cornu_status path_beside(const char *path, const char *source, char **out);
/* Does `path` end with `ending` (".npz"), letter case ignored? */
bool path_has_ending(const char *path, const char *ending);
cornu_status folder_make(const char *path); /* with parents */
/* The path of `rest` in the user's home; NULL without a home. */
cornu_status path_in_home(const char *rest, char **out);
/* cornu's folder in the user's cache ($XDG_CACHE_HOME, ~/.cache); NULL without one. It is not
   created. */
cornu_status cache_folder(char **out);
/* cornu's folder for the user's settings ($XDG_CONFIG_HOME, ~/.config); NULL without one. It is not
   created. */
cornu_status config_folder(char **out);

/* Open a regular file for reading; the caller closes *fd. A pipe, device, socket or folder is
   refused at once, without waiting for a writer. *size is the size now. Files are read and never
   mapped: a file that is truncated meanwhile is an error, where a mapping would end the process. */
cornu_status file_open_regular(const char *path, int *fd, uint64_t *size);
/* fsync, where the file system supports it. False: errno says why it failed. */
bool file_sync(int fd);
/* Exactly `size` bytes at `offset`; CORNU_BAD_FILE where the file ends before. */
cornu_status file_read_at(const char *path, int fd, uint64_t offset, void *to, size_t size);
/* The whole (regular) file as bytes followed by one zero byte. Refuses more than `limit` bytes. */
cornu_status file_read(const char *path, size_t limit, char **data, size_t *size);

/* Open `path` to write from its beginning, with further flags of open() (O_EXCL), as such a stream;
 *fd is its file's. NULL: errno says why not. */
FILE *file_stream_open(const char *path, int flags, int *fd);

/* Callbacks of a write: called before the temporary file exists, when it exists, after every few
   MB, and once the file has its final name. */
typedef struct file_watch {
    void (*on_write)(void *user, const cornu_saving *now); /* may be NULL */
    void *user;
} file_watch;

/* Atomic write: a temporary file in the same folder; commit does fflush, fsync, rename and fsync of
   the folder. Until then `path` is untouched; abandon removes the temporary file.

   A temporary file is called ".NAME.cornu-XXXXXX" and locked (flock) by its writer until it has its
   final name. The lock ends with the process. Opening a file to write also removes unlocked
   temporary files from its folder, and those with another ".XXXXXX" after the name, which libzip
   made for an earlier cornu. */
typedef struct file_write {
    FILE *stream;
    char *path, *temporary; /* temporary is NULL for a device or pipe, which is written directly */
    int lock;               /* descriptor of the temporary file that keeps its lock; -1: none */
    int failed;             /* errno of the first write that failed, or 0 */
    int64_t pushed, pushed_before;
    const file_watch *watch;
    cornu_saving now;
} file_write;
cornu_status file_write_open(const char *path, file_write *w);
/* The same for a path that the user did not give: a device or pipe, which may block, is refused. */
cornu_status file_write_open_regular(const char *path, file_write *w);
/* The same for a file of `bytes` bytes; `path` and `watch` (or NULL) must outlive `w`. */
cornu_status file_write_open_watched(const char *path, int64_t bytes, const file_watch *watch,
                                     file_write *w);
/* Could `path` be opened to write? Makes no file. */
cornu_status file_write_check(const char *path);
/* fwrite with the error turned into a status ("PATH: cannot write: No space left on device"). */
cornu_status file_write_bytes(file_write *w, const void *data, size_t size);
cornu_status file_write_commit(file_write *w); /* abandons on failure */
void file_write_abandon(file_write *w);        /* harmless after commit */

/* ---- names from another person's recipe ------------------------------------------------- */

/* CORNU_INVALID unless `path` is relative and consists of names alone: it is not empty, has no ".."
   and does not end with '/'. The message begins with "found". */
cornu_status beneath_check(const char *path);
/* Open the folder in which `path` lies, name by name from `root` down and through no link. *folder
   is for openat and the like, with path_base(path); the caller closes it. `root` (NULL or "": the
   current folder) may itself be reached by links. `make` creates missing folders; without it
   *folder is -1 where one is missing. */
cornu_status beneath_open_folder(const char *root, const char *path, bool make, int *folder);
/* Open the regular file `path` in the same way, with open's `flags`; a file with several names is
   refused. *fd is -1 where there is no such file. */
cornu_status beneath_open(const char *root, const char *path, int flags, int *fd);

#endif
