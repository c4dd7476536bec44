/* Files whose names come from somebody else's recipe: they stay beneath one folder, whatever they
   are called and whatever links lie there. */
#ifndef BASE_BENEATH_H
#define BASE_BENEATH_H

#include "base/status.h"

/* CORNU_INVALID unless `path` is relative and of names alone: not empty, no "..", no '/' at its
   end. The message begins with "found". */
cornu_status beneath_check(const char *path);
/* Open the folder in which `path` lies (*folder, to be closed; for openat and the like, with
   path_base(path)), from `root` (NULL or "": the current folder; may be reached by links) down,
   name by name and through no link. Missing folders are made, or else *folder is -1. */
cornu_status beneath_open_folder(const char *root, const char *path, bool make, int *folder);
/* Open `path` itself in the same way, a regular file that no other name leads to; `flags` of open.
 *fd is -1 where there is none. */
cornu_status beneath_open(const char *root, const char *path, int flags, int *fd);

#endif
