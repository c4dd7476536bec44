/* Convolutions of any window, stride, dilation and number of groups, forward and backward, as
   products whose rows are found by address (Dukhan, "The Indirect Convolution Algorithm",
   arXiv:1907.02129): for each tap, a position's row of the product is that pixel of the image, with
   all of its channels, which the tap reads; outside the image it is a row of zeros. Gradients of
   weights copy rows that are far apart; otherwise nothing of the image is copied. Dense layers over
   many rows are here, too, as images of one pixel.

     forward   y[position][filters]   = sum over taps of x[pixel of the tap][depth] W[tap]
     data      dx[position][channels] = sum over taps of dy[pixel of the tap][filters] W[tap]'
     weights   dW[tap][depth]         = sum over positions of x[pixel of the tap][depth]' dy

   With a stride, the positions of dx are divided into phases: all positions of one have the same
   taps, whose pixels of dy are neighbours.

   A task of forward and data is a block of positions by some panels of columns. The taps and the
   depth are divided into slices whose panel of W stays in the caches while all positions of the
   block pass over it; slices are added in one order. W is packed into panels first.

   A task of weights is a piece of dW's rows and a group of positions, whose sums go into dW, or,
   where there are several groups, into a partial sum for each, added in the groups' order. */
#include "base/memory.h"
#include "device/cpu/conv/indirect_kernels.h"
#include "device/cpu/cpu.h"
#include "device/cpu/dense/dense.h"
#include <stdlib.h>
#include <string.h>

CPU_ISA_TABLE(indirect_kernels, cpu_indirect);

enum {
    POSITIONS = 120,      /* of a block: a multiple of the tiles' heights */
    SLICE = 192 * 64,     /* elements of W; half of it is slower */
    TASKS_ENOUGH = 32,    /* balances up to 16 threads */
    PIECE_ROWS = 64,      /* of dW, */
    PIECE_SIZE = 64 * 96, /* and their elements where there are few columns */
    GROUPS_MOST = 16,     /* of positions */
    STRIDE_MOST =
        128 /* floats: rows further apart fall into too few sets of the first-level cache */
};
/* Where less of what the windows read is inside the image, a tile goes over samples, which have the
   same taps inside, and leaves the other taps out. */
#define SHARE_INSIDE 0.95
#define PARTIAL_SUMS_BYTES ((int64_t)64 << 20)

/* One tap of a phase: position (i, j) reads pixel (i * step + offset[0], j * step + offset[1]), if
   that is inside the image. */
typedef struct phase_tap {
    int64_t offset[2];
} phase_tap;

/* Positions whose windows have the same taps: all of y; of dx those that leave the same remainders
   when they are divided by the strides. */
typedef struct phase {
    int64_t first[2], count[2]; /* rows and columns of the output: its first, and how many */
    int64_t positions;          /* in all samples */
    int64_t first_block;        /* blocks of all phases before */
    bool samples_last;          /* a position of all samples comes before the next position */
    int64_t taps;
    int32_t *tap;  /* [taps]: its number in the window */
    phase_tap *at; /* [taps] */
} phase;

typedef struct indirect_state {
    const indirect_kernels *k;
    cpu_isa isa;
    bool dense, data, weights;
    window2d w;
    int64_t batch, window;  /* window: its taps */
    int64_t from[2], to[2]; /* height and width of the images that are read and computed */
    int64_t from_channels, to_channels;
    int64_t depth, columns;          /* of a group of channels: of from_channels and to_channels */
    int64_t step[2], apart[2];       /* pixels from one position to the next in `from`, in `to` */
    int64_t panel, panels;           /* width of a panel, and panels of a group */
    int64_t blocks;                  /* of positions */
    int64_t taps_most, rows_most;    /* of a phase, of a block */
    int64_t panel_tasks;             /* forward, data: of such a block */
    int64_t position_groups;         /* weights */
    int64_t slice_taps, slice_depth; /* forward, data: of a slice; weights: of a piece of dW */
    int64_t sums_floats, worker_floats;
    int phase_count;
    phase *phases;
    phase_tap *taps;  /* [window]: of all phases */
    int32_t *numbers; /* [window] */
    float *zeros;     /* [from_channels] */
} indirect_state;

