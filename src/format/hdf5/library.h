/* What writing asks of libhdf5. */
#ifndef FORMAT_HDF5_LIBRARY_H
#define FORMAT_HDF5_LIBRARY_H

#include "base/status.h"
#include <hdf5.h>

/* The caller's own reports of errors, which are off meanwhile: libhdf5 would print. */
typedef struct hdf5_quiet {
    H5E_auto2_t report;
    void *user;
} hdf5_quiet;
/* CORNU_UNSUPPORTED where libhdf5 was built for one thread at a time. */
cornu_status hdf5_begin(const char *path, hdf5_quiet *quiet);
void hdf5_end(const hdf5_quiet *quiet);

/* libhdf5 looks whether there is a file of the name that it is given with bytes in memory: beneath
   what is no folder there is none. */
#define HDF5_NO_FILE "/dev/null/hdf5"

/* The innermost reason of libhdf5's last error, into `text`; returns it. */
enum { HDF5_WHY = 200 };
const char *hdf5_why(char text[HDF5_WHY]);

#endif
