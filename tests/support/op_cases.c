#include "support/op_cases_add.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the tables ------------------------------------------------------------------------- */

typedef struct dense_row {
    int64_t rows[2], in, units; /* rows[1] 0: x has two dimensions */
    bool bias;
    activation_kind act;
} dense_row;
/* Sizes around the blocking's limits: rows of 1024 and more, and products above 4 MFLOP, are
   split. */
static const dense_row dense_rows[] = {
    {{1}, 1, 1, true, ACTIVATION_LINEAR},       {{1}, 37, 17, true, ACTIVATION_RELU},
    {{3}, 5, 1, false, ACTIVATION_SIGMOID},     {{7}, 130, 33, true, ACTIVATION_TANH},
    {{2, 9}, 6, 5, true, ACTIVATION_ELU},       {{32}, 777, 250, true, ACTIVATION_RELU},
    {{32}, 1000, 10, true, ACTIVATION_LINEAR},  {{33}, 2050, 129, false, ACTIVATION_LEAKY_RELU},
    {{50}, 300, 600, true, ACTIVATION_RELU},    {{1}, 3000, 700, true, ACTIVATION_LINEAR},
    {{1}, 90000, 20, true, ACTIVATION_LINEAR},  {{3}, 9000, 50, true, ACTIVATION_LINEAR},
    {{4}, 30000, 50, true, ACTIVATION_LINEAR},  {{16}, 2000, 3000, true, ACTIVATION_RELU},
    {{1100}, 60, 40, true, ACTIVATION_RELU},    {{1025}, 1100, 3, true, ACTIVATION_LINEAR},
    {{700}, 28, 177, true, ACTIVATION_TANH},    {{2, 300}, 3, 5, true, ACTIVATION_RELU},
    {{600}, 130, 177, true, ACTIVATION_LINEAR}, {{30, 20}, 65, 48, false, ACTIVATION_LINEAR},
    {{5, 401}, 33, 47, false, ACTIVATION_TANH}, {{2}, 3072, 3000, true, ACTIVATION_RELU},
    {{32}, 256, 100, true, ACTIVATION_SIGMOID}, {{100}, 512, 128, true, ACTIVATION_RELU},
    {{6}, 96, 48, true, ACTIVATION_LINEAR},     {{64}, 104, 144, true, ACTIVATION_GELU},
    {{15}, 97, 49, true, ACTIVATION_RELU},      {{9}, 129, 95, false, ACTIVATION_RELU},
    {{257}, 150, 110, true, ACTIVATION_RELU},   {{512}, 25, 60, true, ACTIVATION_LINEAR},
    {{513}, 25, 60, true, ACTIVATION_LINEAR},   {{2}, 20000, 12, true, ACTIVATION_LINEAR},
    {{27}, 397, 387, true, ACTIVATION_RELU},    {{32}, 600, 442, false, ACTIVATION_LINEAR},
    {{26}, 1700, 390, true, ACTIVATION_LINEAR},
};

