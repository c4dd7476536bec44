#include "device/cuda/plugin/kernels/gather.h"
#include "device/cuda/plugin/ops/ops.h"

enum { GRID_Y_MOST = 65535 };

static gather_params params_of(const gpu_op *r)
{
    const gpu_gather_size s = gpu_gather_size_of(r);
    return (gather_params){.clock = cuda_clock_of(r),
                           .x = (float *)r->out[0],
                           .t = (float *)r->out[1],
                           .weight = (float *)r->out[2],
                           .batch = r->plan->batch,
                           .count = s.count,
                           .target_count = s.target_count,
                           .columns = s.columns};
}

/* `pieces` of each sample, and its target. */
static cuda_grid grid_of(const gather_params *p, int64_t pieces)
{
    cuda_grid grid = cuda_line(pieces + (p->t ? 1 : 0), GATHER_THREADS);
    grid.y = (unsigned)gpu_blocks(p->batch, 1, GRID_Y_MOST);
    return grid;
}

/* True if the result of a pixel depends on other pixels. */
static bool needs_whole(const augmentation *a, const standardization *st)
{
    return a->channel_shift_range != 0 || a->brightens || st->samplewise_center;
}

static cornu_status enqueue_augmented(const gpu_op *r)
{
    const shape *s = &GPU_OUT(r, 0)->shape;
    const augmentation *a = &r->op->a.gather.augment;
    gather_augmented_params p = {.gather = params_of(r),
                                 .augment = *a,
                                 .standardize = r->op->a.gather.standardize,
                                 .augments = augmentation_any(a)};
    if (needs_whole(a, &p.standardize))
        return cuda_launch(r->g, CUDA_gather_whole, grid_of(&p.gather, 1), &p);
    /* The samples' shape is not known yet; the kernel uses a grid-stride loop. */
    int64_t pixels = s->rank == 4 ? s->dim[1] * s->dim[2] : p.gather.count;
    cuda_grid grid = grid_of(&p.gather, gpu_blocks(pixels, GATHER_PIXELS, 0));
    return cuda_launch(r->g, CUDA_gather_augmented, grid, &p);
}

static cornu_status enqueue(const gpu_op *r)
{
    if (augmentation_any(&r->op->a.gather.augment) ||
        standardization_any(&r->op->a.gather.standardize))
        return enqueue_augmented(r);
    gather_params p = params_of(r);
    return cuda_launch(r->g, CUDA_gather, grid_of(&p, gpu_blocks(p.count, GATHER_PIECE, 0)), &p);
}

static const gpu_kernel gather = {.name = "gather", .enqueue = enqueue};
const gpu_kernel *const cuda_gather_samples[] = {&gather, NULL};
