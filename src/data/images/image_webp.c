/* WebP through libwebp: a still picture, or the first frame of an animation. */
#include "data/images/image.h"

#include <webp/decode.h>
#include <webp/demux.h>

static int orientation(const WebPDemuxer *file)
{
    WebPChunkIterator chunk;
    int found = 1;
    if (WebPDemuxGetChunk(file, "EXIF", 1, &chunk))
        found = exif_orientation(chunk.chunk.bytes, chunk.chunk.size);
    WebPDemuxReleaseChunkIterator(&chunk);
    return found;
}

/* Decode a frame into its place in the picture; the area around it stays black, as in Pillow. */
static cornu_status read_frame(const WebPIterator *f, image *out)
{
    int64_t stride = 3 * out->width;
    if (f->x_offset < 0 || f->y_offset < 0 || f->width < 1 || f->height < 1 ||
        f->width > out->width - f->x_offset || f->height > out->height - f->y_offset)
        return status_fail(CORNU_BAD_FILE, "damaged WebP: frame of %dx%d at %d,%d in %lldx%lld",
                           f->width, f->height, f->x_offset, f->y_offset, (long long)out->width,
                           (long long)out->height);
    uint8_t *to = out->pixels + f->y_offset * stride + 3 * f->x_offset;
    int64_t room = (f->height - 1) * stride + 3 * f->width;
    if (!WebPDecodeRGBInto(f->fragment.bytes, f->fragment.size, to, (size_t)room, (int)stride))
        return status_fail(CORNU_BAD_FILE, "damaged or truncated WebP: bad pixel data");
    return CORNU_OK;
}

/* libwebp's own memory: all alpha of a frame, or all pixels of a lossless one as ARGB. The code
   tables of a lossless frame may take 380 MB more, which the header does not tell (65536 tables in
   300 kB); counting 5 bytes per pixel for them keeps a small file's total below 512 MB. */
static int64_t bytes_besides(const WebPIterator *f)
{
    enum { LOSSLESS = 2, ARGB_AND_TABLES = 9 };
    WebPBitstreamFeatures features;
    if (WebPGetFeatures(f->fragment.bytes, f->fragment.size, &features) != VP8_STATUS_OK)
        return 0;
    int64_t pixels = (int64_t)features.height * features.width;
    return features.format == LOSSLESS ? ARGB_AND_TABLES * pixels : features.has_alpha ? pixels : 0;
}

static cornu_status decode(const WebPDemuxer *file, image *out)
{
    WebPIterator frame;
    if (!WebPDemuxGetFrame(file, 1, &frame))
        return status_fail(CORNU_BAD_FILE, "damaged WebP: no frame");
    out->orientation = orientation(file);
    cornu_status status =
        image_allocate(WebPDemuxGetI(file, WEBP_FF_CANVAS_HEIGHT),
                       WebPDemuxGetI(file, WEBP_FF_CANVAS_WIDTH), 3, bytes_besides(&frame), out);
    if (status == CORNU_OK)
        status = read_frame(&frame, out);
    WebPDemuxReleaseIterator(&frame);
    return status;
}

cornu_status webp_decode(const uint8_t *data, size_t size, image *out)
{
    WebPData bytes = {data, size};
    WebPDemuxer *file = WebPDemux(&bytes); /* also NULL where the file is truncated */
    if (!file)
        return status_fail(CORNU_BAD_FILE, "damaged or truncated WebP: bad chunks");
    cornu_status status = decode(file, out);
    WebPDemuxDelete(file);
    return status;
}