typedef struct conv_row {
    int64_t n, h, w, c, filters, kernel[2], stride[2], dilation[2], groups;
    bool same, bias;
    activation_kind act;
} conv_row;
static const conv_row conv_rows[] = {
    {1, 1, 1, 1, 1, {1, 1}, {1, 1}, {1, 1}, 1, false, true, ACTIVATION_LINEAR},
    {1, 9, 7, 3, 5, {3, 3}, {1, 1}, {1, 1}, 1, true, true, ACTIVATION_RELU},
    {3, 8, 8, 1, 32, {5, 5}, {1, 1}, {1, 1}, 1, true, true, ACTIVATION_RELU},
    {17, 6, 5, 17, 16, {3, 3}, {1, 1}, {1, 1}, 1, true, true, ACTIVATION_LINEAR},
    {2, 8, 8, 32, 32, {3, 3}, {1, 1}, {1, 1}, 1, true, true, ACTIVATION_RELU},
    {19, 5, 5, 16, 48, {3, 3}, {1, 1}, {1, 1}, 1, false, true, ACTIVATION_RELU},
    {4, 12, 11, 3, 32, {3, 3}, {2, 2}, {1, 1}, 1, true, false, ACTIVATION_LINEAR},
    {2, 13, 10, 17, 33, {3, 2}, {2, 1}, {1, 1}, 1, false, true, ACTIVATION_ELU},
    {3, 14, 12, 4, 6, {3, 3}, {1, 1}, {2, 3}, 1, false, true, ACTIVATION_SIGMOID},
    {2, 11, 13, 16, 32, {3, 3}, {1, 1}, {2, 2}, 1, true, true, ACTIVATION_LEAKY_RELU},
    {5, 7, 7, 6, 9, {3, 3}, {1, 1}, {1, 1}, 3, true, true, ACTIVATION_TANH},
    {3, 8, 6, 32, 64, {3, 3}, {2, 2}, {1, 1}, 2, true, true, ACTIVATION_RELU},
    {2, 7, 9, 17, 17, {3, 3}, {1, 1}, {1, 1}, 17, true, true, ACTIVATION_LINEAR},
    {2, 7, 9, 16, 32, {3, 3}, {1, 1}, {1, 1}, 16, true, true, ACTIVATION_LINEAR},
    {6, 5, 4, 20, 12, {1, 1}, {1, 1}, {1, 1}, 1, false, true, ACTIVATION_RELU},
    {6, 9, 9, 20, 12, {1, 1}, {3, 2}, {1, 1}, 1, false, false, ACTIVATION_LINEAR},
    {1, 4, 40, 2, 3, {1, 7}, {1, 3}, {1, 1}, 1, true, true, ACTIVATION_LINEAR},
    {2, 6, 6, 3, 8, {6, 6}, {1, 1}, {1, 1}, 1, false, true, ACTIVATION_RELU},
    {2, 3, 3, 3, 8, {5, 5}, {1, 1}, {1, 1}, 1, true, true, ACTIVATION_LINEAR},
    {11, 16, 16, 64, 64, {3, 3}, {1, 1}, {1, 1}, 1, true, true, ACTIVATION_LINEAR},
    /* 3x3 with many channels: the published layers, tails of channels and tiles, padding */
    {2, 32, 32, 32, 32, {3, 3}, {1, 1}, {1, 1}, 1, true, true, ACTIVATION_LINEAR},
    {2, 16, 16, 32, 64, {3, 3}, {1, 1}, {1, 1}, 1, true, true, ACTIVATION_LINEAR},
    {5, 8, 8, 64, 128, {3, 3}, {1, 1}, {1, 1}, 1, true, true, ACTIVATION_LINEAR},
    {5, 8, 8, 128, 128, {3, 3}, {1, 1}, {1, 1}, 1, true, true, ACTIVATION_LINEAR},
    {2, 28, 28, 32, 32, {3, 3}, {1, 1}, {1, 1}, 1, true, true, ACTIVATION_RELU},
    {2, 14, 14, 32, 64, {3, 3}, {1, 1}, {1, 1}, 1, true, true, ACTIVATION_RELU},
    {20, 14, 14, 64, 64, {3, 3}, {1, 1}, {1, 1}, 1, true, true, ACTIVATION_RELU},
    {1, 74, 74, 32, 64, {3, 3}, {1, 1}, {1, 1}, 1, false, true, ACTIVATION_RELU},
    {8, 7, 9, 17, 33, {3, 3}, {1, 1}, {1, 1}, 1, true, false, ACTIVATION_TANH},
    {4, 5, 45, 100, 20, {3, 3}, {1, 1}, {1, 1}, 1, false, true, ACTIVATION_LEAKY_RELU},
    {11, 7, 6, 80, 112, {3, 3}, {1, 1}, {1, 1}, 1, true, true, ACTIVATION_ELU},
    /* 5x5 between many channels */
    {2, 14, 14, 32, 64, {5, 5}, {1, 1}, {1, 1}, 1, true, true, ACTIVATION_RELU},
    {9, 9, 7, 17, 20, {5, 5}, {1, 1}, {1, 1}, 1, false, true, ACTIVATION_TANH},
    {9, 6, 5, 16, 33, {5, 5}, {1, 1}, {1, 1}, 1, true, false, ACTIVATION_LINEAR},
    /* depthwise: strides, tails of channels, columns and taps, windows larger than the image */
    {3, 19, 21, 40, 40, {3, 3}, {2, 2}, {1, 1}, 40, true, true, ACTIVATION_LINEAR},
    {2, 12, 30, 24, 24, {5, 5}, {1, 1}, {1, 1}, 24, true, false, ACTIVATION_RELU},
    {2, 13, 11, 33, 33, {5, 4}, {2, 3}, {1, 1}, 33, true, true, ACTIVATION_TANH},
    {2, 11, 25, 16, 16, {3, 3}, {1, 1}, {2, 3}, 16, false, true, ACTIVATION_LINEAR},
    {40, 2, 1, 70, 70, {3, 3}, {1, 1}, {1, 1}, 70, true, true, ACTIVATION_RELU},
    {1, 14, 13, 5, 5, {11, 11}, {1, 1}, {1, 1}, 5, true, true, ACTIVATION_LINEAR},
    {1, 14, 13, 5, 5, {11, 12}, {1, 1}, {1, 1}, 5, true, true, ACTIVATION_LINEAR},
    /* images of few channels: the published first layers, tails, strides */
    {2, 32, 32, 3, 32, {3, 3}, {1, 1}, {1, 1}, 1, true, true, ACTIVATION_LINEAR},
    {1, 13, 150, 3, 32, {3, 3}, {1, 1}, {1, 1}, 1, false, true, ACTIVATION_RELU},
    {3, 28, 28, 1, 32, {5, 5}, {1, 1}, {1, 1}, 1, true, true, ACTIVATION_RELU},
    {3, 28, 28, 1, 32, {3, 3}, {1, 1}, {1, 1}, 1, true, false, ACTIVATION_RELU},
    {2, 9, 31, 3, 33, {3, 3}, {1, 1}, {1, 1}, 1, true, true, ACTIVATION_TANH},
    {2, 11, 10, 4, 17, {5, 5}, {1, 1}, {1, 1}, 1, false, true, ACTIVATION_LEAKY_RELU},
    {2, 11, 10, 2, 100, {5, 3}, {1, 1}, {1, 1}, 1, true, true, ACTIVATION_RELU},
    {2, 17, 19, 3, 20, {7, 7}, {2, 2}, {1, 1}, 1, true, true, ACTIVATION_RELU},
    {2, 19, 16, 4, 7, {3, 3}, {2, 3}, {1, 1}, 1, false, true, ACTIVATION_LINEAR},
    {40, 5, 6, 1, 16, {3, 3}, {1, 1}, {1, 1}, 1, true, true, ACTIVATION_ELU},
    /* few filters: an autoencoder's last layer, tails, windows of even sizes, narrow images */
    {3, 28, 28, 32, 1, {3, 3}, {1, 1}, {1, 1}, 1, true, true, ACTIVATION_SIGMOID},
    {2, 9, 31, 17, 2, {5, 5}, {1, 1}, {1, 1}, 1, false, true, ACTIVATION_RELU},
    {2, 12, 21, 8, 3, {4, 2}, {1, 1}, {1, 1}, 1, true, true, ACTIVATION_TANH},
    {40, 5, 6, 16, 4, {3, 3}, {1, 1}, {1, 1}, 1, true, false, ACTIVATION_LINEAR},
    {2, 20, 13, 40, 3, {1, 1}, {1, 1}, {1, 1}, 1, false, true, ACTIVATION_LINEAR},
    {1, 6, 7, 9, 1, {7, 7}, {1, 1}, {1, 1}, 1, true, true, ACTIVATION_GELU},
    /* any other: a last panel of few columns, rows that are copied, one sample, phases without
       taps, groups of several panels, blocks that begin within a pixel's samples, a depth in parts
     */
    {3, 4, 3, 136, 65, {3, 3}, {1, 1}, {1, 1}, 1, true, true, ACTIVATION_ELU},
    {1, 9, 9, 16, 80, {3, 3}, {1, 1}, {1, 1}, 1, false, true, ACTIVATION_TANH},
    {5, 8, 7, 24, 100, {2, 1}, {3, 2}, {1, 1}, 1, true, true, ACTIVATION_SIGMOID},
    {9, 6, 6, 12, 160, {3, 3}, {1, 1}, {1, 1}, 2, true, true, ACTIVATION_TANH},
    {11, 4, 4, 20, 33, {5, 5}, {1, 1}, {1, 1}, 1, true, false, ACTIVATION_LINEAR},
    {2, 2, 3, 800, 20, {1, 1}, {1, 1}, {1, 1}, 1, false, true, ACTIVATION_GELU},
};

