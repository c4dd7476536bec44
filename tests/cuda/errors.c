/* Names and texts of the driver's errors: those that the simulation gives and a few that only a
   real driver does. */
#include "driver.h"
#include <stdlib.h>
#include <string.h>

typedef struct error_row {
    CUresult error;
    const char *name, *text;
} error_row;

#define ROW(name, text)   \
    {                     \
        name, #name, text \
    }
static const error_row rows[] = {
    ROW(CUDA_SUCCESS, "no error"),
    ROW(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
    ROW(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
    ROW(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
    ROW(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
    ROW(CUDA_ERROR_STUB_LIBRARY, "CUDA driver is a stub library"),
    ROW(CUDA_ERROR_DEVICE_UNAVAILABLE, "CUDA-capable device(s) is/are busy or unavailable"),
    ROW(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
    ROW(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
    ROW(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
    ROW(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
    ROW(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device"),
    ROW(CUDA_ERROR_ECC_UNCORRECTABLE, "uncorrectable ECC error encountered"),
    ROW(CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
        "the provided PTX was compiled with an unsupported toolchain."),
    ROW(CUDA_ERROR_OPERATING_SYSTEM, "OS call failed or operation not supported on this OS"),
    ROW(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
    ROW(CUDA_ERROR_ILLEGAL_STATE,
        "the operation cannot be performed in the present state of a resource"),
    ROW(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
    ROW(CUDA_ERROR_NOT_READY, "device not ready"),
    ROW(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
    ROW(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
    ROW(CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated"),
    ROW(CUDA_ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction was encountered"),
    ROW(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address"),
    ROW(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
    ROW(CUDA_ERROR_NOT_PERMITTED, "operation not permitted"),
    ROW(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
    ROW(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
        "system has unsupported display driver / cuda driver combination"),
    ROW(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing"),
    ROW(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
        "operation failed due to a previous error during capture"),
    ROW(CUDA_ERROR_STREAM_CAPTURE_MERGE,
        "operation would result in a merge of separate capture sequences"),
    ROW(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
        "capture was not ended in the same stream as it began"),
    ROW(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work"),
    ROW(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
        "dependency created on uncaptured work in another stream"),
    ROW(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
        "operation would make the legacy stream depend on a capturing blocking stream"),
    ROW(CUDA_ERROR_CAPTURED_EVENT, "operation not permitted on an event last recorded in a "
                                   "capturing stream"),
    ROW(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
        "attempt to terminate a thread-local capture sequence from another thread"),
    ROW(CUDA_ERROR_UNKNOWN, "unknown error"),
};

static const error_row *find(CUresult error)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].error == error)
            return &rows[i];
    return NULL;
}

CUresult CUDAAPI cuGetErrorName(CUresult error, const char **text)
{
    const error_row *row = find(error);
    *text = row ? row->name : NULL;
    return row ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuGetErrorString(CUresult error, const char **text)
{
    const error_row *row = find(error);
    *text = row ? row->text : NULL;
    return row ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult error_of(const char *text)
{
    char *end;
    long number = strtol(text, &end, 10);
    if (end != text && *end == '\0')
        return (CUresult)number;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, text) == 0)
            return rows[i].error;
    return CUDA_SUCCESS;
}
