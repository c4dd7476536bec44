/* The option `cache`: where an image folder's decoded samples are kept. */
#ifndef DATA_FOLDERS_CACHE_OPTION_H
#define DATA_FOLDERS_CACHE_OPTION_H

#include "base/status.h"

/* Values of the limit other than a number of bytes. */
enum { CACHE_MEMORY = -3, CACHE_AUTO = -2, CACHE_FILE = -1, CACHE_OFF = 0 };

/* Read an option: "off", "file", "memory" (up to half of free memory, else as "off"), a size
   ("4GB": in memory up to this, else in a file), or NULL (in memory up to half of free memory, else
   in a file: CACHE_AUTO). *limit is in bytes, or one of the above. */
cornu_status cache_option_read(const char *cache, int64_t *limit);

#endif
