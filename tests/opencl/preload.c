/* For LD_PRELOAD: who opens libOpenCL.so.1 gets the shim. (It cannot simply take that name: oneDNN
   is linked with the real one, which is then in the process already.) */
#include <dlfcn.h>
#include <string.h>

void *dlopen(const char *name, int flags)
{
    void *(*real)(const char *, int);
    *(void **)(void *)&real = dlsym(RTLD_NEXT, "dlopen");
    return real(name && strcmp(name, "libOpenCL.so.1") == 0 ? SHIM : name, flags);
}