typedef struct pool_row {
    int64_t n, h, w, c, kernel[2], stride[2];
    bool same;
} pool_row;
static const pool_row pool_rows[] = {
    {1, 1, 1, 1, {1, 1}, {1, 1}, false},  {2, 6, 6, 1, {2, 2}, {2, 2}, false},
    {3, 9, 7, 3, {2, 2}, {2, 2}, false},  {3, 9, 7, 3, {2, 2}, {2, 2}, true},
    {2, 8, 8, 17, {3, 3}, {2, 2}, true},  {2, 8, 9, 32, {2, 2}, {2, 2}, true},
    {5, 7, 7, 65, {2, 2}, {1, 1}, true},  {2, 7, 5, 130, {3, 2}, {1, 3}, false},
    {3, 11, 6, 4, {2, 2}, {3, 3}, false}, {2, 6, 6, 8, {6, 6}, {6, 6}, false},
    {33, 5, 4, 16, {4, 1}, {2, 1}, true}, {2, 40, 40, 32, {2, 2}, {2, 2}, false},
    {2, 2, 1, 5, {2, 2}, {2, 2}, true},   {3, 9, 7, 33, {2, 2}, {2, 2}, false},
    {2, 10, 6, 17, {2, 2}, {2, 2}, true}, {1, 148, 6, 32, {2, 2}, {2, 2}, false},
    {2, 11, 9, 37, {5, 4}, {3, 2}, true}, {1, 5, 4, 1031, {5, 4}, {5, 4}, false},
};

/* Shapes for elementwise operations. */
static const shape plain_shapes[] = {
    {2, {1, 1}},       {2, {3, 17}},       {2, {32, 10}},   {2, {5, 1000}},  {2, {700, 101}},
    {4, {3, 5, 7, 3}}, {4, {2, 9, 9, 32}}, {2, {1, 16384}}, {2, {1, 16385}}, {4, {9, 16, 16, 33}},
};

/* Two tensors of which one repeats some dimensions of the other, or each does. */
typedef struct pair_row {
    shape a, b;
} pair_row;
static const pair_row pair_rows[] = {
    {{2, {1, 1}}, {2, {1, 1}}},
    {{4, {3, 5, 7, 3}}, {4, {3, 5, 7, 3}}},
    {{4, {2, 9, 9, 32}}, {4, {2, 1, 1, 32}}},
    {{4, {3, 1, 1, 17}}, {4, {3, 6, 5, 17}}},
    {{4, {3, 6, 5, 17}}, {4, {3, 6, 5, 1}}},
    {{4, {2, 1, 5, 1}}, {4, {2, 6, 1, 33}}},
    {{5, {2, 3, 1, 4, 1}}, {5, {2, 1, 5, 1, 6}}},
    {{2, {3, 1}}, {2, {3, 2000}}},
    {{3, {1, 600, 1}}, {3, {40, 600, 3}}},
    {{2, {1, 700}}, {2, {50, 700}}},
    {{3, {70, 30, 16}}, {3, {1, 1, 16}}}, /* a bias */
    {{2, {4, 16387}}, {2, {4, 16387}}},
    {{4, {3, 6, 5, 17}}, {4, {1, 6, 1, 17}}}, /* a weight */
};

/* ---- building the table ----------------------------------------------------------------- */

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static op_case *table;
static int table_count, table_capacity;

op_case *op_case_add(op_kind kind)
{
    if (table_count == table_capacity) {
        table_capacity = table_capacity ? 2 * table_capacity : 256;
        op_case *grown = realloc(table, (size_t)table_capacity * sizeof *table);
        if (!grown)
            abort();
        table = grown;
    }
    op_case *c = &table[table_count++];
    memset(c, 0, sizeof *c);
    c->kind = kind;
    return c;
}

void op_case_label(op_case *c, const char *more)
{
    char text[SHAPE_MAX * 24] = "";
    const shape *s = c->in[0].rank ? &c->in[0] : &c->out[0];
    size_t used = 0;
    for (int i = 0; i < s->rank; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld", i ? "x" : "",
                                 (long long)s->dim[i]);
    snprintf(c->label, sizeof c->label, "%s %s%s%s", op_infos[c->kind].name, text,
             *more ? ", " : "", more);
}

static activation act(activation_kind kind)
{
    return (activation){kind, kind == ACTIVATION_LEAKY_RELU ? 0.2f : 1.0f};
}

static void add_dense(const dense_row *r)
{
    char more[64];
    shape x = {2, {r->rows[0], r->in}}, y = {2, {r->rows[0], r->units}};
    if (r->rows[1]) {
        x = (shape){3, {r->rows[0], r->rows[1], r->in}};
        y = (shape){3, {r->rows[0], r->rows[1], r->units}};
    }
    shape w = {2, {r->in, r->units}}, b = r->bias ? op_case_row(r->units) : (shape){0};
    snprintf(more, sizeof more, "%lld units, %s", (long long)r->units, activation_name(r->act));
    op_case *c = op_case_add(OP_DENSE_FORWARD);
    *c = (op_case){.kind = c->kind, .in = {x, w, b}, .out = {y}, .a.dense.act = act(r->act)};
    op_case_label(c, more);
    c = op_case_add(OP_DENSE_BACKWARD_DATA);
    *c = (op_case){.kind = c->kind, .in = {y, w}, .out = {x}};
    op_case_label(c, more);
    c = op_case_add(OP_DENSE_BACKWARD_WEIGHTS);
    *c = (op_case){.kind = c->kind, .in = {x, y}, .out = {w, b}};
    op_case_label(c, more);
}

static void add_conv(const conv_row *r)
{
    char more[96];
    window2d window = {.kernel = {r->kernel[0], r->kernel[1]},
                       .stride = {r->stride[0], r->stride[1]},
                       .dilation = {r->dilation[0], r->dilation[1]},
                       .groups = r->groups};
    window_pad(&window, r->same, r->h, r->w);
    shape x = {4, {r->n, r->h, r->w, r->c}};
    shape y = {
        4, {r->n, window_output(&window, 0, r->h), window_output(&window, 1, r->w), r->filters}};
    shape w = {4, {r->kernel[0], r->kernel[1], r->c / r->groups, r->filters}};
    shape b = r->bias ? op_case_row(r->filters) : (shape){0};
    snprintf(more, sizeof more,
             "%lld filters %lldx%lld, strides %lld %lld, dilation %lld %lld, %lld groups, %s",
             (long long)r->filters, (long long)r->kernel[0], (long long)r->kernel[1],
             (long long)r->stride[0], (long long)r->stride[1], (long long)r->dilation[0],
             (long long)r->dilation[1], (long long)r->groups, activation_name(r->act));
    op_attributes a = {.conv = {.w = window}};
    op_case *c = op_case_add(OP_CONV2D_FORWARD);
    *c = (op_case){.kind = c->kind, .in = {x, w, b}, .out = {y}, .a = a};
    c->a.conv.act = act(r->act);
    op_case_label(c, more);
    c = op_case_add(OP_CONV2D_BACKWARD_DATA);
    *c = (op_case){.kind = c->kind, .in = {y, w}, .out = {x}, .a = a};
    op_case_label(c, more);
    c = op_case_add(OP_CONV2D_BACKWARD_WEIGHTS);
    *c = (op_case){.kind = c->kind, .in = {x, y}, .out = {w, b}, .a = a};
    op_case_label(c, more);
}

