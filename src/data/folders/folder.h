/* Folders whose kind their files tell. */
#ifndef DATA_FOLDERS_FOLDER_H
#define DATA_FOLDERS_FOLDER_H

#include "data/sets/datasets.h"

/* The data set that `folder` is, or holds one level down: a named set's files, or images (a
   location without a set). Of several, the only one that could be inputs of shape `input` (NULL: of
   any); else CORNU_INVALID, with all of them named. Reads nothing but names. */
cornu_status folder_find(const char *folder, const shape *input, const cornu_data_options *options,
                         data_location *location);
/* The same of a path that a model file names, which may be anybody's: only what lies right there,
   a set's files (`name`; NULL: none), images, or an .npz file; location->folder is NULL otherwise.
 */
cornu_status folder_find_hint(const char *name, const char *path, data_location *location);
/* CORNU_NOT_FOUND: `folder` holds no `expected`, but what it does hold. */
cornu_status folder_fail(const char *folder, const char *expected);

#endif
