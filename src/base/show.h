/* Text for people: durations, sentences, lines of at most 80 columns, and tables of them; and the
   cells of tables that are files, in CSV and in Markdown. (A page's tables: format/html.) */
#ifndef BASE_SHOW_H
#define BASE_SHOW_H

#include "base/memory.h"
#include <stdio.h>

/* ---- durations -------------------------------------------------------------------------- */

enum { DURATION_TEXT = 64 };

/* "42 ms", "0.42 s", "58 s", "4 min 30 s", "47 min", "3 h 20 min", "2 d 5 h"; "-" for NAN. */
const char *duration_show(double seconds, char out[DURATION_TEXT]);
/* "3 h 20 min ±10 min"; "+-" without utf8. */
const char *duration_show_about(double seconds, double error, bool utf8, char out[DURATION_TEXT]);

/* ---- sentences -------------------------------------------------------------------------- */

/* A text that grows at its end. */
typedef struct sentence {
    char *text;
    size_t size; /* size of the buffer; longer text is cut */
} sentence;

void sentence_add(const sentence *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- lines ------------------------------------------------------------------------------ */

enum { WRAP_WIDTH = 80 };

/* Columns that a UTF-8 text takes (no wide characters here). */
int wrap_text_width(const char *line);
/* Print words, as cornu_printable shows them, after the `at` columns in use, broken before column
   80; lines after the first begin with `indent` spaces. */
void wrap_print_from(const char *words, int at, int indent, FILE *out);

/* ---- tables ----------------------------------------------------------------------------- */

enum { TABLE_COLUMNS_MOST = 40, TABLE_CELL = 64, TABLE_NOTE = 640 };

typedef struct show_column {
    const char *heading;
    bool left; /* aligned to the left, else to the right */
    /* Where a table is wider than 80 columns, those go first that have the smallest number above
       0; 0: it stays. */
    int keep;
    const char *group; /* stands above the first of its columns; NULL: none */
} show_column;

typedef struct show_row show_row;
typedef struct show_table {
    show_column column[TABLE_COLUMNS_MOST];
    int columns;
    show_row *row; /* [rows] */
    int rows;
    size_t capacity;
    int indent; /* of the second and further lines of a note; 0: the note's own column */
    bool failed;
} show_table;

/* First all columns, then row by row the cells. */
void table_add_column(show_table *t, show_column c);
void table_begin_row(show_table *t);
/* Names from outside are shown as cornu_printable shows them. */
void table_add_cell(show_table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* In place of the row's cells that are not there, broken into lines. */
void table_add_note(show_table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Two spaces between columns, or one where it would be too wide or has groups. The table is empty
   afterwards. */
void table_print(show_table *t, FILE *out);

/* ---- cells of files --------------------------------------------------------------------- */

/* Append "," and a cell of CSV: in quotes if needed (RFC 4180), and with a "'" before it if a
   spreadsheet would compute it, as it begins like a formula and is no number. */
void csv_add_cell(text *t, const char *cell);
/* The same for a name, as cornu_printable shows it: a line stays a line. */
void csv_add_name(text *t, const char *name);
/* Append text with all that Markdown would take for markup escaped. */
void markdown_add(text *t, const char *line);

#endif