/* ---- prepare ------------------------------------------------------------------------------- */

static void release(void *state)
{
    indirect_state *s = state;
    if (!s)
        return;
    free(s->phases);
    free(s->taps);
    free(s->numbers);
    free(s->zeros);
    free(s);
}

/* Does position `first` of a dimension's phase have tap k, and which pixel does it read? */
static bool tap_offset(const indirect_state *s, int dimension, int64_t first, int64_t k,
                       int64_t *offset)
{
    const window2d *w = &s->w;
    const int64_t tap = k * w->dilation[dimension] - w->before[dimension];
    const int64_t stride = s->data ? w->stride[dimension] : 1;
    *offset = s->data ? (first - tap) / stride : tap;
    return !s->data || (first - tap) % stride == 0;
}

static void find_taps(indirect_state *s, phase *f, int64_t *used)
{
    f->tap = s->numbers + *used;
    f->at = s->taps + *used;
    for (int64_t i = 0; i < s->w.kernel[0]; i++) {
        phase_tap at;
        if (!tap_offset(s, 0, f->first[0], i, &at.offset[0]))
            continue;
        for (int64_t j = 0; j < s->w.kernel[1]; j++) {
            if (!tap_offset(s, 1, f->first[1], j, &at.offset[1]))
                continue;
            f->at[f->taps] = at;
            f->tap[f->taps++] = (int32_t)(i * s->w.kernel[1] + j);
        }
    }
    *used += f->taps;
}

/* The share of the pixels that the taps of one dimension read which is inside the image. */
static double share_inside(const indirect_state *s, const phase *f, int dimension)
{
    int64_t inside = 0;
    for (int64_t t = 0; t < f->taps; t++)
        for (int64_t i = 0; i < f->count[dimension]; i++) {
            const int64_t at = i * s->step[dimension] + f->at[t].offset[dimension];
            inside += at >= 0 && at < s->from[dimension];
        }
    return (double)inside / (double)cpu_most(1, f->taps * f->count[dimension]);
}

static cornu_status find_phases(indirect_state *s)
{
    int64_t used = 0;
    const int64_t phases = cpu_least(s->apart[0], s->to[0]) * cpu_least(s->apart[1], s->to[1]);
    TRY(memory_new((size_t)phases, sizeof *s->phases, "convolution", &s->phases));
    TRY(memory_new((size_t)s->window, sizeof *s->taps, "convolution", &s->taps));
    TRY(memory_new((size_t)s->window, sizeof *s->numbers, "convolution", &s->numbers));
    for (int64_t i = 0; i < s->apart[0] && i < s->to[0]; i++)
        for (int64_t j = 0; j < s->apart[1] && j < s->to[1]; j++) {
            phase *f = &s->phases[s->phase_count++];
            f->first[0] = i;
            f->first[1] = j;
            for (int d = 0; d < 2; d++)
                f->count[d] = cpu_divide_up(s->to[d] - f->first[d], s->apart[d]);
            f->positions = s->batch * f->count[0] * f->count[1];
            f->first_block = s->blocks;
            s->blocks += cpu_divide_up(f->positions, POSITIONS);
            s->rows_most = cpu_most(s->rows_most, cpu_least(f->positions, POSITIONS));
            find_taps(s, f, &used);
            s->taps_most = cpu_most(s->taps_most, f->taps);
            f->samples_last =
                !s->weights && share_inside(s, f, 0) * share_inside(s, f, 1) < SHARE_INSIDE;
        }
    return CORNU_OK;
}

/* Panels of equal width, a multiple of a vector's. */
static void choose_panels(indirect_state *s)
{
    if (s->dense && s->weights) { /* at most a dense layer's panel */
        s->panel = cpu_least(s->k->panel_most, PANEL_COLUMNS);
    } else {
        s->panels = cpu_divide_up(s->columns, s->k->panel_most);
        s->panel = cpu_divide_up(cpu_divide_up(s->columns, s->panels), s->k->vector) * s->k->vector;
    }
    s->panels = cpu_divide_up(s->columns, s->panel);
}

