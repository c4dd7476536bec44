/* Memory: allocation with a clear error, and how much there is. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include "base/status.h"
#include <stdint.h>

/* Zeroed memory for `count` items of `size` bytes; on failure (or overflow) CORNU_OUT_OF_MEMORY and
 *out is NULL. `what` names it in the message. Release with free(). */
cornu_status memory_new(size_t count, size_t size, const char *what, void *out);
/* 64-byte aligned, zeroed, backed by huge pages where that helps; release with memory_free_aligned.
 */
cornu_status memory_new_aligned(size_t bytes, const char *what, void *out);
void memory_free_aligned(void *memory);
/* Tell that the contents of a block (of memory_new_aligned) are no longer needed. A large block
   gives its memory back until it is written again, and reads as zeros; a small one stays as it
   is. */
void memory_discard(void *memory, size_t bytes);
cornu_status memory_copy_string(const char *text, char **out);
/* Put a copy of `text` (or NULL) in place of *to; on failure *to stays. */
cornu_status memory_replace_string(const char *text, char **to);
/* printf into a new string. */
cornu_status memory_format(char **out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Grow an array so that it holds at least `needed` items: *items, *capacity are updated. */
cornu_status memory_grow(void *items, size_t *capacity, size_t needed, size_t size);

/* Bytes that this process may still take: the minimum of free memory, its cgroup's limit and its
   own limits. Memory that any thread of it has allocated counts as taken, touched or not; mapped
   memory counts once it is touched. */
int64_t memory_available(void);
int64_t memory_total(void);
/* The largest unpacked size of a packed file of `size` bytes: `times` its size, where less than 1
   MB counts as 1 MB. So a small file cannot take all memory, whatever it claims. */
int64_t memory_unpacked_most(uint64_t size, int64_t times);
/* "1.2 GB", "340 MB", "12 kB" into `text` (at least 16 bytes); decimal units. Returns `text`. */
char *memory_human(double bytes, char *text);

/* A growing string. Errors are kept: append freely, then check once in text_take. */
typedef struct text {
    char *data;
    size_t length, capacity;
    bool failed;
} text;
void text_add(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Append `line`, which comes from outside, as cornu_printable shows it. */
void text_add_printable(text *t, const char *line);
/* Hand over the string; the text is empty afterwards. */
cornu_status text_take(text *t, char **out);
void text_free(text *t);

/* ---- control groups --------------------------------------------------------------------- */

/* Limits of this process's Linux control group (versions 1 and 2), with those of all parent groups:
   bytes left, and bytes in all; INT64_MAX without a limit. Page cache that the kernel would drop
   first counts as left. */
int64_t cgroup_memory_left(void);
int64_t cgroup_memory_limit(void);
/* CPU time per second in cores, e.g. 1.5; 0 without a limit. */
double cgroup_cpus(void);

#endif
