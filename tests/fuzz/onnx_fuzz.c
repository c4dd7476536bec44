/* libFuzzer on reading ONNX: any bytes are a model or a refusal. tests/fuzz/CMakeLists.txt tells
   how to build and run it. */
#include "exchange/onnx.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int file = -1;
    char path[64];
    cornu_model *model;
    if (file < 0)
        file = memfd_create("fuzz", 0);
    if (file < 0 || ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (import_onnx(path, &model) == CORNU_OK)
        cornu_model_close(model);
    return 0;
}