static void add_pool(const pool_row *r)
{
    char more[64];
    window2d window = {.kernel = {r->kernel[0], r->kernel[1]},
                       .stride = {r->stride[0], r->stride[1]},
                       .dilation = {1, 1},
                       .groups = 1};
    window_pad(&window, r->same, r->h, r->w);
    shape x = {4, {r->n, r->h, r->w, r->c}};
    shape y = {4, {r->n, window_output(&window, 0, r->h), window_output(&window, 1, r->w), r->c}};
    snprintf(more, sizeof more, "window %lldx%lld, strides %lld %lld, %s", (long long)r->kernel[0],
             (long long)r->kernel[1], (long long)r->stride[0], (long long)r->stride[1],
             r->same ? "same" : "valid");
    op_attributes a = {.window = window};
    op_case rows[] = {
        {.kind = OP_MAX_POOL_FORWARD, .in = {x}, .out = {y}, .a = a, .step = 0.25f},
        {.kind = OP_MAX_POOL_BACKWARD, .in = {x, y, y}, .out = {x}, .a = a, .step = 0.25f},
        {.kind = OP_AVERAGE_POOL_FORWARD, .in = {x}, .out = {y}, .a = a},
        {.kind = OP_AVERAGE_POOL_BACKWARD, .in = {y}, .out = {x}, .a = a}};
    for (int i = 0; i < COUNT(rows); i++) {
        op_case *c = op_case_add(rows[i].kind);
        *c = rows[i];
        op_case_label(c, more);
    }
}

/* Those that are never fused have one kernel, as rows have, which others try on the large shapes.
 */
enum { ALONE_MOST = 10000 };

static void add_plain(const shape *s)
{
    for (int k = 0; k < ACTIVATION_COUNT; k++) {
        const bool alone = activation_is_alone((activation_kind)k) || k == ACTIVATION_LOG_SOFTMAX ||
                           k == ACTIVATION_SPARSEMAX;
        if (alone && shape_elements(s) > ALONE_MOST)
            continue;
        op_case *c = op_case_add(OP_ACTIVATION_FORWARD);
        *c = (op_case){.kind = c->kind, .in = {*s}, .out = {*s}, .a.act = act((activation_kind)k)};
        op_case_label(c, activation_name((activation_kind)k));
        c = op_case_add(OP_ACTIVATION_BACKWARD);
        *c = (op_case){
            .kind = c->kind, .in = {*s, *s}, .out = {*s}, .a.act = act((activation_kind)k)};
        op_case_label(c, activation_name((activation_kind)k));
    }
    op_case *c = op_case_add(OP_DROPOUT);
    *c = (op_case){.kind = c->kind, .in = {*s}, .out = {*s}, .a.dropout = {0.3f, 7}};
    op_case_label(c, "rate 0.3");
    c = op_case_add(OP_SCALE);
    *c = (op_case){.kind = c->kind, .in = {*s}, .out = {*s}, .a.scale = {1.0f / 127.5f, -1}};
    op_case_label(c, "");
    c = op_case_add(OP_ADD);
    *c = (op_case){.kind = c->kind, .in = {*s, *s}, .out = {*s}};
    op_case_label(c, "");
    c = op_case_add(OP_PENALTY);
    *c = (op_case){.kind = c->kind, .in = {*s}, .a.penalty = {0.3f, 0.2f}};
    op_case_label(c, "");
    c = op_case_add(OP_SQUARE_SUM);
    *c = (op_case){.kind = c->kind, .in = {*s}, .out = {op_case_row(3)}, .a.norm.slot = 1};
    op_case_label(c, "");
    c = op_case_add(OP_SQUARE_SUM);
    *c = (op_case){.kind = c->kind,
                   .in = {*s, *s},
                   .out = {op_case_row(3)},
                   .a.norm = {.slot = 1, .penalty = {0.3f, 0.2f}}};
    op_case_label(c, "penalized");
}

/* all three of x's rows, with gamma and beta, or neither */
static void add_batch_norm(const shape *s, bool gamma, bool beta)
{
    shape v = op_case_row(s->dim[s->rank - 1]), none = {0}, g = gamma ? v : none,
          b = beta ? v : none;
    const op_attributes a = {.batch_norm = {0.99f, 1e-3f}};
    const char *more = gamma ? beta ? "gamma, beta" : "gamma" : beta ? "beta" : "";
    op_case *c = op_case_add(OP_BATCH_NORM_FORWARD);
    *c = (op_case){.kind = c->kind, .in = {*s, g, b, v, v}, .out = {*s, v, v, v, v}, .a = a};
    op_case_label(c, more);
    c = op_case_add(OP_BATCH_NORM_FORWARD); /* recomputed: without moving statistics */
    *c = (op_case){.kind = c->kind, .in = {*s, g, b}, .out = {*s, v, v}, .a = a};
    op_case_label(c, gamma ? "gamma, again" : "again");
    c = op_case_add(OP_BATCH_NORM_INFERENCE);
    *c = (op_case){.kind = c->kind, .in = {*s, g, b, v, v}, .out = {*s}, .a = a};
    op_case_label(c, more);
    c = op_case_add(OP_BATCH_NORM_INFERENCE);
    *c = (op_case){.kind = c->kind, .in = {*s, g, b, none, v}, .out = {*s}, .a = a};
    op_case_label(c, gamma ? "gamma, no mean" : "no mean");
    c = op_case_add(OP_BATCH_NORM_BACKWARD);
    *c = (op_case){.kind = c->kind, .in = {*s, *s, g, v, v}, .out = {*s, g, b}, .a = a};
    op_case_label(c, more);
}

static void add_layer_norm(const shape *s, bool gamma, bool beta)
{
    shape v = op_case_row(s->dim[s->rank - 1]), none = {0}, g = gamma ? v : none,
          b = beta ? v : none;
    shape rows = *s;
    rows.rank--;
    const op_attributes a = {.reals = {1e-3f}};
    const char *more = gamma ? beta ? "gamma, beta" : "gamma" : beta ? "beta" : "";
    op_case *c = op_case_add(OP_LAYER_NORM_FORWARD);
    *c = (op_case){.kind = c->kind, .in = {*s, g, b}, .out = {*s, rows, rows}, .a = a};
    op_case_label(c, more);
    c = op_case_add(OP_LAYER_NORM_BACKWARD);
    *c = (op_case){.kind = c->kind, .in = {*s, *s, g, rows, rows}, .out = {*s, g, b}, .a = a};
    op_case_label(c, more);
}

