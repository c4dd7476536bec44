#include "bench/wrap.h"
#include "base/status.h"
#include <string.h>

enum { NOTE = 1024 };

int wrap_text_width(const char *line)
{
    int width = 0;
    for (; *line; line++)
        width += ((unsigned char)*line & 0xC0) != 0x80;
    return width;
}

void wrap_print_from(const char *all, int at, int indent, FILE *out)
{
    char line[NOTE];
    const char *words = line;
    bool first = true;
    cornu_printable(all, line, sizeof line); /* names of processors, devices and data sets */
    for (; *words; first = false) {
        char word[NOTE];
        size_t length = strcspn(words, " ");
        length = length < sizeof word - 1 ? length : sizeof word - 1;
        memcpy(word, words, length);
        word[length] = 0;
        int width = wrap_text_width(word);
        if (!first && at > indent && at + 1 + width > WRAP_WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            at = indent;
        } else if (!first) {
            fputc(' ', out);
            at++;
        }
        fputs(word, out);
        at += width;
        words += length;
        words += strspn(words, " ");
    }
    fputc('\n', out);
}
