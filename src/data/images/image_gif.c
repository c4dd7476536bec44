/* The first frame of a GIF through giflib. Records are read one by one: DGifSlurp would allocate
   memory for every frame of the file. */
#include "data/images/image.h"

#include "base/memory.h"
#include <gif_lib.h>
#include <stdlib.h>
#include <string.h>

typedef struct source {
    const uint8_t *data;
    size_t size, at;
} source;

typedef struct frame {
    int transparent; /* palette index, or -1 */
    GifByteType *line;
} frame;

static int on_read(GifFileType *gif, GifByteType *out, int count)
{
    source *s = gif->UserData;
    size_t left = s->size - s->at, size = count < 0 ? 0 : (size_t)count;
    size = size < left ? size : left;
    memcpy(out, s->data + s->at, size);
    s->at += size;
    return (int)size;
}

static cornu_status fail(const GifFileType *gif)
{
    const char *why = gif->Error ? GifErrorString(gif->Error) : NULL;
    return status_fail(CORNU_BAD_FILE, "damaged or truncated GIF: %s", why ? why : "no frame");
}

/* Read up to the first frame's description; the control block before it has the transparent
   colour. */
static cornu_status find_frame(GifFileType *gif, frame *f)
{
    GifRecordType type = UNDEFINED_RECORD_TYPE;
    f->transparent = NO_TRANSPARENT_COLOR;
    while (DGifGetRecordType(gif, &type) == GIF_OK && type == EXTENSION_RECORD_TYPE) {
        int code = 0;
        GifByteType *block = NULL;
        GraphicsControlBlock control;
        if (DGifGetExtension(gif, &code, &block) != GIF_OK)
            return fail(gif);
        if (code == GRAPHICS_EXT_FUNC_CODE && block &&
            DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK)
            f->transparent = control.TransparentColor;
        while (block)
            if (DGifGetExtensionNext(gif, &block) != GIF_OK)
                return fail(gif);
    }
    if (type != IMAGE_DESC_RECORD_TYPE || DGifGetImageDesc(gif) != GIF_OK)
        return fail(gif);
    return CORNU_OK;
}

/* RGB of all 256 indices: from the frame's palette, else the file's, else (as in Pillow) greys;
   indices after a palette's end are also greys. */
static void read_palette(const GifFileType *gif, uint8_t rgb[256][3])
{
    const ColorMapObject *map = gif->Image.ColorMap ? gif->Image.ColorMap : gif->SColorMap;
    for (int i = 0; i < 256; i++)
        memset(rgb[i], i, 3);
    for (int i = 0; map && i < map->ColorCount && i < 256; i++)
        memcpy(rgb[i], (uint8_t[]){map->Colors[i].Red, map->Colors[i].Green, map->Colors[i].Blue},
               3);
}

static cornu_status read_lines(GifFileType *gif, frame *f, uint8_t rgb[256][3], image *out)
{
    static const int first[4] = {0, 4, 2, 1}, step[4] = {8, 8, 4, 2}; /* for interlaced rows */
    const GifImageDesc *d = &gif->Image;
    TRY(memory_new((size_t)d->Width, 1, "GIF row", &f->line));
    for (int pass = 0; pass < (d->Interlace ? 4 : 1); pass++)
        for (int y = d->Interlace ? first[pass] : 0; y < d->Height;
             y += d->Interlace ? step[pass] : 1) {
            if (DGifGetLine(gif, f->line, d->Width) != GIF_OK)
                return fail(gif);
            uint8_t *to = out->pixels + ((d->Top + y) * out->width + d->Left) * 3;
            for (int x = 0; x < d->Width; x++, to += 3)
                memcpy(to, rgb[f->line[x]], 3);
        }
    return CORNU_OK;
}

static cornu_status decode(GifFileType *gif, frame *f, image *out)
{
    uint8_t rgb[256][3];
    const GifImageDesc *d = &gif->Image;
    TRY(find_frame(gif, f));
    if (d->Left < 0 || d->Top < 0 || d->Width < 1 || d->Height < 1)
        return status_fail(CORNU_BAD_FILE, "damaged GIF: first frame of %dx%d pixels at %d,%d",
                           d->Width, d->Height, d->Left, d->Top);
    /* The frame may be smaller than the picture or extend beyond it. */
    int height = d->Top + d->Height, width = d->Left + d->Width;
    height = height > gif->SHeight ? height : gif->SHeight;
    width = width > gif->SWidth ? width : gif->SWidth;
    TRY(image_allocate(height, width, 3, 0, out));
    read_palette(gif, rgb);
    const uint8_t *around = rgb[f->transparent >= 0 ? f->transparent & 255 : 0];
    for (int64_t i = 0; i < out->height * out->width; i++)
        memcpy(out->pixels + 3 * i, around, 3);
    return read_lines(gif, f, rgb, out);
}

cornu_status gif_decode(const uint8_t *data, size_t size, image *out)
{
    source s = {data, size, 0};
    frame f = {0};
    int error = 0;
    GifFileType *gif = DGifOpen(&s, on_read, &error);
    if (!gif) {
        const char *why = GifErrorString(error);
        return status_fail(CORNU_BAD_FILE, "damaged or truncated GIF: %s",
                           why ? why : "unknown error");
    }
    cornu_status status = decode(gif, &f, out);
    free(f.line);
    DGifCloseFile(gif, NULL);
    return status;
}
