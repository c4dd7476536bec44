/* Numbers in files: with a point, whatever the program's locale says. */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

#define NUMBER_SIZE 40
/* printf of one double ("%.9g", "%a") into text[NUMBER_SIZE]. Returns text. */
char *number_print(char *text, const char *format, double value);
/* The whole of `text` as a number (decimal, hexadecimal, nan, inf); false where it is none. */
bool number_read(const char *text, double *value);

#endif
