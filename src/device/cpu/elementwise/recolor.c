/* RECOLOR: pixels of all samples. */
#include "device/recolor.h"
#include "device/cpu/cpu.h"

typedef struct recolor_run {
    const op_run *r;
    int64_t pixels, pixels_per_task;
} recolor_run;

static void recolor_task(void *context, int64_t task, int worker)
{
    (void)worker;
    const recolor_run *c = context;
    int64_t begin, end;
    cpu_task_range(c->pixels, c->pixels_per_task, task, &begin, &end);
    recolor_pixels(c->r, begin, end);
}

static cornu_status run_recolor(const op_run *r)
{
    recolor_run c = {.r = r, .pixels = recolor_count(r)};
    c.pixels_per_task = cpu_rows_per_task(OP_IN(r->plan, r->op, 0)->shape.dim[3]);
    threads_run(r->pool, cpu_divide_up(c.pixels, c.pixels_per_task), recolor_task, &c);
    return CORNU_OK;
}

const kernel cpu_recolor = {.name = "pixels", .run = run_recolor};
