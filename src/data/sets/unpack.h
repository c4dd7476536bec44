/* Unpacking of downloaded archives. */
#ifndef DATA_SETS_UNPACK_H
#define DATA_SETS_UNPACK_H

#include "base/status.h"

/* Unpack a .tar, .tar.gz or .zip into `folder` (created if missing, otherwise empty). Only plain
   files and folders inside `folder` are created: a member with an absolute path, "..", a link or a
   device is refused, and so is more than `limit` bytes in all. Asks options->should_stop (NULL is
   fine). On failure the caller removes `folder`. */
cornu_status archive_unpack(const char *archive, const char *folder, int64_t limit,
                            const cornu_data_options *options);
/* Remove a folder and its contents; links are removed, not followed. A missing folder is no
   error. */
cornu_status folder_remove(const char *folder);

#endif
