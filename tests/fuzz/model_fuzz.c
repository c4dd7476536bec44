/* libFuzzer on model files as a whole: any bytes are a model or a refusal, from the file's first
   byte to the network and its optimizer's state. The last byte says by which ending they are
   opened. */
#include <cornu/cornu.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    cornu_model *model;
    if (size == 0)
        return 0;
    const char *ending = data[size - 1] == 'k'   ? "keras"
                         : data[size - 1] == 's' ? "safetensors"
                                                 : "h5";
    snprintf(path, sizeof path, "/dev/shm/cornu-fuzz-%d.%s", (int)getpid(), ending);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, size - 1, f) != size - 1 || fclose(f) != 0)
        abort();
    if (cornu_model_open(path, &model) == CORNU_OK)
        cornu_model_close(model);
    unlink(path);
    return 0;
}
