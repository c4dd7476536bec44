#include "base/memory.h"
#include "model/model.h"
#include <cornu/tables.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

char *summary_number(int64_t n, char *digits)
{
    char plain[24];
    int length = snprintf(plain, sizeof plain, "%" PRId64, n), used = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0 && plain[i - 1] != '-')
            digits[used++] = ',';
        digits[used++] = plain[i];
    }
    digits[used] = 0;
    return digits;
}

/* Bytes with Keras's two decimals, "48.92 MB" (of 10^6), into `shown` (at least 32 bytes). Returns
   it. */
static char *summary_bytes(double bytes, char *shown)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    int unit = 0;
    while (bytes >= 999.995 && unit < 5) {
        bytes /= 1000;
        unit++;
    }
    snprintf(shown, 32, "%.2f %s", bytes, units[unit]);
    return shown;
}

/* ---- cells ------------------------------------------------------------------------------ */

enum { COLUMNS_MOST = 4 };
/* Keras's columns on a terminal of 80; the last only where the network branches. */
typedef struct table {
    text *out;
    int columns;
    size_t widths[COLUMNS_MOST];
} table;
static const table chain_table = {.columns = 3, .widths = {31, 22, 13}};
static const table graph_table = {.columns = 4, .widths = {19, 17, 10, 17}};
enum { COLUMN_PARAMETERS = 2 };

/* Bytes of the first `columns` characters of UTF-8 text (or all, where there are fewer). */
static size_t prefix_bytes(const char *s, size_t columns, size_t *used)
{
    size_t bytes = 0;
    *used = 0;
    while (s[bytes]) {
        if (((unsigned char)s[bytes] & 0xC0) != 0x80 && (*used)++ == columns) {
            (*used)--;
            break;
        }
        bytes++;
    }
    return bytes;
}

/* The end of the line that starts at `s`: the last space that fits, else mid-word. */
static size_t line_bytes(const char *s, size_t width)
{
    size_t used, bytes = prefix_bytes(s, width, &used);
    if (!s[bytes] || s[bytes] == ' ')
        return bytes;
    for (size_t i = bytes; i > 0; i--)
        if (s[i - 1] == ' ')
            return i - 1;
    return bytes;
}

/* Print one line of the cell and move on to the next. */
static void add_cell(text *out, const char **cell, size_t width, bool right)
{
    size_t bytes = line_bytes(*cell, width), used;
    char line[512];
    snprintf(line, sizeof line, "%.*s", (int)bytes, *cell);
    prefix_bytes(line, sizeof line, &used);
    int padding = used < width ? (int)(width - used) : 0;
    text_add(out, " %*s%s%*s ", right ? padding : 0, "", line, right ? 0 : padding, "");
    *cell += bytes;
    while (**cell == ' ')
        (*cell)++;
}

static void add_row(const table *t, const char *bar, const char *const cells[COLUMNS_MOST])
{
    const char *rest[COLUMNS_MOST];
    bool more = true;
    memcpy(rest, cells, sizeof rest);
    while (more) {
        more = false;
        for (int i = 0; i < t->columns; i++) {
            text_add(t->out, "%s", bar);
            add_cell(t->out, &rest[i], t->widths[i], i == COLUMN_PARAMETERS);
            more |= *rest[i] != 0;
        }
        text_add(t->out, "%s\n", bar);
    }
}

static void add_rule(const table *t, const char *left, const char *line, const char *middle,
                     const char *right)
{
    for (int i = 0; i < t->columns; i++) {
        text_add(t->out, "%s", i == 0 ? left : middle);
        for (size_t j = 0; j < t->widths[i] + 2; j++)
            text_add(t->out, "%s", line);
    }
    text_add(t->out, "%s\n", right);
}

/* ---- the table -------------------------------------------------------------------------- */

int64_t summary_parameters(const cornu_model *m, const layer *l)
{
    int64_t count = 0;
    for (int i = 0; i < l->weight_count; i++)
        count += m->variables[l->first_variable + i].count;
    return count;
}

