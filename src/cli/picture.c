/* Samples as pictures, and a small one in the terminal: half blocks in colour, or letters where it
   has neither. */
#include "cli/cli.h"
#include <cornu/data.h>

enum { COLUMNS_MOST = 64 };

typedef struct picture {
    const float *values; /* [height][width][channels] in 0..1 */
    int64_t height, width, channels;
    int64_t rows, columns; /* as drawn */
} picture;

static int to_byte(float value)
{
    return value <= 0 ? 0 : value >= 1 ? 255 : (int)(value * 255 + 0.5f);
}

/* Colour of a drawn pixel, by the nearest one of the picture. */
static void pixel(const picture *p, int64_t row, int64_t column, int rgb[3])
{
    int64_t y = row * p->height / p->rows, x = column * p->width / p->columns;
    const float *at = p->values + (y * p->width + x) * p->channels;
    for (int c = 0; c < 3; c++)
        rgb[c] = to_byte(at[p->channels >= 3 ? c : 0]);
}

static void draw_blocks(const picture *p)
{
    for (int64_t row = 0; row < p->rows; row += 2) {
        for (int64_t column = 0; column < p->columns; column++) {
            int top[3], bottom[3] = {0, 0, 0};
            pixel(p, row, column, top);
            if (row + 1 < p->rows)
                pixel(p, row + 1, column, bottom);
            printf("\033[38;2;%d;%d;%dm\033[48;2;%d;%d;%dm▀", top[0], top[1], top[2], bottom[0],
                   bottom[1], bottom[2]);
        }
        printf("\033[0m\n");
    }
}

static void draw_letters(const picture *p)
{
    static const char ramp[] = " .:-=+*#%@";
    for (int64_t row = 0; row < p->rows; row += 2) { /* letters are twice as high as wide */
        for (int64_t column = 0; column < p->columns; column++) {
            int rgb[3];
            pixel(p, row, column, rgb);
            int grey = (299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2]) / 1000;
            putchar(ramp[grey * 9 / 255]);
        }
        putchar('\n');
    }
}

void draw_picture(int64_t height, int64_t width, int64_t channels, const float *values)
{
    picture p = {values, height, width, channels, height, width};
    if (width > COLUMNS_MOST) {
        p.columns = COLUMNS_MOST;
        p.rows = height * COLUMNS_MOST / width > 0 ? height * COLUMNS_MOST / width : 1;
    }
    if (terminal_is(stdout) && terminal_has_utf8())
        draw_blocks(&p);
    else
        draw_letters(&p);
}

int find_range(const cornu_data *data, cornu_split split, picture_range *range)
{
    cornu_data_values v;
    int status = report(cornu_data_values_get(data, split, &v));
    if (status != STATUS_OK)
        return status;
    range->black = v.black;
    range->white = v.white;
    return STATUS_OK;
}

void make_picture(const picture_range *range, float *values, int64_t count)
{
    double width = range->white - range->black;
    for (int64_t i = 0; i < count; i++)
        values[i] = width > 0 ? (float)(((double)values[i] - range->black) / width) : 0;
}
