#include "base/show.h"
#include "base/status.h"
#include <cornu/tables.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- durations ------------------------------------------------------------------------------ */

/* "4 min 30 s"; a zero is left out. */
static const char *show_two(long long large, const char *of, long long small, const char *rest,
                            char *out)
{
    if (small > 0)
        snprintf(out, DURATION_TEXT, "%lld %s %lld %s", large, of, small, rest);
    else
        snprintf(out, DURATION_TEXT, "%lld %s", large, of);
    return out;
}

/* Times below 10 s, into half of a text. */
static void show_short(double seconds, char *out)
{
    if (seconds < 0.0995)
        snprintf(out, DURATION_TEXT / 2, "%.*f ms", seconds < 0.00995 ? 1 : 0, seconds * 1e3);
    else
        snprintf(out, DURATION_TEXT / 2, "%.*f s", seconds < 0.995 ? 2 : 1, seconds);
}

const char *duration_show(double seconds, char out[DURATION_TEXT])
{
    if (!(seconds >= 0) || seconds > 1e15) {
        snprintf(out, DURATION_TEXT, "-");
        return out;
    }
    if (seconds < 9.95) {
        show_short(seconds, out);
        return out;
    }
    long long whole = llround(seconds), minutes = llround(seconds / 60);
    if (whole < 100)
        return show_two(whole, "s", 0, "", out);
    if (whole < 600)
        return show_two(whole / 60, "min", whole % 60, "s", out);
    if (minutes < 100)
        return show_two(minutes, "min", 0, "", out);
    if (minutes < 48 * 60)
        return show_two(minutes / 60, "h", minutes % 60, "min", out);
    long long hours = llround(seconds / 3600);
    return show_two(hours / 24, "d", hours % 24, "h", out);
}

/* One unit is enough for an uncertainty. */
static void show_error(double seconds, char *out)
{
    if (seconds < 9.95)
        show_short(seconds, out);
    else if (seconds < 99.5)
        snprintf(out, DURATION_TEXT / 2, "%.0f s", seconds);
    else if (seconds < 99.5 * 60)
        snprintf(out, DURATION_TEXT / 2, "%.0f min", seconds / 60);
    else if (seconds < 48 * 3600)
        snprintf(out, DURATION_TEXT / 2, "%.0f h", seconds / 3600);
    else
        snprintf(out, DURATION_TEXT / 2, "%.0f d", seconds / 86400);
}

const char *duration_show_about(double seconds, double error, bool utf8, char out[DURATION_TEXT])
{
    char center[DURATION_TEXT], around[DURATION_TEXT / 2];
    duration_show(seconds, center);
    if (!(error >= 0) || error > 1e15 || !(seconds >= 0))
        return duration_show(seconds, out);
    show_error(error, around);
    snprintf(out, DURATION_TEXT, "%.24s %s%.30s", center, utf8 ? "±" : "+-", around);
    return out;
}

/* ---- lines of at most 80 columns ------------------------------------------------------------ */

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

/* ---- sentences ------------------------------------------------------------------------------ */

