/* The plug-in with the blocking that GPUs have, which makes other kernels of products and another
   choice of tiles and slices: so that PoCL runs those, too. */
#include "device/opencl/plugin/core.h"

cornu_status __real_opencl_blocking_for(const opencl *d, opencl_blocking *out);
cornu_status __wrap_opencl_blocking_for(const opencl *d, opencl_blocking *out);

/* Also afterwards it counts as none of CPUs. */
cornu_status __wrap_opencl_blocking_for(const opencl *d, opencl_blocking *out)
{
    ((opencl *)(uintptr_t)d)->is_cpu = false;
    return __real_opencl_blocking_for(d, out);
}
