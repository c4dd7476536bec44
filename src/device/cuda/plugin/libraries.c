#include "device/cuda/plugin/libraries.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_OF(macro) #macro
#define TEXT(macro) TEXT_OF(macro) /* with the header's versions: cuMemAlloc_v2 */

#define DRIVER_FILE "libcuda.so.1"
#define NVML_FILE "libnvidia-ml.so.1"
#define BLAS_FILE "libcublasLt.so." TEXT(CUBLAS_VER_MAJOR)
#define DNN_FILE "libcudnn.so." TEXT(CUDNN_MAJOR)
enum { TOOLKIT_MAJOR = CUDA_VERSION / 1000, TOOLKIT_MINOR = CUDA_VERSION / 10 % 100 };

/* ---- one library ------------------------------------------------------------------------- */

typedef struct symbol {
    const char *name, *older; /* older: NULL, or under which the same function may be found */
    size_t offset;            /* in cuda_libraries or cudnn_library */
} symbol;

#define ROW(library, name, older) {TEXT(name), older, offsetof(library, name)},
static const symbol driver_symbols[] = {
#define CUDA(name) ROW(cuda_libraries, name, NULL)
#define CUDA_RENAMED(name, older) ROW(cuda_libraries, name, older)
#include "device/cuda/plugin/libraries.def"
    {NULL, NULL, 0}};
static const symbol blas_symbols[] = {
#define BLAS(name) ROW(cuda_libraries, name, NULL)
#include "device/cuda/plugin/libraries.def"
    {NULL, NULL, 0}};
static const symbol dnn_symbols[] = {
#define DNN(name) ROW(cudnn_library, name, NULL)
#include "device/cuda/plugin/libraries.def"
    {NULL, NULL, 0}};
static const symbol nvml_symbols[] = {
#define NVML(name) ROW(cuda_libraries, name, NULL)
#include "device/cuda/plugin/libraries.def"
    {NULL, NULL, 0}};

/* NULL, or the first function that the library lacks. */
static const char *take_symbols(void *library, const symbol *symbols, void *to)
{
    for (const symbol *s = symbols; s->name; s++) {
        void *found = dlsym(library, s->name);
        if (!found && s->older)
            found = dlsym(library, s->older);
        if (!found)
            return s->name;
        memcpy((char *)to + s->offset, &found, sizeof found);
    }
    return NULL;
}

/* Open a library by its name, then in the toolkit's folder. On failure returns NULL with the
   reason in `why`, which prefers a library that exists but cannot be opened. Libraries stay open
   until the process ends. */
static void *open_library(const char *name, char *why, size_t size)
{
    char path[512];
    void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (library)
        return library;
    const char *error = dlerror();
    bool absent =
        !error || (strncmp(error, name, strlen(name)) == 0 && strstr(error, "No such file"));
    snprintf(path, sizeof path, CUDA_LIBRARY_FOLDER "/%s", name);
    if (absent && access(path, F_OK) == 0) {
        library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
        error = library ? NULL : dlerror();
        absent = !error;
    }
    if (absent)
        snprintf(why, size, "%s not found", name);
    else
        snprintf(why, size, "%s", error);
    return library;
}

/* ---- all of them ------------------------------------------------------------------------- */

static cornu_status check_driver_version(const cuda_libraries *lib)
{
    int version = 0;
    CUresult result = lib->cuDriverGetVersion(&version);
    if (result != CUDA_SUCCESS)
        return cuda_check(lib, -1, result, "cuDriverGetVersion");
    if (version >= TOOLKIT_MAJOR * 1000)
        return CORNU_OK;
    return status_fail(CORNU_NOT_FOUND,
                       "NVIDIA's driver (%s) is too old: it is for CUDA %d.%d; expected CUDA %d.0 "
                       "or newer",
                       lib->driver, version / 1000, version / 10 % 100, TOOLKIT_MAJOR);
}

static void open_nvml(cuda_libraries *lib)
{
    char why[256];
    void *library = open_library(NVML_FILE, why, sizeof why);
    int version = 0;
    lib->has_nvml = library && !take_symbols(library, nvml_symbols, lib) && lib->nvmlInit_v2() == 0;
    if (lib->has_nvml && lib->nvmlSystemGetDriverVersion(lib->driver, sizeof lib->driver) == 0)
        return;
    if (lib->cuDriverGetVersion(&version) == CUDA_SUCCESS)
        snprintf(lib->driver, sizeof lib->driver, "for CUDA %d.%d", version / 1000,
                 version / 10 % 100);
}

