/* Files whose names come from another person's recipe. They stay beneath one folder, whatever they
   are called and whatever links lie there. */
#ifndef BASE_BENEATH_H
#define BASE_BENEATH_H

#include "base/status.h"

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