void sentence_add(const sentence *s, const char *format, ...)
{
    size_t length = strlen(s->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(s->text + length, s->size - length, format, arguments);
    va_end(arguments);
}

/* ---- tables ----------------------------------------------------------------------------- */

struct show_row {
    char cell[TABLE_COLUMNS_MOST][TABLE_CELL];
    int cells;
    char note[TABLE_NOTE];
};

void table_add_column(show_table *t, show_column c)
{
    if (t->columns < TABLE_COLUMNS_MOST)
        t->column[t->columns++] = c;
}

void table_begin_row(show_table *t)
{
    t->failed |=
        memory_grow(&t->row, &t->capacity, (size_t)t->rows + 1, sizeof *t->row) != CORNU_OK;
    if (!t->failed)
        t->row[t->rows++] = (show_row){.cells = 0};
}

void table_add_cell(show_table *t, const char *format, ...)
{
    show_row *r = t->failed ? NULL : &t->row[t->rows - 1];
    if (!r || r->cells == t->columns)
        return;
    va_list arguments;
    va_start(arguments, format);
    printable_v(r->cell[r->cells++], TABLE_CELL, format, arguments);
    va_end(arguments);
}

void table_add_note(show_table *t, const char *format, ...)
{
    if (t->failed)
        return;
    va_list arguments;
    va_start(arguments, format);
    printable_v(t->row[t->rows - 1].note, TABLE_NOTE, format, arguments);
    va_end(arguments);
}

/* How the columns lie; those left out have width 0. */
typedef struct layout {
    int width[TABLE_COLUMNS_MOST], gap[TABLE_COLUMNS_MOST];
} layout;

static bool begins_group(const show_table *t, int i)
{
    const char *group = t->column[i].group, *before = i > 0 ? t->column[i - 1].group : NULL;
    return group && i > 0 && (!before || strcmp(group, before) != 0);
}

static bool has_groups(const show_table *t)
{
    bool any = false;
    for (int i = 0; i < t->columns; i++)
        any |= t->column[i].group != NULL;
    return any;
}

static void set_gaps(const show_table *t, layout *l, int gap)
{
    for (int i = 0; i < t->columns; i++)
        l->gap[i] = i == 0 ? 0 : begins_group(t, i) ? 2 : gap;
}

static int whole_width(const show_table *t, const layout *l)
{
    int width = 0;
    for (int i = 0; i < t->columns; i++)
        width += l->gap[i] + l->width[i];
    return width;
}

/* Remove the column that is needed least; false: none may go. */
static bool drop_column(show_table *t)
{
    int least = -1;
    for (int i = 0; i < t->columns; i++)
        if (t->column[i].keep > 0 && (least < 0 || t->column[i].keep < t->column[least].keep))
            least = i;
    if (least < 0)
        return false;
    t->columns--;
    memmove(t->column + least, t->column + least + 1,
            (size_t)(t->columns - least) * sizeof *t->column);
    for (int k = 0; k < t->rows; k++) {
        show_row *r = &t->row[k];
        r->cells -= r->cells > least;
        memmove(r->cell[least], r->cell[least + 1], (size_t)(t->columns - least) * sizeof *r->cell);
    }
    return true;
}

static layout lay(show_table *t)
{
    layout l;
    for (int i = 0; i < t->columns; i++) {
        l.width[i] = wrap_text_width(t->column[i].heading);
        for (int k = 0; k < t->rows; k++) {
            int width = i < t->row[k].cells ? wrap_text_width(t->row[k].cell[i]) : 0;
            l.width[i] = width > l.width[i] ? width : l.width[i];
        }
    }
    set_gaps(t, &l, has_groups(t) ? 1 : 2);
    if (whole_width(t, &l) > WRAP_WIDTH)
        set_gaps(t, &l, 1);
    return whole_width(t, &l) > WRAP_WIDTH && drop_column(t) ? lay(t) : l;
}

static void print_groups(const show_table *t, const layout *l, FILE *out)
{
    int at = 0, printed = 0;
    for (int i = 0; i < t->columns; i++) {
        const char *group = t->column[i].group;
        at += l->gap[i];
        if (begins_group(t, i) && *group) {
            fprintf(out, "%*s%s", at - printed, "", group);
            printed = at + (int)strlen(group);
        }
        at += l->width[i];
    }
    fputc('\n', out);
}

static int print_cell(const show_table *t, const layout *l, int i, const char *cell, FILE *out)
{
    int fill = l->width[i] - wrap_text_width(cell);
    bool left = t->column[i].left;
    fprintf(out, "%*s%*s%s%*s", l->gap[i], "", left ? 0 : fill, "", cell, left ? fill : 0, "");
    return l->gap[i] + l->width[i];
}

static void print_row(const show_table *t, const layout *l, const show_row *r, FILE *out)
{
    int at = 0;
    for (int i = 0; i < r->cells; i++)
        at += print_cell(t, l, i, r->cell[i], out);
    if (r->cells == t->columns || !*r->note) {
        fputc('\n', out);
        return;
    }
    int gap = has_groups(t) ? 2 : l->gap[t->columns - 1];
    fprintf(out, "%*s", gap, "");
    wrap_print_from(r->note, at + gap, t->indent ? t->indent : at + gap, out);
}

void table_print(show_table *t, FILE *out)
{
    if (t->failed) {
        fputs("not enough memory for the table\n", out);
    } else {
        const layout l = lay(t);
        if (has_groups(t))
            print_groups(t, &l, out);
        for (int i = 0; i < t->columns; i++)
            print_cell(t, &l, i, t->column[i].heading, out);
        fputc('\n', out);
        for (int k = 0; k < t->rows; k++)
            print_row(t, &l, &t->row[k], out);
    }
    free(t->row);
    *t = (show_table){.columns = 0};
}

/* ---- cells of files --------------------------------------------------------------------- */

static bool is_formula(const char *cell)
{
    char *end;
    if (!*cell || !strchr("=+-@\t\r", *cell))
        return false;
    (void)strtod(cell, &end); /* "-1.5" stays a number */
    return end == cell || *end;
}

void csv_add_cell(text *t, const char *cell)
{
    const bool formula = is_formula(cell);
    if (!formula && !cell[strcspn(cell, ",\"\r\n")]) {
        text_add(t, ",%s", cell);
        return;
    }
    text_add(t, formula ? ",\"'" : ",\"");
    for (const char *c = cell; *c; c++)
        text_add(t, *c == '"' ? "\"%c" : "%c", *c);
    text_add(t, "\"");
}

void csv_add_name(text *t, const char *name)
{
    char shown[512];
    cornu_printable(name, shown, sizeof shown);
    csv_add_cell(t, shown);
}

void markdown_add(text *t, const char *line)
{
    text plain = {0};
    text_add_printable(&plain, line);
    t->failed |= plain.failed;
    for (const char *c = plain.data ? plain.data : ""; *c; c++) {
        if (*c == '<' || *c == '>' || *c == '&')
            text_add(t, *c == '<' ? "&lt;" : *c == '>' ? "&gt;" : "&amp;");
        else
            text_add(t, "%s%c", strchr("\\`*_{}[]#|~!", *c) ? "\\" : "", *c);
    }
    text_free(&plain);
}