static cornu_status open_driver(cuda_libraries *lib)
{
    void *library = dlopen(DRIVER_FILE, RTLD_LAZY | RTLD_LOCAL);
    if (!library) {
        const char *error = dlerror();
        bool absent = !error || strstr(error, "No such file");
        return status_fail(CORNU_NOT_FOUND, "no CUDA driver (%s); install NVIDIA's driver",
                           absent ? DRIVER_FILE " was not found" : error);
    }
    const char *missing = take_symbols(library, driver_symbols, lib);
    if (lib->cuDriverGetVersion && lib->cuGetErrorName && lib->cuGetErrorString) {
        open_nvml(lib);
        TRY(check_driver_version(lib));
    }
    if (missing)
        return status_fail(CORNU_NOT_FOUND,
                           "NVIDIA's driver (" DRIVER_FILE ") is too old: it has no %s; expected "
                           "one for CUDA %d.%d",
                           missing, TOOLKIT_MAJOR, TOOLKIT_MINOR);
    return CORNU_OK;
}

/* No device is the driver's error; everything else of cuInit is reported by its name. */
static cornu_status start_driver(const cuda_libraries *lib)
{
    CUresult result = lib->cuInit(0);
    int devices = 0;
    if (result == CUDA_SUCCESS)
        result = lib->cuDeviceGetCount(&devices);
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_NO_DEVICE) {
        cornu_status status = cuda_check(lib, -1, result, "cuInit");
        return status_prefix(status, "driver %s found", lib->driver);
    }
    if (devices > 0)
        return CORNU_OK;
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (visible)
        return status_fail(CORNU_NOT_FOUND, "no CUDA device (CUDA_VISIBLE_DEVICES is %s%s%s)",
                           *visible ? "\"" : "empty", visible, *visible ? "\"" : "");
    return status_fail(CORNU_NOT_FOUND, "no CUDA device (driver %s finds none)", lib->driver);
}

/* `found`: what has been found before, for the message ("driver 580.65 found, "). */
static cornu_status open_with(const char *found, const char *name, const char *package,
                              const symbol *symbols, void *to)
{
    char why[256];
    void *library = open_library(name, why, sizeof why);
    if (!library)
        return status_fail(CORNU_NOT_FOUND,
                           "%s%s; install %s, or put its folder into LD_LIBRARY_PATH", found, why,
                           package);
    const char *missing = take_symbols(library, symbols, to);
    if (missing)
        return status_fail(CORNU_NOT_FOUND, "%s%s has no %s; install a newer %s", found, name,
                           missing, package);
    return CORNU_OK;
}

static cornu_status open_all(cuda_libraries *lib)
{
    char package[64], found[96];
    TRY(open_driver(lib));
    TRY(start_driver(lib));
    snprintf(found, sizeof found, "driver %s found, ", lib->driver);
    snprintf(package, sizeof package, "libcublas-%d-%d", TOOLKIT_MAJOR, TOOLKIT_MINOR);
    TRY(open_with(found, BLAS_FILE, package, blas_symbols, lib));
    size_t blas = lib->cublasLtGetVersion();
    snprintf(lib->versions, sizeof lib->versions, "CUDA %d.%d, cuBLASLt %zu.%zu", TOOLKIT_MAJOR,
             TOOLKIT_MINOR, blas / 10000, blas / 100 % 100);
    return CORNU_OK;
}

static cornu_status open_cudnn(cudnn_library *lib)
{
    char package[64];
    snprintf(package, sizeof package, "libcudnn%d-cuda-%d", CUDNN_MAJOR, TOOLKIT_MAJOR);
    TRY(open_with("", DNN_FILE, package, dnn_symbols, lib));
    lib->version = (int)lib->cudnnGetVersion();
    snprintf(lib->name, sizeof lib->name, "cuDNN %d.%d.%d", lib->version / 10000,
             lib->version / 100 % 100, lib->version % 100);
    return CORNU_OK;
}

/* One outcome per process: libraries cannot be opened twice, and a failure is not tried again. */
typedef struct outcome {
    cornu_status status;
    char why[512];
} outcome;

static struct opened {
    cuda_libraries lib;
    cudnn_library dnn;
    outcome of_lib, of_dnn;
} opened;
static pthread_once_t open_once = PTHREAD_ONCE_INIT, open_dnn_once = PTHREAD_ONCE_INIT;

static void keep(outcome *o, cornu_status status)
{
    o->status = status;
    if (status != CORNU_OK)
        snprintf(o->why, sizeof o->why, "%s", cornu_last_error());
}

static void open_process(void)
{
    keep(&opened.of_lib, open_all(&opened.lib));
}