/* Slices of at most `rows` rows of W: of one tap, or some taps with all of their depth. */
static void choose_slices(indirect_state *s, int64_t rows)
{
    s->slice_depth = cpu_divide_up(s->depth, cpu_divide_up(s->depth, rows));
    s->slice_taps = s->slice_depth < s->depth ? 1 : cpu_least(s->window, rows / s->depth);
}

/* Columns of a group's panel, and the vectors' floats for them: the last panel may have fewer. */
static int64_t panel_columns(const indirect_state *s, int64_t panel)
{
    return cpu_least(s->panel, s->columns - panel * s->panel);
}

static int64_t panel_width(const indirect_state *s, int64_t panel)
{
    return cpu_divide_up(panel_columns(s, panel), s->k->vector) * s->k->vector;
}

static int64_t packed_floats(const indirect_state *s)
{
    return cpu_scratch_floats(s->w.groups * s->panels * s->window * s->depth * s->panel);
}

enum { ADDRESS = sizeof(void *) / sizeof(float) }; /* floats of scratch */

static int64_t address_floats(int64_t count)
{
    return cpu_scratch_floats(count * ADDRESS);
}

static void divide_outputs(indirect_state *s, threads *pool, size_t *scratch_bytes)
{
    choose_slices(s, SLICE / s->panel);
    s->panel_tasks = cpu_least(s->w.groups * s->panels, cpu_divide_up(TASKS_ENOUGH, s->blocks));
    s->worker_floats = address_floats((s->taps_most + 1) * s->rows_most);
    cpu_need_scratch(scratch_bytes, packed_floats(s) + threads_count(pool) * s->worker_floats);
}

static int64_t depth_slices(const indirect_state *s)
{
    return cpu_divide_up(s->depth, s->slice_depth);
}

static int64_t piece_count(const indirect_state *s)
{
    return s->w.groups * cpu_divide_up(s->window, s->slice_taps) * depth_slices(s);
}

/* Rows of x and of dy are copied where they are too far apart for the first-level cache, and dy
   where its last panel is narrower. */
static bool copies_x(const indirect_state *s)
{
    return s->from_channels > STRIDE_MOST;
}

static bool copies_dy(const indirect_state *s)
{
    return s->to_channels > STRIDE_MOST || s->columns % s->k->vector != 0;
}

static int64_t dw_floats(const indirect_state *s)
{
    return cpu_scratch_floats(s->window * s->depth * s->to_channels);
}

/* Copies of dy's panels that are kept: all for several taps, else one after the other. */
static int64_t kept_panels(const indirect_state *s)
{
    return s->slice_taps > 1 ? s->panels : 1;
}

/* The partial sums of all groups of positions; a single group's sums are dW itself. */
static int64_t partial_floats(const indirect_state *s)
{
    return s->position_groups > 1 ? s->position_groups * s->sums_floats : 0;
}

static void divide_weights(indirect_state *s, threads *pool, size_t *scratch_bytes)
{
    choose_slices(s, cpu_most(PIECE_ROWS, PIECE_SIZE / s->columns));
    s->sums_floats = dw_floats(s) + cpu_scratch_floats(s->to_channels);
    int64_t groups = cpu_divide_up(TASKS_ENOUGH, piece_count(s));
    groups = cpu_least(groups, PARTIAL_SUMS_BYTES / (int64_t)sizeof(float) / s->sums_floats);
    s->position_groups = cpu_most(1, cpu_least(cpu_least(groups, GROUPS_MOST), s->blocks));
    s->worker_floats = cpu_scratch_floats(address_floats(POSITIONS) +
                                          POSITIONS * (kept_panels(s) * s->panel + s->slice_depth));
    cpu_need_scratch(scratch_bytes, partial_floats(s) + threads_count(pool) * s->worker_floats);
}

static void set_window(indirect_state *s, const shape *from, const shape *to)
{
    s->batch = from->dim[0];
    for (int d = 0; d < 2; d++) {
        s->from[d] = from->dim[1 + d];
        s->to[d] = to->dim[1 + d];
        s->step[d] = s->data ? 1 : s->w.stride[d];
        s->apart[d] = s->data ? s->w.stride[d] : 1;
    }
}