static void add_pad(int64_t n, int64_t h, int64_t w, int64_t ch, const int64_t p[4])
{
    shape inner = {4, {n, h, w, ch}}, outer = {4, {n, h + p[0] + p[1], w + p[2] + p[3], ch}};
    op_attributes a = {.pad = {{p[0], p[2]}, {p[1], p[3]}}};
    op_case *c = op_case_add(OP_PAD);
    *c = (op_case){.kind = c->kind, .in = {inner}, .out = {outer}, .a = a};
    op_case_label(c, "");
    c = op_case_add(OP_CROP);
    *c = (op_case){.kind = c->kind, .in = {outer}, .out = {inner}, .a = a};
    op_case_label(c, "");
}

static const char *more_of(const char *name, const shape *b, char text[128])
{
    char other[128];
    snprintf(text, 128, "%.20s %s", name, shape_show(b, false, other));
    return text;
}

static void add_binary(const pair_row *r, binary_kind kind)
{
    char more[128];
    shape y = r->a;
    for (int i = 0; i < y.rank; i++)
        if (y.dim[i] == 1)
            y.dim[i] = r->b.dim[i];
    op_case *c = op_case_add(OP_BINARY_FORWARD);
    *c = (op_case){.kind = c->kind, .in = {r->a, r->b}, .out = {y}, .a.binary = {kind, 0}};
    op_case_label(c, more_of(binary_name(kind), &r->b, more));
    c->step = kind >= BINARY_MAXIMUM ? 0.25f : 0;
    for (int of = 0; of < binary_gradients(kind); of++) {
        c = op_case_add(OP_BINARY_BACKWARD);
        *c = (op_case){.kind = c->kind,
                       .in = {r->a, r->b, y},
                       .out = {of ? r->b : r->a},
                       .a.binary = {kind, of}};
        if (kind == BINARY_ADD || kind == BINARY_SUBTRACT)
            c->in[0] = c->in[1] = (shape){0};
        c->step = kind >= BINARY_MAXIMUM ? 0.25f : 0;
        op_case_label(c, more_of(binary_name(kind), &r->b, more));
    }
}

static void add_slice(const shape *whole, int axis, int64_t begin, int64_t step, int64_t n)
{
    char more[64];
    shape part = *whole;
    part.dim[axis] = n;
    snprintf(more, sizeof more, "axis %d, %lld from %lld on, step %lld", axis, (long long)n,
             (long long)begin, (long long)step);
    const op_attributes a = {.slice = {axis, begin, step, false}};
    op_case *c = op_case_add(OP_SLICE);
    *c = (op_case){.kind = c->kind, .in = {*whole}, .out = {part}, .a = a};
    op_case_label(c, more);
    for (int fresh = 0; fresh < 2; fresh++) {
        c = op_case_add(OP_INSERT);
        *c = (op_case){.kind = c->kind, .in = {part}, .out = {*whole}, .a = a};
        if (!fresh)
            c->in[1] = *whole;
        op_case_label(c, more);
    }
}

typedef struct matmul_row {
    int64_t outer[2]; /* outer[1] 0: three dimensions */
    int64_t rows, depth, columns;
} matmul_row;
static const matmul_row matmul_rows[] = {
    {{1}, 1, 1, 1},     {{3}, 1, 64, 1},     {{2}, 5, 7, 3},    {{2}, 17, 33, 35},
    {{4}, 1, 9, 40},    {{3}, 40, 9, 1},     {{2, 3}, 1, 5, 1}, {{1}, 130, 20, 8},
    {{2, 2}, 6, 4, 33}, {{1}, 12, 1000, 70}, {{1}, 2, 9001, 1}, {{700}, 3, 2, 4},
    {{1}, 64, 1, 64},
};

static shape matrices(const matmul_row *r, int64_t rows, int64_t columns)
{
    if (r->outer[1])
        return (shape){4, {r->outer[0], r->outer[1], rows, columns}};
    return (shape){3, {r->outer[0], rows, columns}};
}

static void add_matmul(const matmul_row *r)
{
    char more[64];
    for (int ta = 0; ta < 2; ta++)
        for (int tb = 0; tb < 2; tb++) {
            const shape a = ta ? matrices(r, r->depth, r->rows) : matrices(r, r->rows, r->depth);
            const shape b =
                tb ? matrices(r, r->columns, r->depth) : matrices(r, r->depth, r->columns);
            op_case *c = op_case_add(OP_MATMUL);
            *c = (op_case){.kind = c->kind,
                           .in = {a, b},
                           .out = {matrices(r, r->rows, r->columns)},
                           .a.matmul = {{ta, tb}}};
            snprintf(more, sizeof more, "%lld x %lld x %lld%s%s", (long long)r->rows,
                     (long long)r->depth, (long long)r->columns, ta ? ", a'" : "",
                     tb ? ", b'" : "");
            op_case_label(c, more);
        }
}

static void add_transpose(const shape *x, const int *order)
{
    char more[64] = "order";
    op_case *c = op_case_add(OP_TRANSPOSE);
    *c = (op_case){.kind = c->kind, .in = {*x}, .out = {*x}};
    for (int i = 0; i < x->rank; i++) {
        c->a.order[i] = order[i];
        c->out[0].dim[i] = x->dim[order[i]];
        snprintf(more + strlen(more), sizeof more - strlen(more), " %d", order[i]);
    }
    op_case_label(c, more);
}

static void add_transposes(void)
{
    const shape matrix = {3, {3, 17, 50}}, image = {4, {2, 9, 5, 33}}, deep = {5, {2, 3, 4, 5, 8}};
    add_transpose(&matrix, (const int[]){0, 2, 1});
    add_transpose(&image, (const int[]){0, 3, 1, 2});
    add_transpose(&image, (const int[]){0, 2, 1, 3});
    add_transpose(&image, (const int[]){0, 1, 3, 2});
    add_transpose(&deep, (const int[]){0, 4, 2, 3, 1});
    add_transpose(&deep, (const int[]){0, 3, 4, 1, 2});
    add_transpose(&(shape){3, {700, 1, 40}}, (const int[]){0, 2, 1});
}

static void add_draw(draw_kind kind, float low, float high)
{
    static const char *const names[] = {"number", "signed",      "whole", "chance",
                                        "pair",   "box",         "flip",  "rotation",
                                        "zoom",   "translation", "shear", "crop"};
    for (int one = 0; one < 2; one++) {
        op_case *c = op_case_add(OP_DRAW);
        *c = (op_case){.kind = c->kind,
                       .out = {{2, {one ? 700 : 5, drawing_numbers((int)kind)}}},
                       .a.draw = {{kind, {low, 1}, {high, 0.5f}, {9, 31}, one}, 7}};
        op_case_label(c, names[kind]);
    }
}

