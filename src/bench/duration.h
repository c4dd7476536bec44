/* Durations in words. */
#ifndef BENCH_DURATION_H
#define BENCH_DURATION_H

#include <stdbool.h>

enum { DURATION_TEXT = 64 };

/* As on a clock: "7.73 s", "3:58", "1:02:03" (number_seconds), into text[24]. */
const char *duration_clock(double seconds, char *text);
/* "42 ms", "0.42 s", "58 s", "4 min 30 s", "47 min", "3 h 20 min", "2 d 5 h"; "-" for NAN. */
const char *duration_show(double seconds, char text[DURATION_TEXT]);
/* "3 h 20 min ±10 min"; "+-" without utf8. */
const char *duration_show_about(double seconds, double error, bool utf8, char text[DURATION_TEXT]);

#endif