/* A dense layer's rows are images of one pixel. */
static void set_rows(indirect_state *s, int64_t rows)
{
    s->batch = rows;
    s->w = (window2d){.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .groups = 1};
    for (int d = 0; d < 2; d++)
        s->from[d] = s->to[d] = s->step[d] = s->apart[d] = 1;
}

static cornu_status fill(indirect_state *s, const plan *p, const op *o)
{
    s->dense = o->kind == OP_DENSE_FORWARD || o->kind == OP_DENSE_BACKWARD_DATA ||
               o->kind == OP_DENSE_BACKWARD_WEIGHTS;
    s->data = o->kind == OP_CONV2D_BACKWARD_DATA || o->kind == OP_DENSE_BACKWARD_DATA;
    s->weights = o->kind == OP_CONV2D_BACKWARD_WEIGHTS || o->kind == OP_DENSE_BACKWARD_WEIGHTS;
    const tensor *from = OP_IN(p, o, 0), *to = s->weights ? OP_IN(p, o, 1) : OP_OUT(p, o, 0);
    int64_t rows;
    TRY(cpu_isa_choose(&s->isa));
    s->k = cpu_indirect[s->isa];
    tensor_matrix(from, &rows, &s->from_channels);
    tensor_matrix(to, &rows, &s->to_channels);
    if (s->dense) {
        set_rows(s, rows);
    } else {
        s->w = o->a.conv.w;
        set_window(s, &from->shape, &to->shape);
    }
    s->window = s->w.kernel[0] * s->w.kernel[1];
    s->depth = s->from_channels / s->w.groups;
    s->columns = s->to_channels / s->w.groups;
    choose_panels(s);
    TRY(memory_new((size_t)s->from_channels, sizeof *s->zeros, "convolution", &s->zeros));
    return find_phases(s);
}

static cornu_status prepare(const plan *p, const op *o, threads *pool, void **state,
                            size_t *scratch_bytes)
{
    indirect_state *s = NULL;
    cornu_status status = CORNU_OK;
    TRY(memory_new(1, sizeof *s, "convolution", &s));
    TRY_GOTO(fill(s, p, o));
    if (s->weights)
        divide_weights(s, pool, scratch_bytes);
    else
        divide_outputs(s, pool, scratch_bytes);
    *state = s;
done:
    if (status != CORNU_OK)
        release(s);
    return status;
}

/* ---- positions ----------------------------------------------------------------------------- */

typedef struct indirect_run {
    const indirect_state *s;
    const float *from, *w, *b, *dy;
    activation act;
    float *to, *db;          /* y or dx; weights: dw, db (may be NULL) */
    float *packed, *workers; /* W in panels, or the partial sums; the workers' memory */
} indirect_run;

/* Pixels of some positions of a phase, from `first` on. */
typedef struct place {
    int64_t sample, row, column;
} place;

static place place_of(const indirect_state *s, const phase *f, int64_t number)
{
    const int64_t image = f->count[0] * f->count[1];
    const int64_t pixel = f->samples_last ? number / s->batch : number % image;
    return (place){f->samples_last ? number % s->batch : number / image, pixel / f->count[1],
                   pixel % f->count[1]};
}

static void next_place(const indirect_state *s, const phase *f, place *at)
{
    if (f->samples_last) {
        if (++at->sample < s->batch)
            return;
        at->sample = 0;
    }
    if (++at->column < f->count[1])
        return;
    at->column = 0;
    if (++at->row < f->count[0])
        return;
    at->row = 0;
    at->sample++;
}

/* The addresses of what one tap reads at `count` positions. */
static void find_rows(const indirect_run *r, const phase *f, const phase_tap *tap, place at,
                      int64_t count, const float **rows)
{
    const indirect_state *s = r->s;
    for (int64_t i = 0; i < count; i++, next_place(s, f, &at)) {
        const int64_t y = at.row * s->step[0] + tap->offset[0];
        const int64_t x = at.column * s->step[1] + tap->offset[1];
        const bool inside = y >= 0 && y < s->from[0] && x >= 0 && x < s->from[1];
        rows[i] = inside
                      ? r->from + ((at.sample * s->from[0] + y) * s->from[1] + x) * s->from_channels
                      : s->zeros;
    }
}