/* Of pixels at which no rule is at an end of its range. */
static void add_recolor(recolor_kind kind, const shape *x)
{
    static const char *const names[] = {"invert",     "solarize", "posterize", "grayscale",
                                        "degenerate", "saturate", "hue"};
    const shape numbers = {2, {x->dim[0], kind == RECOLOR_SOLARIZE ? 2 : 1}};
    const op_attributes a = {.recolor = {kind, -1.75f, 2}};
    op_case *c = op_case_add(OP_RECOLOR_FORWARD);
    *c = (op_case){.kind = c->kind, .in = {*x, numbers}, .out = {*x}, .a = a};
    op_case_label(c, names[kind]);
    c = op_case_add(OP_RECOLOR_BACKWARD);
    *c = (op_case){.kind = c->kind, .in = {*x, numbers, *x}, .out = {*x}, .a = a};
    op_case_label(c, names[kind]);
}

static void add_noise(const shape *y)
{
    op_case *c = op_case_add(OP_DRAW);
    *c = (op_case){.kind = c->kind, .out = {*y}, .a.draw = {{DRAW_NORMAL, {1}, {0.5f}}, 7}};
    op_case_label(c, "normal");
}

/* The map's numbers are multiples of 1/4, so that no rounding decides which pixel is the nearest.
 */
static void add_resample(const shape *x, const int64_t size[2], bool one, bool separable)
{
    static const char *const names[] = {"reflect", "constant", "wrap", "nearest"};
    const shape map = {2, {one ? 1 : x->dim[0], MAP_NUMBERS}};
    const shape y = {4, {x->dim[0], size[0], size[1], x->dim[3]}};
    const op_case any = {.step = 0.25f, .separable = separable};
    char more[80];
    for (int border = 0; border < COUNT(names); border++)
        for (int nearest = 0; nearest < 2; nearest++) {
            const op_attributes a = {.resample = {border, nearest, 0.5f}};
            snprintf(more, sizeof more, "%lldx%lld, %s%s%s%s", (long long)size[0],
                     (long long)size[1], names[border], nearest ? ", nearest pixel" : "",
                     one ? ", one map" : "", separable ? ", rows and columns apart" : "");
            for (int back = 0; back < 2; back++) {
                op_case *c = op_case_add(back ? OP_RESAMPLE_BACKWARD : OP_RESAMPLE_FORWARD);
                const op_kind kind = c->kind;
                *c = any;
                c->kind = kind;
                c->a = a;
                c->in[0] = back ? map : *x;
                c->in[1] = back ? y : map;
                c->out[0] = back ? *x : y;
                op_case_label(c, more);
            }
        }
}

static void add_resamples(void)
{
    add_draw(DRAW_NUMBER, -3, 5);
    add_draw(DRAW_SIGNED, 1, 2);
    add_draw(DRAW_WHOLE, 1, 7);
    add_draw(DRAW_CHANCE, 0.2f, 0.7f);
    add_draw(DRAW_PAIR, -3, 5);
    add_draw(DRAW_BOX, 0.1f, 0.7f);
    add_draw(DRAW_FLIP, 1, 1);
    add_draw(DRAW_ROTATION, -0.5f, 1);
    add_draw(DRAW_ZOOM, 0.1f, 2);
    add_draw(DRAW_TRANSLATION, -4, 4);
    add_draw(DRAW_SHEAR, -0.5f, 1);
    add_draw(DRAW_CROP, 0, 7);
    add_noise(&(shape){2, {5, 7}});
    add_noise(&(shape){4, {33, 3, 5, 4}});
    for (int kind = RECOLOR_INVERT; kind <= RECOLOR_HUE; kind++) {
        add_recolor((recolor_kind)kind, &(shape){4, {3, 9, 6, 3}});
        if (kind < RECOLOR_GRAYSCALE)
            add_recolor((recolor_kind)kind, &(shape){4, {7, 3, 5, 4}});
    }
    for (int separable = 0; separable < 2; separable++) {
        add_resample(&(shape){4, {3, 9, 6, 3}}, (const int64_t[]){9, 6}, false, separable);
        add_resample(&(shape){4, {2, 4, 13, 1}}, (const int64_t[]){7, 5}, true, separable);
        add_resample(&(shape){4, {2, 1, 30, 33}}, (const int64_t[]){3, 30}, false, separable);
        add_resample(&(shape){4, {2, 3, 70, 2}}, (const int64_t[]){5, 70}, false, separable);
        add_resample(&(shape){4, {2, 4, 5, 4}}, (const int64_t[]){4, 67}, false, separable);
    }
}

static void add_embedding(const shape *x, int64_t rows, int64_t columns)
{
    char more[64];
    shape y = *x;
    y.dim[y.rank++] = columns;
    const shape table = {2, {rows, columns}};
    snprintf(more, sizeof more, "%lld rows of %lld", (long long)rows, (long long)columns);
    op_case *c = op_case_add(OP_EMBEDDING_FORWARD);
    *c = (op_case){.kind = c->kind, .in = {*x, table}, .out = {y}};
    op_case_label(c, more);
    c = op_case_add(OP_EMBEDDING_BACKWARD);
    *c = (op_case){.kind = c->kind, .in = {*x, y}, .out = {table}};
    op_case_label(c, more);
}

/* The states before the first step and after the last one; last: only the latter is read. */
static void add_states(recurrent_cell cell, op_case forward, op_case backward, bool last)
{
    char more[64];
    const shape *h = &forward.out[0], state = {2, {h->dim[0], h->dim[2]}};
    const bool lstm = cell == CELL_LSTM;
    snprintf(more, sizeof more, "cell %d, %s", (int)cell, last ? "the last state" : "states");
    forward.in[3] = backward.in[4] = backward.out[3] = state;
    if (lstm)
        forward.in[4] = forward.out[2] = backward.in[5] = backward.in[6] = backward.out[4] = state;
    if (last)
        backward.in[3] = backward.out[3] = (shape){0};
    op_case *c = op_case_add(forward.kind);
    *c = forward;
    op_case_label(c, more);
    c = op_case_add(backward.kind);
    *c = backward;
    op_case_label(c, more);
}

