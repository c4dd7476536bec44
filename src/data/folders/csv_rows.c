#include "data/folders/csv_rows.h"
#include "base/files.h"
#include <stdlib.h>
#include <string.h>

enum { TEXT_MOST = 1 << 28 }; /* bytes: some million rows */

cornu_status csv_rows_open(const char *path, csv_rows *c)
{
    size_t size;
    *c = (csv_rows){.path = path, .next_line = 1};
    TRY(file_read(path, TEXT_MOST, &c->text, &size));
    if (strlen(c->text) != size)
        return status_fail(CORNU_BAD_FILE, "%s: found a zero byte; expected a table in CSV", path);
    c->at = c->text;
    if (strncmp(c->at, "\xef\xbb\xbf", 3) == 0) /* spreadsheets begin a UTF-8 file with this */
        c->at += 3;
    size_t line = strcspn(c->at, "\n");
    c->separator = memchr(c->at, ',', line) ? ',' : memchr(c->at, ';', line) ? ';' : '\t';
    return CORNU_OK;
}

void csv_rows_close(csv_rows *c)
{
    free(c->text);
    c->text = NULL;
}

/* Remove the quotes, in place; *end points after the closing one. */
static cornu_status unquote(csv_rows *c, char **end)
{
    char *to = c->at, *from = c->at + 1;
    for (; *from && (*from != '"' || from[1] == '"'); *to++ = *from++) {
        from += *from == '"';
        c->next_line += *from == '\n';
    }
    if (!*from)
        return status_fail(CORNU_BAD_FILE, "%s:%lld: found a quote that does not end", c->path,
                           (long long)c->line);
    *to = 0;
    *end = from + 1;
    if (**end && **end != c->separator && **end != '\n' && **end != '\r')
        return status_fail(CORNU_BAD_FILE,
                           "%s:%lld: found \"%c\" behind a quoted cell; expected \"%c\" or the "
                           "end of the line",
                           c->path, (long long)c->line, **end, c->separator);
    return CORNU_OK;
}

/* The next cell of the row; *last if the row ends with it. */
static cornu_status read_cell(csv_rows *c, char **cell, bool *last)
{
    const char stops[] = {c->separator, '\n', 0};
    *cell = c->at;
    char *end = c->at;
    if (*end == '"')
        TRY(unquote(c, &end));
    else
        end += strcspn(end, stops);
    char *carriage = *end == '\r' ? end : *end != c->separator && end > *cell ? end - 1 : end;
    if (*end == '\r')
        end += strspn(end, "\r");
    *last = *end != c->separator;
    c->next_line += *end == '\n';
    c->at = *end ? end + 1 : end;
    *end = 0;
    if (*carriage == '\r')
        *carriage = 0;
    return CORNU_OK;
}

cornu_status csv_rows_next(csv_rows *c, bool *found)
{
    *found = false;
    while (*c->at == '\n' || *c->at == '\r')
        c->next_line += *c->at++ == '\n';
    if (!*c->at)
        return CORNU_OK;
    c->line = c->next_line;
    c->count = 0;
    for (bool last = false; !last;) {
        if (c->count == CSV_COLUMNS_MOST)
            return status_fail(CORNU_BAD_FILE, "%s:%lld: found more than %d cells; expected fewer",
                               c->path, (long long)c->line, CSV_COLUMNS_MOST);
        TRY(read_cell(c, &c->cell[c->count++], &last));
    }
    *found = true;
    return CORNU_OK;
}