/* "conv2d[0][0], add[1][0]": the layers of its calls' inputs, and the numbers of their calls. */
static void list_inputs(const cornu_model *m, const layer *l, text *out)
{
    char shown[400];
    for (int call = 0; call < l->call_count; call++) {
        const model_node *n = &m->nodes[model_call(m, l, call)];
        for (int i = 0; i < n->input_count; i++) {
            const model_node *from = &m->nodes[n->inputs[i]];
            cornu_printable(from->layer->name, shown, sizeof shown);
            text_add(out, "%s%s[%d][0]", out->length ? ", " : "", shown, from->call);
        }
    }
}

static void add_layer(const table *t, const cornu_model *m, const layer *l)
{
    char shown[400], name[480], output[128], count[32];
    text inputs = {0};
    cornu_printable(l->name, shown, sizeof shown);
    snprintf(name, sizeof name, "%s (%s)", shown, l->kind->name);
    shape_show(&m->nodes[model_call(m, l, l->call_count - 1)].out, true, output); /* as Keras's */
    summary_number(summary_parameters(m, l), count);
    list_inputs(m, l, &inputs);
    add_row(
        t, "│",
        (const char *const[COLUMNS_MOST]){name, output, count, inputs.length ? inputs.data : "-"});
    text_free(&inputs);
}

typedef struct total {
    int64_t count;
    double bytes;
} total;

static total floats(int64_t count)
{
    return (total){count, (double)count * 4.0};
}

static total sum(total a, total b)
{
    return (total){a.count + b.count, a.bytes + b.bytes};
}

static void add_total(text *out, const char *what, total t)
{
    char digits[32], bytes[32];
    text_add(out, " %s: %s (%s)\n", what, summary_number(t.count, digits),
             summary_bytes(t.bytes, bytes));
}

/* As Keras counts: the slots, the number of steps (8 bytes) and, unless there is a schedule, the
   learning rate. */
static total optimizer_total(const cornu_model *m)
{
    total t = {.count = 1, .bytes = 8};
    if (m->optimizer.learning_rate.id == SCHEDULE_CONSTANT)
        t = sum(t, floats(1));
    for (int i = m->weight_count; i < m->variable_count; i++)
        t = sum(t, floats(m->variables[i].count));
    return t;
}

/* Keras adds up the optimizer's numbers, too, once it has some. */
static void add_totals(const cornu_model *m, text *out)
{
    const bool trained = m->compiled && m->training.position.iterations > 0;
    const total slots = trained ? optimizer_total(m) : floats(0);
    int64_t trainable = 0, fixed = 0;
    for (int i = 0; i < m->weight_count; i++)
        *(m->variables[i].trainable ? &trainable : &fixed) += m->variables[i].count;
    add_total(out, "Total params", sum(floats(trainable + fixed), slots));
    add_total(out, "Trainable params", floats(trainable));
    add_total(out, "Non-trainable params", floats(fixed));
    if (trained)
        add_total(out, "Optimizer params", slots);
}

void model_summary_table(const cornu_model *m, text *out)
{
    table t = model_branches(m) ? graph_table : chain_table;
    t.out = out;
    char shown[400];
    cornu_printable(m->name, shown, sizeof shown);
    text_add(out, "Model: \"%s\"\n", shown);
    add_rule(&t, "┏", "━", "┳", "┓");
    add_row(&t, "┃",
            (const char *const[COLUMNS_MOST]){"Layer (type)", "Output Shape", "Param #",
                                              "Connected to"});
    add_rule(&t, "┡", "━", "╇", "┩");
    /* Keras leaves a Sequential's InputLayer out. */
    for (int i = m->functional ? 0 : 1, first = i; i < m->layer_count; i++) {
        if (i > first)
            add_rule(&t, "├", "─", "┼", "┤");
        add_layer(&t, m, m->layers[i]);
    }
    add_rule(&t, "└", "─", "┴", "┘");
    add_totals(m, out);
    text_add(out, " (1 MB is 1,000,000 bytes; Keras's table counts 1,048,576 as one)\n");
}
