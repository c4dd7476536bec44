/* ZIP archives of others, through libzip: members that can only be as large as they are. */
#ifndef FORMAT_ARCHIVE_H
#define FORMAT_ARCHIVE_H

#include "base/files.h"
#include <zip.h>

/* What the members that are still to come may be: packed bytes of the file, and what all of them
   unpack to (`times` the file's size, by memory_unpacked_most). */
typedef struct archive_allowance {
    uint64_t packed, unpacked, most;
    int times;
} archive_allowance;

/* `code`, or CORNU_OUT_OF_MEMORY, by libzip's reason; `name` may be NULL. */
cornu_status archive_fail(cornu_status code, const char *path, const char *name, zip_error_t *e);
cornu_status archive_open(const char *path, int flags, cornu_status code, zip_t **archive);
/* To read a regular file. */
cornu_status archive_open_regular(const char *path, int times, archive_allowance *left,
                                  zip_t **archive);
/* Can a member be what its entry says? Guards against archives that unpack to far more than their
   size: by a false size, by many entries for the same bytes, or by zeros. */
cornu_status archive_check(const char *path, const zip_stat_t *s, archive_allowance *left);
/* The next `size` bytes. */
cornu_status archive_read(const char *path, const char *name, zip_file_t *member, void *out,
                          size_t size);
/* Is it all read? The checksum is compared then. */
cornu_status archive_end(const char *path, const char *name, zip_file_t *member);

/* ---- writing ---- */

/* An archive that archive_finish writes into `w`, which a kill leaves like any other temporary
   file: libzip has none of its own. A device or pipe is refused. */
cornu_status archive_create(file_write *w, zip_t **archive);
/* Add a member, stored, whose bytes stay until archive_finish; takes `source`, which may be NULL.
   The date is fixed (1980-01-01), so that the same content gives the same file. Messages call it
   `shown`. */
cornu_status archive_add(const char *path, const char *shown, zip_t *archive, const char *name,
                         zip_source_t *source);
/* Write it where `status` is CORNU_OK, else leave it; `archive` is gone in either case. */
cornu_status archive_finish(file_write *w, zip_t *archive, cornu_status status);

#endif
