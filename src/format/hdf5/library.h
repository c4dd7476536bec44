/* The use of libhdf5 for writing. */
#ifndef FORMAT_HDF5_LIBRARY_H
#define FORMAT_HDF5_LIBRARY_H

#include "base/status.h"
#include <hdf5.h>

/* The caller's own error handler of libhdf5, which is off meanwhile: libhdf5 would print. */
typedef struct hdf5_quiet {
    H5E_auto2_t report;
    void *user;
} hdf5_quiet;
/* CORNU_UNSUPPORTED where libhdf5 was built for one thread at a time. */
cornu_status hdf5_begin(const char *path, hdf5_quiet *quiet);
void hdf5_end(const hdf5_quiet *quiet);

/* libhdf5 checks whether a file with the given name exists, even for an image in memory: below
   /dev/null, which is no folder, there can be none. */
#define HDF5_NO_FILE "/dev/null/hdf5"

/* Copy the innermost reason of libhdf5's last error into `text`; returns it. */
enum { HDF5_WHY = 200 };
const char *hdf5_why(char text[HDF5_WHY]);

#endif