static void open_process_dnn(void)
{
    keep(&opened.of_dnn, open_cudnn(&opened.dnn));
}

static cornu_status kept(const outcome *o)
{
    return o->status == CORNU_OK ? CORNU_OK : status_fail(o->status, "%s", o->why);
}

cornu_status cuda_libraries_get(const cuda_libraries **out)
{
    pthread_once(&open_once, open_process);
    *out = opened.of_lib.status == CORNU_OK ? &opened.lib : NULL;
    return kept(&opened.of_lib);
}

cornu_status cudnn_library_get(const cudnn_library **out)
{
    pthread_once(&open_dnn_once, open_process_dnn);
    *out = opened.of_dnn.status == CORNU_OK ? &opened.dnn : NULL;
    return kept(&opened.of_dnn);
}

/* ---- errors ------------------------------------------------------------------------------ */

static cornu_status fail_call(cornu_status status, int device, const char *call, const char *error)
{
    int length = (int)strcspn(call, "(");
    if (device < 0)
        return status_fail(status, "%.*s: %s", length, call, error);
    return status_fail(status, "device cuda:%d: %.*s: %s", device, length, call, error);
}

cornu_status cuda_check(const cuda_libraries *lib, int device, CUresult result, const char *call)
{
    if (result == CUDA_SUCCESS)
        return CORNU_OK;
    const char *name = NULL, *meaning = NULL;
    char text[256];
    if (lib->cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
        name = "unknown error";
    if (lib->cuGetErrorString(result, &meaning) != CUDA_SUCCESS || !meaning)
        meaning = "no description";
    snprintf(text, sizeof text, "%s%s (%s)", cuda_is_lost(result) ? "the device is lost: " : "",
             name, meaning);
    return fail_call(result == CUDA_ERROR_OUT_OF_MEMORY ? CORNU_OUT_OF_MEMORY : CORNU_DEVICE,
                     device, call, text);
}

cornu_status blas_check(const cuda_libraries *lib, int device, cublasStatus_t result,
                        const char *call)
{
    if (result == CUBLAS_STATUS_SUCCESS)
        return CORNU_OK;
    return fail_call(result == CUBLAS_STATUS_NOT_SUPPORTED  ? CORNU_UNSUPPORTED
                     : result == CUBLAS_STATUS_ALLOC_FAILED ? CORNU_OUT_OF_MEMORY
                                                            : CORNU_DEVICE,
                     device, call, lib->cublasLtGetStatusString(result));
}

cornu_status dnn_check(const cudnn_library *lib, int device, cudnnStatus_t result, const char *call)
{
    if (result == CUDNN_STATUS_SUCCESS)
        return CORNU_OK;
    /* cuDNN 9 numbers its errors by their kinds, in thousands. */
    bool refused = result / 1000 == CUDNN_STATUS_NOT_SUPPORTED / 1000;
    bool memory = result == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
                  result == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
    return fail_call(refused  ? CORNU_UNSUPPORTED
                     : memory ? CORNU_OUT_OF_MEMORY
                              : CORNU_DEVICE,
                     device, call, lib->cudnnGetErrorString(result));
}

bool cuda_is_lost(CUresult result)
{
    static const int errors[] = {
        4,   /* CUDA_ERROR_DEINITIALIZED */
        46,  /* CUDA_ERROR_DEVICE_UNAVAILABLE */
        214, /* CUDA_ERROR_ECC_UNCORRECTABLE */
        220, /* CUDA_ERROR_NVLINK_UNCORRECTABLE */
        226, /* CUDA_ERROR_CONTAINED (not in every toolkit's header) */
        700, /* CUDA_ERROR_ILLEGAL_ADDRESS */
        702, /* CUDA_ERROR_LAUNCH_TIMEOUT */
        709, /* CUDA_ERROR_CONTEXT_IS_DESTROYED */
        710, /* CUDA_ERROR_ASSERT */
        714, /* CUDA_ERROR_HARDWARE_STACK_ERROR */
        715, /* CUDA_ERROR_ILLEGAL_INSTRUCTION */
        716, /* CUDA_ERROR_MISALIGNED_ADDRESS */
        717, /* CUDA_ERROR_INVALID_ADDRESS_SPACE */
        718, /* CUDA_ERROR_INVALID_PC */
        719, /* CUDA_ERROR_LAUNCH_FAILED */
        721, /* CUDA_ERROR_TENSOR_MEMORY_LEAK (not in every toolkit's header) */
        911, /* CUDA_ERROR_EXTERNAL_DEVICE */
        999, /* CUDA_ERROR_UNKNOWN */
    };
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if ((int)result == errors[i])
            return true;
    return false;
}
