#include "format/hdf5/library.h"
#include "format/hdf5/hdf5.h"
#include <stdio.h>

cornu_status hdf5_begin(const char *path, hdf5_quiet *quiet)
{
    hbool_t safe = 0;
    if (H5open() < 0 || H5is_library_threadsafe(&safe) < 0 || !safe)
        return status_fail(CORNU_UNSUPPORTED,
                           "%s: found a libhdf5 for one thread at a time; expected a thread-safe "
                           "one, such as Debian's",
                           path);
    H5Eget_auto2(H5E_DEFAULT, &quiet->report, &quiet->user);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return CORNU_OK;
}

void hdf5_end(const hdf5_quiet *quiet)
{
    H5Eset_auto2(H5E_DEFAULT, quiet->report, quiet->user);
}

cornu_status hdf5_check(const char *path)
{
    hdf5_quiet quiet;
    TRY(hdf5_begin(path, &quiet));
    hdf5_end(&quiet);
    return CORNU_OK;
}

static herr_t take_reason(unsigned n, const H5E_error2_t *error, void *text)
{
    (void)n;
    if (error->desc && *error->desc)
        snprintf(text, HDF5_WHY, "%s", error->desc);
    return 0;
}

const char *hdf5_why(char text[HDF5_WHY])
{
    snprintf(text, HDF5_WHY, "damaged HDF5");
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, take_reason, text);
    return text;
}
