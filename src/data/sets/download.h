/* Downloads that are verified, resumable and atomic. */
#ifndef DATA_SETS_DOWNLOAD_H
#define DATA_SETS_DOWNLOAD_H

#include "base/status.h"
#include "data/sets/datasets.h"

/* Download file->url to `path`, which appears only when all bytes are there and their SHA-256 is
   right. Until then they are in PATH.part, from which a later call continues. Fails with
   CORNU_NETWORK; the message says where to put the file by hand. Of two processes with the same
   download one waits. */
cornu_status download_file(const dataset_file *file, const char *path,
                           const cornu_data_options *options);
/* Is the SHA-256 of the file at `path` the expected one? */
cornu_status download_check(const dataset_file *file, const char *path);

#endif
