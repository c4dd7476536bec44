#include "base/memory.h"
#include "model/submodels.h"
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
    bool expand_nested; /* with the layers of submodels below these */
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

/* "conv2d[0][0], add[1][0]": the layers of its calls' inputs, and the numbers of their calls and
   outputs. */
static void list_inputs(const cornu_model *m, const model_member *of, text *out)
{
    char shown[400];
    for (int i = 0, call; (call = model_member_call(m, of, i)) >= 0; i++)
        for (int k = 0; k < model_member_input_count(m, of, call); k++) {
            const model_source from = model_source_of(m, model_member_input(m, of, call, k), -1);
            cornu_printable(from.name, shown, sizeof shown);
            text_add(out, "%s%s[%d][%d]", out->length ? ", " : "", shown, from.call, from.output);
        }
}

/* The shape of its last call's output, as Keras's; a list of several. */
static void list_outputs(const cornu_model *m, const model_member *of, text *out)
{
    char shown[128];
    if (of->layer) {
        const int last = model_call(m, of->layer, of->layer->call_count - 1);
        const int count = model_outputs_of(m, last);
        for (int i = 0; i < count; i++)
            text_add(out, "%s%s",
                     i           ? ", "
                     : count > 1 ? "["
                                 : "",
                     shape_show(&m->nodes[last + i].out, true, shown));
        if (count > 1)
            text_add(out, "]");
        return;
    }
    const int calls = m->submodels[of->submodel].call_count;
    const submodel_call *last = &m->calls[submodel_call_number(m, of->submodel, calls - 1)];
    for (int i = 0; i < last->output_count; i++)
        text_add(out, "%s%s",
                 i                        ? ", "
                 : last->output_count > 1 ? "["
                                          : "",
                 shape_show(&m->nodes[last->outputs[i]].out, true, shown));
    if (last->output_count > 1)
        text_add(out, "]");
}

static int64_t member_parameters(const cornu_model *m, const model_member *of)
{
    int64_t count = 0;
    for (int i = of->first; i < of->end; i++)
        count += summary_parameters(m, m->layers[i]);
    return count;
}

/* `depth`: of the submodels around it. */
static void add_member(const table *t, const cornu_model *m, const model_member *of, int depth)
{
    char shown[400], name[480], count[32];
    text inputs = {0}, outputs = {0};
    cornu_printable(model_member_name(m, of), shown, sizeof shown);
    snprintf(name, sizeof name, "%*s%s%s (%s)", 3 * depth, "", depth > 0 ? "└ " : "", shown,
             model_member_class(m, of));
    summary_number(member_parameters(m, of), count);
    list_outputs(m, of, &outputs);
    if (depth == 0)
        list_inputs(m, of, &inputs);
    add_row(t, "│",
            (const char *const[COLUMNS_MOST]){name, outputs.length ? outputs.data : "", count,
                                              inputs.length ? inputs.data : "-"});
    text_free(&inputs);
    text_free(&outputs);
}

/* The rows of the model, or of a submodel: Keras leaves a Sequential's InputLayer out. */
static void add_members(const table *t, const cornu_model *m, int owner, int depth, bool *begun)
{
    for (model_member at = {.end = 0}; model_next_member(m, owner, &at);) {
        if (at.layer && layer_is_input(at.layer->kind) && !submodel_is_functional(m, owner))
            continue;
        if (*begun)
            add_rule(t, "├", "─", "┼", "┤");
        *begun = true;
        add_member(t, m, &at, depth);
        if (!at.layer && t->expand_nested)
            add_members(t, m, at.submodel, depth + 1, begun);
    }
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
   learning rate; and Nadam's product of the momentum. */
static total optimizer_total(const cornu_model *m)
{
    total t = {.count = 1, .bytes = 8};
    if (m->optimizer.learning_rate.id == SCHEDULE_CONSTANT)
        t = sum(t, floats(1));
    if (m->optimizer.id == OPTIMIZER_NADAM)
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

void model_summary_table(const cornu_model *m, bool expand_nested, text *out)
{
    table t = model_level_branches(m, -1) ? graph_table : chain_table;
    bool begun = false;
    t.out = out;
    t.expand_nested = expand_nested;
    char shown[400];
    cornu_printable(m->name, shown, sizeof shown);
    text_add(out, "Model: \"%s\"\n", shown);
    add_rule(&t, "┏", "━", "┳", "┓");
    add_row(&t, "┃",
            (const char *const[COLUMNS_MOST]){"Layer (type)", "Output Shape", "Param #",
                                              "Connected to"});
    add_rule(&t, "┡", "━", "╇", "┩");
    add_members(&t, m, -1, 0, &begun);
    add_rule(&t, "└", "─", "┴", "┘");
    add_totals(m, out);
    text_add(out, " (1 MB is 1,000,000 bytes; Keras's table counts 1,048,576 as one)\n");
}
