/* JPEG through libjpeg-turbo. Its errors longjmp to jpeg_decode; data that must survive the jump is
   in the decoder struct. */
#include "data/images/image.h"

#include "base/memory.h"
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jerror.h>
#include <jpeglib.h>

enum {
    /* A progressive file with more scans than this takes far more time than its pixels justify. So
       does one whose scans pass over more coefficients, in total, than this multiple of its
       decoding limit. */
    SCANS_MAX = 200,
    SCANS_TIMES = 8,
    /* Arithmetic decoding takes about this many times as long. */
    ARITHMETIC_TIMES = 4
};

typedef struct decoder {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf failed;
    char message[JMSG_LENGTH_MAX];
    uint8_t *line; /* for a CMYK image */
    int scans_most;
} decoder;

static void on_error(j_common_ptr info)
{
    decoder *d = info->client_data;
    info->err->format_message(info, d->message);
    longjmp(d->failed, 1);
}

/* Warnings (level -1) are tolerated, except the one for a truncated file: libjpeg would fill the
   rest with grey. */
static void on_message(j_common_ptr info, int level)
{
    if (level < 0 && info->err->msg_code == JWRN_JPEG_EOF)
        on_error(info);
}

static void on_progress(j_common_ptr info)
{
    decoder *d = info->client_data;
    if (d->jpeg.input_scan_number > d->scans_most) {
        snprintf(d->message, sizeof d->message, "more than %d scans", d->scans_most);
        longjmp(d->failed, 1);
    }
}

/* The orientation in the first APP1 segment with EXIF. */
static int orientation(const struct jpeg_decompress_struct *jpeg)
{
    for (jpeg_saved_marker_ptr m = jpeg->marker_list; m; m = m->next)
        if (m->marker == JPEG_APP0 + 1 && m->data_length > 6 && !memcmp(m->data, "Exif\0", 6))
            return exif_orientation(m->data, m->data_length);
    return 1;
}

/* libjpeg's memory for a file with several scans: all coefficients of all components. */
static int64_t coefficient_bytes(struct jpeg_decompress_struct *jpeg)
{
    int64_t blocks = 0;
    for (int i = 0; i < jpeg->num_components && jpeg_has_multiple_scans(jpeg); i++) {
        const jpeg_component_info *c = &jpeg->comp_info[i];
        int64_t h = c->h_samp_factor, v = c->v_samp_factor;
        blocks += (c->width_in_blocks + h - 1) / h * h * ((c->height_in_blocks + v - 1) / v * v);
    }
    return blocks * (int64_t)sizeof(JBLOCK);
}

/* The extra time of arithmetic decoding, expressed in bytes. */
static int64_t slowness(const struct jpeg_decompress_struct *jpeg)
{
    int64_t samples = (int64_t)jpeg->image_height * jpeg->image_width * jpeg->num_components;
    return jpeg->arith_code ? (ARITHMETIC_TIMES - 1) * samples : 0;
}

static void limit_scans(decoder *d, int64_t coefficients, int64_t most)
{
    int64_t work = coefficients * (d->jpeg.arith_code ? ARITHMETIC_TIMES : 1);
    int64_t scans = work > 0 ? SCANS_TIMES * most / work : SCANS_MAX;
    d->scans_most = scans < SCANS_MAX ? (int)scans : SCANS_MAX;
    d->jpeg.mem->max_memory_to_use = (long)most;
}

static cornu_status decode(decoder *d, const uint8_t *data, size_t size, image *out)
{
    struct jpeg_decompress_struct *jpeg = &d->jpeg;
    jpeg_mem_src(jpeg, data, (unsigned long)size);
    jpeg_save_markers(jpeg, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(jpeg, TRUE);
    bool cmyk = jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK;
    bool grey = jpeg->jpeg_color_space == JCS_GRAYSCALE;
    jpeg->out_color_space = cmyk ? JCS_CMYK : grey ? JCS_GRAYSCALE : JCS_RGB;
    out->orientation = orientation(jpeg);
    int64_t coefficients = coefficient_bytes(jpeg);
    TRY(image_allocate(jpeg->image_height, jpeg->image_width, grey ? 1 : 3,
                       coefficients + slowness(jpeg), out));
    limit_scans(d, coefficients, image_bytes_most(size));
    if (cmyk)
        TRY(memory_new(jpeg->image_width, 4, "image", &d->line));
    jpeg_start_decompress(jpeg);
    while (jpeg->output_scanline < jpeg->output_height) {
        uint8_t *row = out->pixels + jpeg->output_scanline * out->width * out->channels;
        JSAMPROW rows[1] = {cmyk ? d->line : row};
        jpeg_read_scanlines(jpeg, rows, 1);
        if (cmyk)
            image_cmyk(d->line, true, out->width, row); /* Adobe's CMYK is inverted */
    }
    jpeg_finish_decompress(jpeg);
    return CORNU_OK;
}

cornu_status jpeg_decode(const uint8_t *data, size_t size, image *out)
{
    decoder *d = NULL;
    TRY(memory_new(1, sizeof *d, "JPEG decoder", &d));
    d->jpeg.err = jpeg_std_error(&d->errors);
    d->errors.error_exit = on_error;
    d->errors.emit_message = on_message;
    d->jpeg.client_data = d;
    cornu_status status;
    if (setjmp(d->failed)) {
        status = status_fail(CORNU_BAD_FILE, "damaged or truncated JPEG: %s", d->message);
    } else {
        jpeg_create_decompress(&d->jpeg);
        d->progress.progress_monitor = on_progress;
        d->jpeg.progress = &d->progress;
        status = decode(d, data, size, out);
    }
    jpeg_destroy_decompress(&d->jpeg);
    free(d->line);
    free(d);
    return status;
}