static void find_outputs(const indirect_run *r, const phase *f, place at, int64_t count,
                         float **rows)
{
    const indirect_state *s = r->s;
    for (int64_t i = 0; i < count; i++, next_place(s, f, &at)) {
        const int64_t y = at.row * s->apart[0] + f->first[0];
        const int64_t x = at.column * s->apart[1] + f->first[1];
        rows[i] = r->to + ((at.sample * s->to[0] + y) * s->to[1] + x) * s->to_channels;
    }
}

/* ---- forward and data ---------------------------------------------------------------------- */

/* A panel of a dense layer's W, from that layer's panels, of which a vector's columns are always in
   one. */
static void pack_dense(const indirect_run *r, int64_t panel, float *to)
{
    const indirect_state *s = r->s;
    const dense_size w = dense_size_from(s->batch, s->from_channels, s->to_channels);
    const int64_t first = panel * s->panel, columns = panel_columns(s, panel);
    for (int64_t c = 0; c < columns; c += s->k->vector) {
        const int64_t p = (first + c) / PANEL_COLUMNS;
        s->k->pack(r->w + dense_offset(&w, p, 0) + (first + c) % PANEL_COLUMNS, dense_width(&w, p),
                   false, s->depth, cpu_least(s->k->vector, columns - c), panel_width(s, panel),
                   to + c);
    }
}

/* The same of W'. */
static void pack_dense_transposed(const indirect_run *r, int64_t panel, float *to)
{
    const indirect_state *s = r->s;
    const dense_size w = dense_size_from(s->batch, s->to_channels, s->from_channels);
    const int64_t width = panel_width(s, panel);
    for (int64_t p = 0; p < w.panels; p++, to += PANEL_COLUMNS * width)
        s->k->pack(r->w + dense_offset(&w, p, panel * s->panel), dense_width(&w, p), true,
                   dense_width(&w, p), panel_columns(s, panel), width, to);
}

/* Number `task` of groups * panels * window: one tap's panel of W. */
static void pack_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const indirect_run *r = context;
    const indirect_state *s = r->s;
    const int64_t tap = task % s->window, panel = task / s->window % s->panels;
    const int64_t group = task / s->window / s->panels, column = panel * s->panel;
    const int64_t in = s->data ? s->columns : s->depth,
                  filters = s->data ? s->from_channels : s->to_channels;
    float *to = r->packed + task * s->depth * s->panel;
    if (s->dense) {
        (s->data ? pack_dense_transposed : pack_dense)(r, panel, to);
        return;
    }
    /* W is [window][in][filters]; of these a group has some. */
    const float *w = r->w + tap * in * filters + group * (s->data ? s->depth : s->columns) +
                     (s->data ? column * filters : column);
    s->k->pack(w, filters, s->data, s->depth, panel_columns(s, panel), panel_width(s, panel), to);
}

/* The content of a task: positions of a phase, and panels of the groups. */
typedef struct output_block {
    const phase *f;
    int64_t position, count, panel, panels;
} output_block;

static output_block block_of(const indirect_state *s, int64_t task)
{
    const int64_t block = task / s->panel_tasks;
    int64_t low = 0, high = s->phase_count, end;
    while (high - low > 1) { /* the phase that has the block */
        const int64_t middle = (low + high) / 2;
        if (s->phases[middle].first_block <= block)
            low = middle;
        else
            high = middle;
    }
    output_block b = {.f = &s->phases[low]};
    cpu_task_range(b.f->positions, POSITIONS, block - b.f->first_block, &b.position, &end);
    b.count = end - b.position;
    threads_range(s->w.groups * s->panels, s->panel_tasks, task % s->panel_tasks, 1, &b.panel,
                  &end);
    b.panels = end - b.panel;
    return b;
}

