/* Text for people: durations, lines of at most 80 columns, sentences. And what the program, which
   sees no room before this one, takes from those. */
#ifndef BENCH_SHOW_H
#define BENCH_SHOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { DURATION_TEXT = 64 };

/* As on a clock: "7.73 s", "3:58", "1:02:03" (number_seconds), into text[24]. */
const char *duration_clock(double seconds, char *text);
/* "42 ms", "0.42 s", "58 s", "4 min 30 s", "47 min", "3 h 20 min", "2 d 5 h"; "-" for NAN. */
const char *duration_show(double seconds, char text[DURATION_TEXT]);
/* "3 h 20 min ±10 min"; "+-" without utf8. */
const char *duration_show_about(double seconds, double error, bool utf8, char text[DURATION_TEXT]);

enum { WRAP_WIDTH = 80 };

/* Columns that a UTF-8 text takes (no wide characters here). */
int wrap_text_width(const char *line);
/* Print words, as cornu_printable shows them, after the `at` columns in use, broken before column
   80; lines after the first begin with `indent` spaces. */
void wrap_print_from(const char *words, int at, int indent, FILE *out);

typedef struct sentence {
    char *text;
    size_t size; /* size of the buffer; longer text is cut */
} sentence;

void sentence_add(const sentence *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Open `path` to write from its beginning, with further flags of open() (O_EXCL), as a stream that
   goes on where a signal interrupts a write; *fd is its file's. NULL: errno says why not. */
FILE *bench_stream_open(const char *path, int flags, int *fd);

/* Would a spreadsheet compute this text (csv_is_formula)? */
bool bench_csv_is_formula(const char *cell);

#endif
