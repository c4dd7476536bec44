/* Text from outside, made safe for a terminal. */
#include "base/status.h"
#include <cornu/tables.h>
#include <stdio.h>
#include <string.h>

/* The character at `s`, and its length in bytes. A byte that is not UTF-8 (overlong forms,
   surrogates and characters above U+10FFFF included) has length 1 and is -1. */
static int32_t character_at(const unsigned char *s, int *bytes)
{
    static const int32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    int length = *s < 0x80 ? 1 : *s < 0xC2 ? 0 : *s < 0xE0 ? 2 : *s < 0xF0 ? 3 : *s < 0xF5 ? 4 : 0;
    *bytes = 1;
    if (length < 2)
        return length ? *s : -1;
    int32_t c = *s & (0x7F >> length);
    for (int i = 1; i < length; i++) {
        if ((s[i] & 0xC0) != 0x80)
            return -1;
        c = c << 6 | (s[i] & 0x3F);
    }
    if (c < least[length] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
        return -1;
    *bytes = length;
    return c;
}

/* C0, DEL, C1; ends of lines and paragraphs; characters that change the direction of text. */
static bool is_control(int32_t c)
{
    return c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x2028 && c <= 0x202E) ||
           (c >= 0x2066 && c <= 0x2069);
}

/* The printable replacement of the character (or byte) at `s`. */
static const char *escape(const unsigned char *s, int32_t c, char *room, size_t size)
{
    if (c == '\n')
        return "\\n";
    if (c == '\r')
        return "\\r";
    if (c == '\t')
        return "\\t";
    if (c < 0x80)
        snprintf(room, size, "\\x%02x", *s);
    else
        snprintf(room, size, "\\u%04x", (unsigned)c);
    return room;
}

size_t cornu_printable(const char *text, char *out, size_t size)
{
    size_t used = 0;
    bool fits = size > 0 && out;
    if (fits)
        *out = 0;
    for (const unsigned char *s = (const unsigned char *)(text ? text : ""); *s;) {
        char room[16];
        int bytes;
        int32_t c = character_at(s, &bytes);
        bool plain = c >= 0 && !is_control(c);
        const char *shown = plain ? (const char *)s : escape(s, c, room, sizeof room);
        size_t length = plain ? (size_t)bytes : strlen(shown);
        fits = fits && used + length < size;
        if (fits) {
            memcpy(out + used, shown, length);
            out[used + length] = 0;
        }
        used += length;
        s += bytes;
    }
    return used;
}

void printable_v(char *out, size_t size, const char *format, va_list arguments)
{
    char line[PRINTABLE_MOST + 1]; /* longer than `out`: truncation here never shows */
    if (vsnprintf(line, sizeof line, format, arguments) < 0)
        *line = 0;
    cornu_printable(line, out, size < PRINTABLE_MOST ? size : PRINTABLE_MOST);
}
