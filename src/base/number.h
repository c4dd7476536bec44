/* Numbers as text in files, where the decimal separator is a point, whatever the program's locale
   says; and as bfloat16. */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define NUMBER_SIZE 40
/* printf of one double ("%.9g", "%a") into text[NUMBER_SIZE]. Returns text. */
char *number_print(char *text, const char *format, double value);
/* Seconds as the program and its pages print them, "7.73 s", "4:05", "2:04:05", into text[24].
   Returns text. */
const char *number_seconds(double seconds, char *text);
/* Parse the whole of `text` as a number (decimal, hexadecimal, nan, inf); false where it is
   none. */
bool number_read(const char *text, double *value);

/* ---- bfloat16: the upper half of a float, rounded to the nearest, ties to even ---------- */

static inline uint16_t bf16_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    uint32_t quiet = bits >> 16 | 0x40; /* a NaN stays a NaN: rounding could make it infinite */
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
}

static inline float bf16_to(uint16_t value)
{
    uint32_t bits = (uint32_t)value << 16;
    float out;
    memcpy(&out, &bits, sizeof out);
    return out;
}

static inline float bf16_round(float value)
{
    return bf16_to(bf16_of(value));
}

#endif
