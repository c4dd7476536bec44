/* Numbers in files: the decimal separator is a point, whatever the program's locale says. */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

#define NUMBER_SIZE 40
/* printf of one double ("%.9g", "%a") into text[NUMBER_SIZE]. Returns text. */
char *number_print(char *text, const char *format, double value);
/* Seconds as the program and its pages print them, "7.73 s", "4:05", "2:04:05", into text[24].
   Returns text. */
const char *number_seconds(double seconds, char *text);
/* Parse the whole of `text` as a number (decimal, hexadecimal, nan, inf); false where it is
   none. */
bool number_read(const char *text, double *value);

#endif
