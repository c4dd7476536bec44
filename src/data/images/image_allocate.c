/* The size limits of a picture, and its memory. */
#include "base/memory.h"
#include "data/images/image.h"
#include "data/images/image_budget.h"

int64_t image_bytes_most(size_t file_bytes)
{
    return memory_unpacked_most(file_bytes, IMAGE_BYTES_TIMES);
}

cornu_status image_check_size(int64_t height, int64_t width)
{
    if (height < 1 || width < 1 || height > IMAGE_SIDE_MAX || width > IMAGE_SIDE_MAX ||
        height > IMAGE_PIXELS_MAX / width)
        return status_fail(CORNU_BAD_FILE,
                           "image of %lldx%lld pixels; expected sides of 1 to %d and at most %d "
                           "million pixels",
                           (long long)width, (long long)height, IMAGE_SIDE_MAX,
                           IMAGE_PIXELS_MAX / 1000000);
    return CORNU_OK;
}

static cornu_status check_bytes(int64_t height, int64_t width, int64_t needed, size_t file_bytes)
{
    char takes[32], file[32], most[32];
    if (needed <= image_bytes_most(file_bytes))
        return CORNU_OK;
    return status_fail(CORNU_BAD_FILE,
                       "image of %lldx%lld pixels: decoding takes %s, of a file of %s; expected at "
                       "most %s (%d times the file's size, or that of 1 MB)",
                       (long long)width, (long long)height, memory_human((double)needed, takes),
                       memory_human((double)file_bytes, file),
                       memory_human((double)image_bytes_most(file_bytes), most), IMAGE_BYTES_TIMES);
}

cornu_status image_allocate(int64_t height, int64_t width, int64_t channels, int64_t besides,
                            image *out)
{
    TRY(image_check_size(height, width));
    int64_t needed = height * width * channels * (out->orientation > 1 ? 2 : 1) + besides;
    TRY(check_bytes(height, width, needed, out->file_bytes));
    out->height = height;
    out->width = width;
    out->channels = channels;
    out->taken = needed;
    if (out->budget)
        image_budget_take(out->budget, out->taken, out->file_bytes);
    return memory_new((size_t)(height * width), (size_t)channels, "image", &out->pixels);
}
