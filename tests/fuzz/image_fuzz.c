/* libFuzzer on the decoders: any bytes are an image or a refusal. tests/fuzz/CMakeLists.txt tells
   how to build and run it. */
#include "data/images/image.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const filters[] = {"nearest", "bilinear", "lanczos"};
    uint8_t out[5 * 3 * 3];
    image i;
    if (image_decode(data, size, &i) != CORNU_OK)
        return 0;
    const image_filter *filter = image_filter_named(filters[size % 3]);
    if (image_resize(&i, 5, 3, size % 2 ? 3 : 1, filter, out) != CORNU_OK)
        abort();
    image_close(&i);
    return 0;
}
