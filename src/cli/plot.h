/* Curves in the terminal: loss and metrics by epoch, as cornu train --plot draws them. */
#ifndef CLI_PLOT_H
#define CLI_PLOT_H

#include "cli/cli.h"

/* ---- a raster of characters ------------------------------------------------------------- */

/* Dots within characters: 2 x 4 of braille, or 1 x 2 of ' . and : */
typedef struct raster {
    int columns, rows; /* characters */
    bool braille;
    unsigned char *cells; /* [rows][columns], a bit a dot */
} raster;

/* A line through values[0..count), from the left edge to the right, `low` at the bottom and `high`
   at the top; `dotted`: every other dot. A gap where a value is not finite. */
void raster_curve(raster *r, const double *values, int count, double low, double high, bool dotted);
/* One character as UTF-8, or ASCII, into text[4]; returns its bytes. */
int raster_character(const raster *r, int column, int row, char *text);

/* ---- curves ----------------------------------------------------------------------------- */

enum { PLOT_KEPT = 2048, PLOT_SCORES = 1 + CORNU_METRICS_MAX };

/* What is kept of the epochs: all, or where they are too many each second, fourth, ... of them. */
typedef struct plot {
    char names[PLOT_SCORES][64];
    double (*values)[2 * PLOT_SCORES]; /* [kept]: of training, then of validation; NaN: none */
    double last[2 * PLOT_SCORES];
    int scores, kept;
    int64_t first, latest, stride; /* epochs, from 0; of which each stride-th is kept */
} plot;

/* Returns false where there is no memory. */
bool plot_open(plot *p);
void plot_close(plot *p);
void plot_add(plot *p, const cornu_progress *epoch);
/* Panels side by side as lines, each ended by a newline, of at most `width` columns; *rows of them,
   at most `height`. NULL, and no rows, where there is no room for any, or no memory. To be freed.
 */
char *plot_draw(const plot *p, int width, int height, bool utf8, int *rows);

#endif
