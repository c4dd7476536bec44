/* ZIP archives from elsewhere, read through libzip: a member's size is checked before it is
   believed. */
#ifndef FORMAT_ARCHIVE_H
#define FORMAT_ARCHIVE_H

#include "base/files.h"
#include <zip.h>

/* Limits on the members that are still to be read: packed bytes left in the file, and the unpacked
   bytes of all of them (`times` the file's size, by memory_unpacked_most). */
typedef struct archive_allowance {
    uint64_t packed, unpacked, most;
    int times;
} archive_allowance;

/* Fail with `code`, or CORNU_OUT_OF_MEMORY if that is libzip's reason; `name` may be NULL. */
cornu_status archive_fail(cornu_status code, const char *path, const char *name, zip_error_t *e);
/* Open a regular file for reading. */
cornu_status archive_open_regular(const char *path, int times, archive_allowance *left,
                                  zip_t **archive);
/* Can a member have the size that its entry states? This guards against archives that unpack to far
   more than their size: by a false size, by many entries for the same bytes, or by zeros. */
cornu_status archive_check(const char *path, const zip_stat_t *s, archive_allowance *left);
/* The next `size` bytes. */
cornu_status archive_read(const char *path, const char *name, zip_file_t *member, void *out,
                          size_t size);
/* Fail unless all of it was read; the checksum is compared then. */
cornu_status archive_end(const char *path, const char *name, zip_file_t *member);

/* ---- writing ---- */

/* An archive that archive_finish writes into `w`. A killed process leaves it like any other
   temporary file: libzip makes none of its own. A device or pipe is refused. */
cornu_status archive_create(file_write *w, zip_t **archive);
/* Add a stored member; its bytes must live until archive_finish. Takes `source`, which may be NULL.
   The date is fixed (1980-01-01), so that the same content gives the same file. Messages call the
   member `shown`. */
cornu_status archive_add(const char *path, const char *shown, zip_t *archive, const char *name,
                         zip_source_t *source);
/* Write the archive where `status` is CORNU_OK, else discard it; `archive` is freed in either
   case. */
cornu_status archive_finish(file_write *w, zip_t *archive, cornu_status status);

#endif
