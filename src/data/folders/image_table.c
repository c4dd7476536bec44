#include "base/files.h"
#include "base/memory.h"
#include "data/folders/image_folder.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows of CSV ------------------------------------------------------------------------ */

/* Rows of a table in CSV, as in RFC 4180 and spreadsheets: cells between commas (or, if the first
   line has none, semicolons or tabs), quoted if they contain a separator, a quote (doubled) or a
   line end. Own code: a library would add a package to every build for a page of code. */
enum { CSV_COLUMNS_MOST = 1024 };

typedef struct csv_rows {
    const char *path; /* for messages */
    char *text;       /* owned; cells point into it */
    char *at;
    char separator;
    int64_t line, next_line; /* of the current row and of the next, from 1 */
    char *cell[CSV_COLUMNS_MOST];
    int count;
} csv_rows;

/* The next row that is not empty, in cell[count]; *found is false after the last. */

enum { TEXT_MOST = 1 << 28 }; /* bytes: some million rows */

static cornu_status csv_rows_open(const char *path, csv_rows *c)
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

static void csv_rows_close(csv_rows *c)
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

static cornu_status csv_rows_next(csv_rows *c, bool *found)
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

/* ---- pictures and numbers --------------------------------------------------------------- */

typedef struct table {
    csv_rows rows;
    int columns, x, y; /* the number of columns, and the index of each */
    double low, high;  /* of the numbers */
    image_files files;
} table;

static cornu_status fail_column(const csv_rows *c, const char *key, const char *name)
{
    text has = {0};
    for (int i = 0; i < c->count && has.length < 400; i++)
        text_add(&has, "%s%.60s", i ? ", " : "", c->cell[i]);
    cornu_status status =
        status_fail(CORNU_BAD_FILE, "%s:%lld: found no column %s, which %s names; it has %s",
                    c->path, (long long)c->line, name, key, has.data ? has.data : "none");
    text_free(&has);
    return status;
}

static cornu_status find_column(const csv_rows *c, const char *key, const char *name, int *out)
{
    for (*out = 0; *out < c->count; ++*out)
        if (strcmp(c->cell[*out], name) == 0)
            return CORNU_OK;
    return fail_column(c, key, name);
}

static cornu_status read_header(table *t, const data_request *r)
{
    bool found;
    TRY(csv_rows_next(&t->rows, &found));
    if (!found)
        return status_fail(CORNU_BAD_FILE,
                           "%s: found nothing; expected a line with the names of "
                           "its columns",
                           t->rows.path);
    t->columns = t->rows.count;
    TRY(find_column(&t->rows, "x", r->table_x, &t->x));
    return find_column(&t->rows, "y", r->table_y, &t->y);
}

static cornu_status read_number(table *t, const char *name, float *value)
{
    const csv_rows *c = &t->rows;
    const char *cell = c->cell[t->y] + strspn(c->cell[t->y], " ");
    char *end;
    double number = strtod(cell, &end);
    end += strspn(end, " ");
    if (end == cell || *end || cell[strspn(cell, "0123456789.eE+- ")] || !isfinite((float)number))
        return status_fail(CORNU_BAD_FILE, "%s:%lld: %s: found \"%.40s\"; expected a number",
                           c->path, (long long)c->line, name, c->cell[t->y]);
    *value = (float)number;
    t->low = fmin(t->low, number);
    t->high = fmax(t->high, number);
    return CORNU_OK;
}

static cornu_status add_row(table *t, const data_request *r)
{
    const csv_rows *c = &t->rows;
    image_file file = {.label = LABEL_NONE};
    double fraction;
    if (c->count != t->columns)
        return status_fail(CORNU_BAD_FILE,
                           "%s:%lld: found %d cell%s; expected %d, as in its header", c->path,
                           (long long)c->line, c->count, PLURAL(c->count, "", "s"), t->columns);
    if (!*c->cell[t->x])
        return status_fail(CORNU_BAD_FILE, "%s:%lld: %s: found nothing; expected a picture's file",
                           c->path, (long long)c->line, r->table_x);
    TRY(read_number(t, r->table_y, &file.value));
    TRY(images_fraction(c->cell[t->x], &fraction));
    file.test = fraction < r->validation_split;
    TRY(memory_grow(&t->files.items, &t->files.capacity, t->files.count + 1,
                    sizeof *t->files.items));
    TRY(path_beside(c->cell[t->x], c->path, &file.path));
    t->files.items[t->files.count++] = file;
    return CORNU_OK;
}

static cornu_status read_rows(table *t, const data_request *r)
{
    bool found = true;
    TRY(read_header(t, r));
    while (found) {
        TRY(csv_rows_next(&t->rows, &found));
        if (found)
            TRY(add_row(t, r));
    }
    if (t->files.count > 0)
        return CORNU_OK;
    return status_fail(CORNU_BAD_FILE, "%s: found a header alone; expected a row a picture",
                       t->rows.path);
}

static cornu_status check_split(const char *path, const data_request *r, const cornu_data *data)
{
    if (data_usable(data, CORNU_TRAIN, 0, data->block[CORNU_TRAIN].count) == 0)
        return status_fail(CORNU_BAD_FILE, "%s: found no readable picture to train with", path);
    if (r->validation_split > 0 && data->block[CORNU_TEST].count == 0)
        data_notice(&r->options, "%s: validation_split %g of %lld pictures is none", path,
                    r->validation_split, (long long)data->block[CORNU_TRAIN].count);
    return CORNU_OK;
}

cornu_status table_fail(const char *path)
{
    return status_fail(CORNU_INVALID,
                       "%s: found a table; expected a recipe that names its columns, such as "
                       "data: {table: %s, x: file, y: price}",
                       path, path_base(path));
}

cornu_status images_read_table(const char *path, const data_request *r, cornu_data *data)
{
    cornu_status status;
    table t = {.low = INFINITY, .high = -INFINITY, .files = {.values = true}};
    skips skipped = {.options = &r->options, .strict = r->images.strict};
    if (!r->table_x || !r->table_y)
        return table_fail(path);
    TRY_GOTO(csv_rows_open(path, &t.rows));
    TRY_GOTO(read_rows(&t, r));
    data_notice(&r->options, "%s: %lld pictures, %s from %g to %g", data->name,
                (long long)t.files.count, r->table_y, t.low, t.high);
    TRY_GOTO(images_take_share(&t.files, r, data->name));
    TRY_GOTO(images_load(&t.files, r, &skipped, data));
    status = check_split(path, r, data);
done:
    csv_rows_close(&t.rows);
    free(skipped.first);
    image_files_free(&t.files);
    return status;
}