/* All slices of one panel, over the block's positions. */
static void run_panel(const indirect_run *r, const output_block *b, int64_t panel,
                      const float *const *rows, float *const *to)
{
    const indirect_state *s = r->s;
    const int64_t group = panel / s->panels, number = panel % s->panels;
    const int64_t tap_floats = s->depth * s->panel;
    const float *packed = r->packed + panel * s->window * tap_floats;
    indirect_product p = {.from_stride = s->rows_most,
                          .outside = s->zeros,
                          .ahead = s->window == 1 ? 8 * s->step[1] * s->from_channels : 0,
                          .rows = b->count,
                          .tap_stride = tap_floats,
                          .width = panel_width(s, number),
                          .to = to,
                          .to_at = group * s->columns + number * s->panel,
                          .columns = panel_columns(s, number)};
    int64_t tap = 0;
    do {
        p.tap = b->f->tap + tap;
        p.from = rows + tap * s->rows_most;
        p.taps = cpu_least(s->slice_taps, b->f->taps - tap);
        tap += p.taps;
        for (int64_t k = 0; k < s->depth; k += s->slice_depth) {
            p.at = group * s->depth + k;
            p.depth = cpu_least(s->slice_depth, s->depth - k);
            p.panel = packed + k * p.width;
            if (tap == b->f->taps && k + p.depth == s->depth) {
                p.bias = r->b ? r->b + p.to_at : NULL;
                p.relu = r->act.kind == ACTIVATION_RELU;
            }
            s->k->product(&p);
            p.add = true;
        }
    } while (tap < b->f->taps);
}

static void activate(const indirect_run *r, const output_block *b, float *const *to)
{
    const indirect_state *s = r->s;
    if (r->act.kind == ACTIVATION_LINEAR || r->act.kind == ACTIVATION_RELU)
        return;
    if (s->panel_tasks == 1 && !b->f->samples_last) { /* the rows of y follow one another */
        cpu_activate(s->isa, r->act, to[0], to[0], b->count * s->to_channels);
        return;
    }
    for (int64_t panel = b->panel; panel < b->panel + b->panels; panel++) {
        const int64_t number = panel % s->panels;
        const int64_t at = panel / s->panels * s->columns + number * s->panel;
        for (int64_t i = 0; i < b->count; i++)
            cpu_activate(s->isa, r->act, to[i] + at, to[i] + at, panel_columns(s, number));
    }
}

static void output_task(void *context, int64_t task, int worker)
{
    const indirect_run *r = context;
    const indirect_state *s = r->s;
    const output_block b = block_of(s, task);
    const place first = place_of(s, b.f, b.position);
    const float **rows = (const float **)(void *)(r->workers + worker * s->worker_floats);
    float **to = (float **)(void *)(rows + s->taps_most * s->rows_most);
    for (int64_t t = 0; t < b.f->taps; t++)
        find_rows(r, b.f, &b.f->at[t], first, b.count, rows + t * s->rows_most);
    find_outputs(r, b.f, first, b.count, to);
    for (int64_t panel = b.panel; panel < b.panel + b.panels; panel++)
        run_panel(r, &b, panel, rows, to);
    activate(r, &b, to);
}

static cornu_status output_run(const op_run *o)
{
    const indirect_state *s = o->state;
    const op_attributes *a = &o->op->a;
    indirect_run r = {.s = s,
                      .from = o->in[0],
                      .w = o->in[1],
                      .b = s->data ? NULL : o->in[2],
                      .act = s->data    ? (activation){.kind = ACTIVATION_LINEAR}
                             : s->dense ? a->dense.act
                                        : a->conv.act,
                      .to = o->out[0],
                      .packed = o->scratch};
    r.workers = r.packed + packed_floats(s);
    threads_run(o->pool, s->w.groups * s->panels * s->window, pack_task, &r);
    threads_run(o->pool, s->blocks * s->panel_tasks, output_task, &r);
    return CORNU_OK;
}

/* ---- weights ------------------------------------------------------------------------------- */

/* Rows of dW that a task sums: some taps of a group of channels, or a slice of one tap's depth. */
typedef struct piece {
    int64_t group, tap, taps, k, depth;
    bool first; /* of its group of channels: it also sums db */
} piece;

