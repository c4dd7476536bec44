/* The cells and lines of an advice, for the terminal and the page. Not for other rooms. */
#ifndef BENCH_ADVISE_CELLS_H
#define BENCH_ADVISE_CELLS_H

#include "bench/advise.h"

enum { ADVISE_CELL = 64, ADVISE_NOTES_MOST = 8, ADVISE_NOTE = BENCH_REASON + 64 };
enum {
    ADVISE_DEVICE,
    ADVISE_TIME,
    ADVISE_STEP,
    ADVISE_ENERGY,
    ADVISE_COST,
    ADVISE_NEEDS,
    ADVISE_FREE,
    ADVISE_COLUMNS
};

typedef struct advise_cells {
    char text[ADVISE_COLUMNS][ADVISE_CELL];
} advise_cells;

extern const char *const advise_headings[ADVISE_COLUMNS];
advise_cells advise_cells_of(const advise_report *r, const advise_row *row, bool utf8);
/* Does any row have a figure for the column? */
bool advise_shows(const advise_report *r, int column);
/* "mnist-cnn-2: 17 epochs of 1200 steps, batch 50, ..." */
void advise_show_schedule(const advise_report *r, char *line, size_t size);
/* "estimated from the figures published for cifar10-cnn: ...", with those that exist */
void advise_show_estimates(const advise_report *r, char *line, size_t size);
/* Caveats; returns their number. */
int advise_show_notes(const advise_report *r, char lines[ADVISE_NOTES_MOST][ADVISE_NOTE]);

#endif