static void add_recurrent(recurrent_cell cell, const int64_t size[3], bool backwards)
{
    static const char *const names[] = {"simple", "lstm", "gru, reset after", "gru, reset before"};
    const int64_t n = size[2], gates = recurrent_gates(cell), kept = recurrent_kept(cell);
    const int64_t products = recurrent_products(cell);
    const bool gru = cell == CELL_GRU_AFTER || cell == CELL_GRU_BEFORE, none = kept == 0;
    const shape z = {3, {size[0], size[1], gates * n}}, u = {2, {n, gates * n}},
                h = {3, {size[0], size[1], n}}, saved = {3, {size[0], size[1], kept * n}},
                before = {3, {size[0], size[1], products * n}},
                dr = {3, {size[0], size[1], products * gates * n}}, no = {0};
    const op_attributes a = {.recurrent = {.cell = cell,
                                           .act = {ACTIVATION_TANH, 0},
                                           .gate = {ACTIVATION_SIGMOID, 0},
                                           .from_last = backwards,
                                           .to_last = backwards}};
    op_case *c = op_case_add(OP_RECURRENT_FORWARD);
    *c = (op_case){.kind = c->kind, .in = {z, u}, .out = {h, none ? no : saved}, .a = a};
    if (cell == CELL_GRU_AFTER)
        c->in[2] = op_case_row(gates * n);
    op_case_label(c, names[cell]);
    c = op_case_add(OP_RECURRENT_BACKWARD);
    *c = (op_case){.kind = c->kind,
                   .in = {u, h, none ? no : saved, h},
                   .out = {z, gru ? dr : no, before},
                   .a = a};
    op_case_label(c, names[cell]);
    const op_case back = *c, forward = c[-1];
    add_states(cell, forward, back, false);
    if (cell == CELL_LSTM)
        add_states(cell, forward, back, true);
}

static void add_slices(void)
{
    const shape image = {4, {3, 7, 9, 5}}, wide = {4, {2, 6, 8, 32}}, deep = {5, {2, 3, 4, 5, 8}};
    for (int axis = 0; axis < 4; axis++) {
        add_slice(&image, axis, 0, 1, 2);
        add_slice(&image, axis, 1, 2, 1);
        add_slice(&wide, axis, 1, 1, 1);
    }
    add_slice(&image, 1, 1, 2, 3);
    add_slice(&image, 3, 0, 3, 2);
    add_slice(&wide, 3, 8, 1, 16);
    add_slice(&wide, 2, 0, 4, 2);
    add_slice(&deep, 4, 4, 1, 4);
    add_slice(&deep, 2, 1, 2, 2);
    add_slice(&(shape){2, {700, 101}}, 1, 30, 1, 71);
    add_slice(&(shape){2, {3, 40000}}, 1, 20, 1, 39980);
}

/* The numbers of a loss's options where the user gives none. */
static void usual_reals(loss_id id, float *reals)
{
    const char *name = loss_kind_of(id)->name;
    loss l;
    doc *d;
    if (id == LOSS_VALUES)
        return; /* has no name, and no numbers */
    if (doc_parse(name, strlen(name), "loss", &d) != CORNU_OK || loss_read(d, &l) != CORNU_OK)
        abort();
    loss_reals(&l, reals);
    doc_free(d);
}

static op_case *add_copy(const op_case *of)
{
    const op_case copy = *of;
    op_case *c = op_case_add(copy.kind);
    *c = copy;
    op_case_label(c, "weighted");
    return c;
}

static void add_losses(const shape *s)
{
    for (int id = 0; id < LOSS_COUNT; id++) {
        const loss_kind *kind = loss_kind_of((loss_id)id);
        shape target = *s;
        if (kind->sparse)
            target.dim[s->rank - 1] = 1;
        for (int form = 0; form < 4; form++) {
            bool logits = form & 1, gradient = form & 2;
            if (logits && kind->logits == LOSS_LOGITS_NEVER)
                continue;
            op_case *c = op_case_add(OP_LOSS);
            *c = (op_case){.kind = c->kind, .in = {*s, target}, .a.loss = {(loss_id)id, logits}};
            usual_reals((loss_id)id, c->a.loss.reals);
            c->out[0] = gradient ? *s : (shape){0};
            op_case_label(c, kind->name);
        }
    }
    for (int id = 0; id < METRIC_COUNT; id++) {
        const metric_kind *kind = metric_kind_of((metric_id)id);
        if (kind->value >= METRIC_VALUE_AUC)
            continue;
        shape target = *s;
        if (kind->sparse)
            target.dim[s->rank - 1] = 1;
        op_case *c = op_case_add(OP_METRIC);
        *c = (op_case){.kind = c->kind,
                       .in = {*s, target},
                       .a.metric = {.sum = kind->sums[0],
                                    .of_loss = kind->of_loss,
                                    .loss = kind->loss,
                                    .reals = {0.5f},
                                    .k = kind->value < METRIC_VALUE_COUNT ? 2 : -1,
                                    .whole = kind->value >= METRIC_VALUE_COUNT,
                                    .slot = 1}};
        if (kind->of_loss)
            usual_reals(kind->loss, c->a.metric.reals);
        op_case_label(c, kind->name);
        if (id % 4 == 0) /* by the samples' weights */
            add_copy(c)->in[2] = op_case_row(s->dim[0]);
    }
}

static void add_tally(const shape *s, tally_spec what, bool weighted, const char *name)
{
    static const struct {
        int planes;
        bool of_rows;
    } rows[] = {
#define ELEMENT 0
#define ROW 1
#define TALLY(id, rule, of, planes) {planes, of},
#include "model/tallies.def"
    };
    shape target = *s;
    if (what.kind == TALLY_SPARSE_BEST)
        target.dim[s->rank - 1] = 1;
    what.planes = rows[what.kind].planes;
    what.of_rows = rows[what.kind].of_rows;
    op_case *c = op_case_add(OP_TALLY);
    *c = (op_case){.kind = c->kind, .in = {*s, target}, .a.tally = {.what = what, .table = 1}};
    if (weighted)
        c->in[2] = op_case_row(s->dim[0]);
    if (what.kind == TALLY_LIMITS)
        c->in[3] = op_case_row(5);
    op_case_label(c, name);
}

static void add_tallies(const shape *s)
{
    const int64_t n = s->dim[s->rank - 1];
    const tally_spec even = {.kind = TALLY_EVEN, .buckets = 11, .column = -1, .reals = {9, 1}};
    tally_spec t = even;
    add_tally(s, t, false, "even");
    t.column = n - 1;
    t.reals[1] = 0;
    add_tally(s, t, true, "even, a column, weighted");
    t = even;
    t.by_column = true;
    t.buckets *= n;
    add_tally(s, t, false, "even, by column");
    t = (tally_spec){.kind = TALLY_LIMITS, .buckets = 6, .column = -1};
    add_tally(s, t, false, "limits");
    t.k = 2;
    add_tally(s, t, true, "limits, of the largest, weighted");
    t = (tally_spec){.kind = TALLY_LABELS, .buckets = 2 * n, .column = -1, .reals = {0.3f}};
    add_tally(s, t, true, "labels, weighted");
    t.k = 1;
    add_tally(s, t, false, "labels, the largest");
    t = (tally_spec){.buckets = 25, .k = 5, .column = -1, .reals = {0.5f, 2}};
    for (t.kind = TALLY_CLASSES; t.kind <= TALLY_SPARSE_BEST; t.kind++)
        add_tally(s, t, false, "classes");
    t.kind = TALLY_BEST;
    t.whole_weights = true;
    add_tally(s, t, true, "classes, weighted");
    t = (tally_spec){.kind = TALLY_MOMENTS, .buckets = n, .column = -1};
    add_tally(s, t, true, "moments, weighted");
}