static piece piece_of(const indirect_state *s, int64_t number)
{
    const int64_t slices = depth_slices(s), pieces = piece_count(s) / s->w.groups;
    piece c = {.group = number / pieces, .first = number % pieces == 0};
    c.tap = number % pieces / slices * s->slice_taps;
    c.taps = cpu_least(s->slice_taps, s->window - c.tap);
    c.k = number % slices * s->slice_depth;
    c.depth = cpu_least(s->slice_depth, s->depth - c.k);
    return c;
}

/* One block of positions, with a worker's memory. */
typedef struct weights_block {
    int64_t position, count;
    const float **rows; /* [POSITIONS] */
    float *x, *dy;      /* copies: [POSITIONS][slice_depth], [kept_panels][POSITIONS][panel] */
    bool add;           /* to earlier blocks' sums */
} weights_block;

/* The copy of a panel of dy, which is made for the piece's first tap. */
static const float *copy_dy(const indirect_run *r, const piece *c, const weights_block *b,
                            int64_t tap, int64_t panel)
{
    const indirect_state *s = r->s;
    float *copy = b->dy + panel % kept_panels(s) * POSITIONS * s->panel;
    const int64_t column = c->group * s->columns + panel * s->panel;
    if (tap == c->tap)
        s->k->pack(r->dy + b->position * s->to_channels + column, s->to_channels, false, b->count,
                   panel_columns(s, panel), panel_width(s, panel), copy);
    return copy;
}

static void copy_x(const indirect_state *s, const piece *c, const weights_block *b)
{
    for (int64_t i = 0; i < b->count; i++) {
        float *copy = b->x + i * s->slice_depth;
        memcpy(copy, b->rows[i] + c->group * s->depth + c->k, (size_t)c->depth * sizeof *copy);
        b->rows[i] = copy;
    }
}

/* The rows of a dense layer's dW from k on, in its panel. */
static void set_dense_rows(const indirect_state *s, int64_t k, int64_t column, float *dw,
                           indirect_gradient *g)
{
    const dense_size d = dense_size_from(s->batch, s->from_channels, s->to_channels);
    const int64_t panel = column / PANEL_COLUMNS;
    g->dw = dw + dense_offset(&d, panel, k) + column % PANEL_COLUMNS;
    g->dw_stride = dense_width(&d, panel);
}

/* Add the block's products to the piece. */
static void add_block(const indirect_run *r, const piece *c, const weights_block *b, float *dw)
{
    const indirect_state *s = r->s;
    const phase *all = s->phases;
    const place first = place_of(s, all, b->position);
    indirect_gradient g = {.from = b->rows,
                           .at = copies_x(s) ? 0 : c->group * s->depth + c->k,
                           .rows = b->count,
                           .depth = c->depth,
                           .from_stride = copies_x(s) ? 0 : s->step[1] * s->from_channels,
                           .dy_ahead = copies_dy(s) ? 0 : POSITIONS * s->to_channels,
                           .dw_stride = s->to_channels,
                           .add = b->add};
    g.from_ahead = POSITIONS * g.from_stride;
    for (int64_t tap = c->tap; tap < c->tap + c->taps; tap++) {
        find_rows(r, all, &all->at[tap], first, b->count, b->rows);
        if (copies_x(s))
            copy_x(s, c, b);
        for (int64_t panel = 0; panel < s->panels; panel++) {
            const int64_t column = c->group * s->columns + panel * s->panel;
            g.columns = panel_columns(s, panel);
            g.width = panel_width(s, panel);
            g.dy_stride = copies_dy(s) ? g.width : s->to_channels;
            g.dy = copies_dy(s) ? copy_dy(r, c, b, tap, panel)
                                : r->dy + b->position * s->to_channels + column;
            g.dw = dw + (tap * s->depth + c->k) * s->to_channels + column;
            if (s->dense)
                set_dense_rows(s, c->k, column, dw, &g);
            s->k->gradient(&g);
        }
    }
}

