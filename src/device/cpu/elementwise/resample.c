/* DRAW, and RESAMPLE: rows of the outputs, each of which is the sum of a few rows of the inputs,
   whose columns are then added up likewise. Where a row of the output comes from no row of the
   input, as of a rotated image: pixel by pixel, the gradients of a whole sample at once. */
#include "device/resample.h"
#include "device/cpu/cpu.h"
#include "device/cpu/elementwise/resample_kernels.h"

CPU_ISA_TABLE(resample_kernels, cpu_resample);

/* A row's sums read about four times as many elements as it has: a task has few of them. */
enum { TASK_ELEMENTS = 4 * CPU_TASK };

typedef struct resample_run {
    const op_run *r;
    resample_size size;
    bool back;
    int64_t from[2], to[2]; /* height and width of the images that are read, x or dy, and written */
    int64_t rows, rows_per_task;         /* of all samples */
    int64_t table_floats[2], row_floats; /* scratch memory of a worker */
} resample_run;

static resample_run run_of(const plan *p, const op *o)
{
    const resample_size s = resample_size_of(p, o);
    resample_run r = {.size = s, .back = o->kind == OP_RESAMPLE_BACKWARD};
    const int64_t x[2] = {s.height, s.width}, y[2] = {s.out_height, s.out_width};
    for (int i = 0; i < 2; i++) {
        r.from[i] = r.back ? y[i] : x[i];
        r.to[i] = r.back ? x[i] : y[i];
        r.table_floats[i] = cpu_scratch_floats(4 * y[i] + 2 * r.to[i] + 1);
    }
    r.rows = s.batch * r.to[0];
    r.rows_per_task = cpu_most(1, TASK_ELEMENTS / cpu_most(r.to[1], r.from[1]) / s.channels);
    r.row_floats = cpu_scratch_floats(r.from[1] * s.channels + RESAMPLE_PIXEL);
    return r;
}

static int64_t worker_floats(const resample_run *r)
{
    return r->table_floats[0] + r->table_floats[1] + r->row_floats;
}

static cornu_status prepare(const plan *p, const op *o, threads *pool, void **state,
                            size_t *scratch_bytes)
{
    const resample_run r = run_of(p, o);
    cpu_isa isa;
    TRY(cpu_isa_choose(&isa));
    cpu_need_scratch(scratch_bytes, threads_count(pool) * worker_floats(&r));
    *state = (void *)(uintptr_t)cpu_resample[isa];
    return CORNU_OK;
}

static resample_table table_at(const resample_run *r, int side, float *memory)
{
    const int64_t terms = 2 * (r->back ? r->from[side] : r->to[side]);
    return (resample_table){.terms = (resample_term *)(void *)memory,
                            .start = memory + 2 * terms,
                            .first = (int32_t *)(void *)(memory + 2 * terms + r->to[side])};
}

/* Line i of the output is line i of what is read. */
static bool is_identity(const resample_table *t, int64_t lines)
{
    for (int64_t i = 0; i < lines; i++)
        if (t->first[i + 1] != i + 1 || t->terms[i].line != i || t->terms[i].weight != 1 ||
            t->start[i] != 0)
            return false;
    return t->first[0] == 0;
}

/* Is the row the copy of one? */
static bool copies(const resample_table *t, int64_t row)
{
    return t->first[row + 1] - t->first[row] == 1 && t->terms[t->first[row]].weight == 1 &&
           t->start[row] == 0;
}

/* Row `row` of an image: the sum of rows, and then of that row's columns. A row that is a copy of
   one is read in place, if its pixels are not. */
static void resample_row_of(const resample_run *r, const resample_table t[2], int64_t row,
                            const float *image, float *sums, float *out)
{
    const resample_kernels *k = r->r->state;
    const int64_t channels = r->size.channels, width = r->from[1] * channels;
    const bool pixels = channels <= RESAMPLE_PIXEL;
    const float *line = sums;
    if (!pixels && copies(&t[0], row))
        line = image + t[0].terms[t[0].first[row]].line * width;
    else
        k->sums(&t[0], row, row + 1, image, sums, width);
    if (pixels)
        k->pixel_sums(&t[1], r->to[1], line, out, channels);
    else
        k->sums(&t[1], 0, r->to[1], line, out, channels);
}

/* Rows begin to end - 1 of the output of sample n, counted through all samples, by a map that
   moves rows and columns apart. */