/* Options for samples: `image` if they must be images of 1 to 4 channels. */
typedef struct gather_form {
    const char *label;
    bool image;
    augmentation augment;
    standardization standardize;
} gather_form;

#define MOVES                                                               \
    .rotation_range = 20, .shear_range = 0.2f, .zoom_range = {-0.2f, 0.2f}, \
    .width_shift_range = {.most = 0.4f}, .horizontal_flip = true
#define BY_FEATURES                                                            \
    .featurewise_center = true, .featurewise_std = true, .mean = {1, 2, 3, 4}, \
    .std = {1, 2, 0.5f, 3}

static const gather_form gather_forms[] = {
    {.label = ""},
    {.label = "samplewise", .standardize = {.samplewise_center = true, .samplewise_std = true}},
    {.label = "augmented", .image = true, .augment = {MOVES}},
    {.label = "constant", .image = true, .augment = {MOVES, .fill = FILL_CONSTANT, .cval = 9}},
    {.label = "reflect", .image = true, .augment = {MOVES, .fill = FILL_REFLECT}},
    {.label = "wrap", .image = true, .augment = {MOVES, .fill = FILL_WRAP}},
    {.label = "far",
     .image = true,
     .augment = {.height_shift_range = {.most = 400, .pixels = true}, .fill = FILL_REFLECT}},
    {.label = "channel shift", .image = true, .augment = {MOVES, .channel_shift_range = 60}},
    {.label = "brightness",
     .image = true,
     .augment = {.vertical_flip = true, .brightens = true, .brightness_range = {0.5f, 2}}},
    {.label = "featurewise", .image = true, .standardize = {BY_FEATURES}},
    {.label = "augmented, featurewise",
     .image = true,
     .augment = {MOVES},
     .standardize = {BY_FEATURES}},
    {.label = "all",
     .image = true,
     .augment = {MOVES, .channel_shift_range = 60, .brightens = true, .brightness_range = {1, 2},
                 .fill = FILL_CONSTANT, .cval = -50},
     .standardize = {BY_FEATURES, .samplewise_center = true}},
};

static void add_gather(const shape *x, const gather_form *f, bool targets)
{
    op_case *c = op_case_add(OP_GATHER);
    c->out[0] = *x;
    if (targets)
        c->out[1] = (shape){2, {x->dim[0], 10}};
    c->a.gather.augment = f->augment;
    c->a.gather.standardize = f->standardize;
    if (f->standardize.featurewise_center)
        c->a.gather.standardize.channels = (int32_t)x->dim[3];
    op_case_label(c, f->label);
}

static void add_gathers(void)
{
    const shape images[] = {{4, {1, 3, 3, 1}},   {4, {7, 28, 28, 1}}, {4, {33, 9, 11, 3}},
                            {4, {3, 6, 130, 2}}, {4, {4, 5, 65, 4}},  {4, {3, 6, 7, 5}},
                            {2, {5, 700}}};
    for (int i = 0; i < COUNT(images); i++)
        for (int form = 0; form < COUNT(gather_forms); form++) {
            const gather_form *f = &gather_forms[form];
            bool image = images[i].rank == 4;
            if ((f->image && !image) ||
                (f->standardize.featurewise_center && (!image || images[i].dim[3] > 4)))
                continue;
            add_gather(&images[i], f, form % 2 == 1);
        }
    add_gather(&images[1], &gather_forms[0], true);
}

const op_case *op_cases(int *count)
{
    if (!table) {
        for (int i = 0; i < COUNT(dense_rows); i++)
            add_dense(&dense_rows[i]);
        for (int i = 0; i < COUNT(conv_rows); i++)
            add_conv(&conv_rows[i]);
        for (int i = 0; i < COUNT(pool_rows); i++)
            add_pool(&pool_rows[i]);
        for (int i = 0; i < COUNT(plain_shapes); i++) {
            add_plain(&plain_shapes[i]);
            add_layer_norm(&plain_shapes[i], i % 2 == 0, i % 3 != 0);
            if (plain_shapes[i].dim[0] > 1)
                add_batch_norm(&plain_shapes[i], i % 2 == 0, i % 3 != 0);
        }
        add_pad(1, 1, 1, 1, (const int64_t[]){1, 1, 1, 1});
        add_pad(3, 7, 5, 3, (const int64_t[]){1, 2, 0, 3});
        add_pad(2, 30, 31, 17, (const int64_t[]){0, 1, 2, 0});
        for (int i = 0; i < COUNT(pair_rows); i++)
            for (int kind = 0; kind < BINARY_COUNT; kind++)
                add_binary(&pair_rows[i], (binary_kind)kind);
        add_slices();
        for (int i = 0; i < COUNT(matmul_rows); i++)
            add_matmul(&matmul_rows[i]);
        add_transposes();
        add_resamples();
        for (int cell = 0; cell <= CELL_GRU_BEFORE; cell++) {
            add_recurrent((recurrent_cell)cell, (const int64_t[]){3, 4, 5}, false);
            add_recurrent((recurrent_cell)cell, (const int64_t[]){1, 1, 1}, true);
            add_recurrent((recurrent_cell)cell, (const int64_t[]){19, 3, 33}, true);
            add_recurrent((recurrent_cell)cell, (const int64_t[]){70, 2, 24}, false);
        }
        add_embedding(&(shape){2, {3, 5}}, 7, 17);
        add_embedding(&(shape){2, {300, 40}}, 3, 1);
        add_embedding(&(shape){3, {4, 6, 5}}, 1000, 33);
        add_losses(&(shape){2, {1, 10}});
        add_tallies(&(shape){2, {1, 10}});
        add_losses(&(shape){2, {32, 3}});
        add_tallies(&(shape){2, {32, 3}});
        add_losses(&(shape){2, {300, 101}});
        add_tallies(&(shape){2, {300, 101}});
        add_losses(&(shape){2, {3, 700}});
        add_tallies(&(shape){2, {3, 700}});
        add_losses(&(shape){3, {4, 5, 7}});
        add_tallies(&(shape){3, {4, 5, 7}});
        op_cases_add_updates();
        add_gathers();
    }
    *count = table_count;
    return table;
}

int op_cases_free(void **state)
{
    (void)state;
    free(table);
    table = NULL;
    table_count = table_capacity = 0;
    return 0;
}