/* Task number group of positions * pieces + piece: the pieces of a group read the same pixels. */
static void weights_task(void *context, int64_t task, int worker)
{
    const indirect_run *r = context;
    const indirect_state *s = r->s;
    const int64_t pieces = piece_count(s), group = task / pieces;
    const piece c = piece_of(s, task % pieces);
    const int64_t channels = c.group * s->columns;
    float *sums = r->packed + group * s->sums_floats,
          *memory = r->workers + worker * s->worker_floats;
    float *dw = s->position_groups > 1 ? sums : r->to;
    float *db = !r->db ? NULL : s->position_groups > 1 ? sums + dw_floats(s) : r->db;
    weights_block b = {.rows = (const float **)(void *)memory};
    int64_t end;
    b.dy = memory + address_floats(POSITIONS);
    b.x = b.dy + POSITIONS * kept_panels(s) * s->panel;
    if (db && c.first)
        memset(db + channels, 0, (size_t)s->columns * sizeof *db);
    threads_range(s->blocks, s->position_groups, group, 1, &b.position, &end);
    end = cpu_least(end * POSITIONS, s->phases->positions);
    for (b.position *= POSITIONS; b.position < end; b.position += b.count) {
        b.count = cpu_least(POSITIONS, end - b.position);
        add_block(r, &c, &b, dw);
        if (db && c.first)
            s->k->add_rows(r->dy + b.position * s->to_channels + channels, s->to_channels, b.count,
                           s->columns, db + channels);
        b.add = true;
    }
}

static cornu_status weights_run(const op_run *o)
{
    const indirect_state *s = o->state;
    indirect_run r = {.s = s,
                      .from = o->in[0],
                      .dy = o->in[1],
                      .to = o->out[0],
                      .db = o->out[1],
                      .packed = o->scratch};
    r.workers = r.packed + partial_floats(s);
    threads_run(o->pool, piece_count(s) * s->position_groups, weights_task, &r);
    if (s->position_groups == 1)
        return CORNU_OK;
    cpu_sum_partials(o->pool, s->isa, r.packed, s->window * s->depth * s->to_channels,
                     s->position_groups, s->sums_floats, o->out[0]);
    if (r.db)
        cpu_sum_partials(o->pool, s->isa, r.packed + dw_floats(s), s->to_channels,
                         s->position_groups, s->sums_floats, r.db);
    return CORNU_OK;
}

static bool dense_accepts(const plan *p, const op *o, const char **why)
{
    int64_t rows, columns;
    tensor_matrix(OP_IN(p, o, 0), &rows, &columns);
    *why = "at most 512 rows";
    return rows > DENSE_BLOCK_ROWS;
}

/* Hundreds of products are added one after the other. After tanh that rounding error is relative to
   1, and no longer to the largest sum. The gradients have the operations' own tolerances: a NaN
   times a zero outside the image is a NaN. */
const kernel cpu_indirect_forward = {.name = "indirect",
                                     .prepare = prepare,
                                     .release = release,
                                     .run = output_run,
                                     .tolerance = 1e-5};
const kernel cpu_indirect_backward_data = {.name = "indirect",
                                           .prepare = prepare,
                                           .release = release,
                                           .run = output_run,
                                           .tolerance = 5e-6};
const kernel cpu_indirect_backward_weights = {.name = "indirect",
                                              .prepare = prepare,
                                              .release = release,
                                              .run = weights_run,
                                              .tolerance = 2e-5};
const kernel cpu_indirect_dense_forward = {.name = "indirect",
                                           .accepts = dense_accepts,
                                           .prepare = prepare,
                                           .release = release,
                                           .run = output_run,
                                           .panels = true,
                                           .tolerance = 1e-5};
const kernel cpu_indirect_dense_backward_data = {.name = "indirect",
                                                 .accepts = dense_accepts,
                                                 .prepare = prepare,
                                                 .release = release,
                                                 .run = output_run,
                                                 .panels = true};
const kernel cpu_indirect_dense_backward_weights = {.name = "indirect",
                                                    .accepts = dense_accepts,
                                                    .prepare = prepare,
                                                    .release = release,
                                                    .run = weights_run,
                                                    .panels = true};
