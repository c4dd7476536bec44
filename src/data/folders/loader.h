/* Decodes an image folder's files while their samples are already in use. Every file has a sample
   number, whether it can be read or not. So the samples of a step, and their numbers, never depend
   on which were decoded first, now or in an earlier run. */
#ifndef DATA_FOLDERS_LOADER_H
#define DATA_FOLDERS_LOADER_H

#include "data/folders/image_folder.h"
#include <cornu/images.h>

typedef struct loader loader;

/* Take over the files of both splits and the earlier notices; allocate memory for the pixels and
   start the workers (request->images.workers of them, at low priority). */
cornu_status loader_open(image_files *files, const data_request *request, skips *skipped,
                         const char *name, loader **out);
/* Waits only for the files that are being decoded. In a forked process the copy is left
   untouched. */
void loader_close(loader *l);
/* [count][height][width][channels], of both splits. */
const uint8_t *loader_pixels(const loader *l);

/* For data.h. `begin` and `end` are sample numbers: of a split, or of a range in it. */
void loader_want(loader *l, const void *who, int64_t begin, const int64_t *index, int64_t count);
bool loader_is_wanted_by(loader *l, const void *who);
cornu_status loader_next(loader *l, bool may_stop, bool *usable);
void loader_release(loader *l, int64_t begin, const int64_t *index, int64_t count);
/* Read every file. With the strict option a file that cannot be read is an error. */
cornu_status loader_finish(loader *l, const char *folder);
/* The samples that a rank will need after the list; `index` must stay valid until the next call. */
void loader_want_later(loader *l, int64_t begin, const int64_t *index, int64_t count);
/* Every file has been read, by one rank or another: report the result. */
cornu_status loader_end(loader *l, const char *folder);
/* From here on only samples that are needed are read, and a file counts as unusable only if all
   ranks know it (loader_know). */
cornu_status loader_divide(loader *l);
/* Is a file that cannot be read an error before any file is used? */
bool loader_is_strict(const loader *l);
bool loader_is_finished(const loader *l);
bool loader_is_known(const loader *l, int64_t number);
bool loader_is_lost(const loader *l, int64_t number);
/* All ranks know that a file can be read (NULL), or its problem, which is then reported. */
cornu_status loader_know(loader *l, int64_t number, const char *problem);
/* For a file that cannot be read: its path and the reason. */
const char *loader_problem(const loader *l, int64_t number);
/* Are all samples in memory? */
bool loader_is_whole(loader *l);
/* The number of files still to be read that later passes will not read again. It is 0 where nothing
   is kept, as each pass is then like the first. For one of several ranks it is that of the current
   pass. */
int64_t loader_left(loader *l);
/* The number of files not known to be unusable; the `number`-th (from 0) of these, or -1. */
int64_t loader_usable(loader *l, int64_t begin, int64_t end);
int64_t loader_number_of(loader *l, int64_t begin, int64_t end, int64_t number);
/* The path of a sample's file; lives as long as the loader. */
const char *loader_file(const loader *l, int64_t number);
void loader_report(loader *l, cornu_data_loading *out);

#endif
