/* For LD_PRELOAD: who opens libOpenCL.so.1 gets the shim, even if the real one is in the process
   already, because another library is linked with it. */
#include <dlfcn.h>
#include <string.h>

void *dlopen(const char *name, int flags)
{
    void *(*real)(const char *, int);
    *(void **)(void *)&real = dlsym(RTLD_NEXT, "dlopen");
    return real(name && strcmp(name, "libOpenCL.so.1") == 0 ? SHIM : name, flags);
}
