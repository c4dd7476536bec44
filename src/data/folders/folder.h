/* Recognizes the data in a folder by its files. */
#ifndef DATA_FOLDERS_FOLDER_H
#define DATA_FOLDERS_FOLDER_H

#include "data/sets/datasets.h"

/* The data set in `folder`, or one level below: a named set's files, or images (a location without
   a set). Of several, the only one with suitable inputs of shape `input` (NULL: any); else
   CORNU_INVALID, and the message names them all. Reads only names. */
cornu_status folder_find(const char *folder, const shape *input, const cornu_data_options *options,
                         data_location *location);
/* The same for a path in a model file, which is not trusted: only data in the path itself, a set's
   files (`name`; NULL: none), images, or an .npz file; otherwise location->folder is NULL. */
cornu_status folder_find_hint(const char *name, const char *path, data_location *location);
/* CORNU_NOT_FOUND: `folder` does not hold `expected`; the message says what it does hold. */
cornu_status folder_fail(const char *folder, const char *expected);

#endif
