/* Downloads that are checked, resumed and atomic. */
#ifndef DATA_SETS_DOWNLOAD_H
#define DATA_SETS_DOWNLOAD_H

#include "base/status.h"
#include "data/sets/datasets.h"

/* Download file->url to `path`, which appears only when all bytes are there and their SHA-256 is
   right. Until then they are in PATH.part, from which a later call goes on. Fails with
   CORNU_NETWORK, and a message that says where to put the file by hand. Two processes may do the
   same at once: one waits. */
cornu_status download_file(const dataset_file *file, const char *path,
                           const cornu_data_options *options);
/* Is the SHA-256 of the file at `path` the expected one? */
cornu_status download_check(const dataset_file *file, const char *path);

#endif
