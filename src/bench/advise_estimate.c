/* Estimates of GPUs that are not in this machine, from published figures. */
#include "bench/advise.h"
#include "bench/published.h"
#include "step/plan.h"
#include <math.h>
#include <string.h>

/* The figure is of the same workload, measured by others with another program. */
static const double SAME_FACTOR = 1.5;
/* Another network of about the same size: cache sizes and kernels differ. Steps whose FLOPs differ
   by more than this factor allow no estimate. */
static const double OTHER_FACTOR = 3, LIKE = 10;

static cornu_status step_flops(const cornu_model *model, int64_t batch, double *flops)
{
    plan *p;
    const plan_options options = {.mode = PLAN_TRAIN, .batch = batch};
    TRY(plan_build(model, &options, &p));
    *flops = p->flops;
    plan_free(p);
    return CORNU_OK;
}

static bool is_of_gpu(const published_figure *f, const char *workload)
{
    return strcmp(f->workload, workload) == 0 && strcmp(f->device_kind, "gpu") == 0 &&
           f->epoch_seconds > 0;
}

static bool has_gpu(const char *workload)
{
    for (const published_figure *f = published_figures; f->workload; f++)
        if (is_of_gpu(f, workload))
            return true;
    return false;
}

/* FLOPs of an epoch and of a step of it. */
static cornu_status workload_flops(const bench_workload *w, double *epoch, double *step)
{
    cornu_model *model;
    TRY(cornu_model_open(w->name, &model));
    int64_t batch = model->batch > 0 ? model->batch : 32;
    cornu_status status = step_flops(model, batch, step);
    cornu_model_close(model);
    *epoch = *step * (double)w->epoch_samples / (double)batch;
    return status;
}

static void add_estimates(const char *workload, double epochs, double factor, advise_report *r)
{
    for (const published_figure *f = published_figures; f->workload; f++)
        if (is_of_gpu(f, workload) && r->estimate_count < ADVISE_ESTIMATES_MOST)
            r->estimates[r->estimate_count++] =
                (advise_estimate){.hardware = f->hardware,
                                  .workload = f->workload,
                                  .seconds = f->epoch_seconds * epochs,
                                  .factor = factor};
}

/* The workload with the nearest step; *epochs: the number of its epochs with the same work. */
static cornu_status nearest(const cornu_model *model, const advise_report *r,
                            const bench_workload **out, double *epochs)
{
    double own, best = log(LIKE);
    TRY(step_flops(model, r->batch, &own));
    *out = NULL;
    for (const bench_workload *w = bench_workloads; w->name; w++) {
        double epoch, step;
        if (!has_gpu(w->name))
            continue;
        TRY(workload_flops(w, &epoch, &step));
        double apart = fabs(log(own / step));
        if (!(apart < best))
            continue;
        best = apart;
        *out = w;
        *epochs = own * (double)(r->epochs * r->steps) / epoch;
    }
    return CORNU_OK;
}

cornu_status advise_estimate_gpus(const char *what, const cornu_model *model, advise_report *report)
{
    const bench_workload *w;
    double epochs, samples = (double)(report->epochs * report->steps * report->batch);
    report->estimate_count = 0;
    for (w = bench_workloads; w->name; w++)
        if (strcmp(w->name, what) == 0 && has_gpu(w->name)) {
            add_estimates(w->name, samples / (double)w->epoch_samples, SAME_FACTOR, report);
            return CORNU_OK;
        }
    TRY(nearest(model, report, &w, &epochs));
    if (w)
        add_estimates(w->name, epochs, OTHER_FACTOR, report);
    return CORNU_OK;
}
