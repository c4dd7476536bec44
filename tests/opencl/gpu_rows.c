/* The plug-in with the blocking that GPUs have, which makes other kernels of products and another
   choice of tiles and slices: so that PoCL runs those, too. */
#include "device/opencl/plugin/core.h"

cornu_status __real_opencl_tuning_choose(opencl *d, const char *asked);
cornu_status __wrap_opencl_tuning_choose(opencl *d, const char *asked);

/* Also afterwards it counts as none of CPUs. */
cornu_status __wrap_opencl_tuning_choose(opencl *d, const char *asked)
{
    d->is_cpu = false;
    return __real_opencl_tuning_choose(d, asked);
}