static void resample_sides(const resample_run *r, int64_t n, int64_t begin, int64_t end,
                           const resample_table t[2], bool columns_stay, float *sums)
{
    const resample_kernels *k = r->r->state;
    const int64_t width = r->from[1] * r->size.channels, row_floats = r->to[1] * r->size.channels;
    const float *image = r->r->in[r->back ? 1 : 0] + n * r->from[0] * width;
    float *out = r->r->out[0] + begin * row_floats;
    if (columns_stay) {
        k->sums(&t[0], begin - n * r->to[0], end - n * r->to[0], image, out, width);
        return;
    }
    for (; begin < end; begin++, out += row_floats)
        resample_row_of(r, t, begin - n * r->to[0], image, sums, out);
}

/* The same by any map; `across`: scratch memory for two rows of coordinates. */
static void resample_pixels(const resample_run *r, int64_t n, int64_t begin, int64_t end,
                            float *across)
{
    const resample_size *s = &r->size;
    const int64_t width = s->out_width, padded = cpu_scratch_floats(width);
    if (r->back) {
        if (begin == n * r->to[0])
            resample_sample_back(r->r, s, n);
        return;
    }
    if (s->channels > RESAMPLE_PIXEL || s->height * s->width * s->channels > INT32_MAX) {
        resample_rows(r->r, s, begin, end);
        return;
    }
    const resample_kernels *k = r->r->state;
    const float *map = resample_map_of(r->r, s, n);
    resample_line line = {.image = r->r->in[0] + n * s->height * s->width * s->channels,
                          .height = s->height,
                          .width = s->width,
                          .channels = s->channels,
                          .across = {across, across + padded},
                          .shift = {map[5], map[2]},
                          .how = &r->r->op->a.resample,
                          .count = width};
    for (int64_t i = 0; i < width; i++) {
        across[i] = map[3] * (float)i;
        across[padded + i] = map[0] * (float)i;
    }
    for (; begin < end; begin++) {
        const float row = (float)(begin - n * s->out_height);
        line.along[0] = map[4] * row;
        line.along[1] = map[1] * row;
        line.y = r->r->out[0] + begin * width * s->channels;
        k->pixels(&line);
    }
}

static void rows_task(void *context, int64_t task, int worker)
{
    const resample_run *r = context;
    float *memory = (float *)r->r->scratch + worker * worker_floats(r);
    float *columns = memory + r->table_floats[0], *sums = columns + r->table_floats[1];
    resample_table tables[2] = {table_at(r, 0, memory), table_at(r, 1, columns)};
    const float *map = NULL;
    bool columns_stay = false;
    int64_t begin, end;
    cpu_task_range(r->rows, r->rows_per_task, task, &begin, &end);
    for (int64_t until; begin < end; begin = until) {
        const int64_t n = begin / r->to[0];
        until = cpu_least(end, (n + 1) * r->to[0]);
        if (!resample_is_separable(resample_map_of(r->r, &r->size, n))) {
            map = NULL; /* the tables' memory is used */
            resample_pixels(r, n, begin, until, columns);
            continue;
        }
        if (map != resample_map_of(r->r, &r->size, n)) {
            map = resample_map_of(r->r, &r->size, n);
            for (int i = 0; i < 2; i++)
                resample_table_of(r->r, &r->size, map, i, &tables[i]);
            columns_stay = r->from[1] == r->to[1] && is_identity(&tables[1], r->to[1]);
        }
        resample_sides(r, n, begin, until, tables, columns_stay, sums);
    }
}

static cornu_status run_resample(const op_run *o)
{
    resample_run r = run_of(o->plan, o->op);
    r.r = o;
    threads_run(o->pool, cpu_divide_up(r.rows, r.rows_per_task), rows_task, &r);
    return CORNU_OK;
}

/* ---- DRAW -------------------------------------------------------------------------------- */

typedef struct draw_run {
    const op_run *r;
    int64_t rows, rows_per_task;
} draw_run;

static void draw_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const draw_run *d = context;
    int64_t begin, end;
    cpu_task_range(d->rows, d->rows_per_task, task, &begin, &end);
    for (int64_t i = begin; i < end; i++)
        draw_sample(d->r, i);
}

static cornu_status run_draw(const op_run *r)
{
    const tensor *y = OP_OUT(r->plan, r->op, 0);
    draw_run d = {.r = r, .rows = y->shape.dim[0]};
    d.rows_per_task = cpu_rows_per_task(y->count / d.rows);
    threads_run(r->pool, cpu_divide_up(d.rows, d.rows_per_task), draw_task, &d);
    return CORNU_OK;
}

const kernel cpu_draw = {.name = "philox", .run = run_draw};
const kernel cpu_resample_forward = {.name = "rows", .prepare = prepare, .run = run_resample};
const kernel cpu_resample_backward = {.name = "rows", .prepare = prepare, .run = run_resample};
