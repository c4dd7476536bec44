#include "device/broadcast.h"
#include <string.h>

broadcast broadcast_of(const shape *a, const shape *b, const shape *y)
{
    broadcast s = {{0}, {{0}}};
    const shape *shapes[BROADCAST_TENSORS] = {a, b, y};
    int64_t stride[BROADCAST_TENSORS] = {1, 1, 1};
    int at = SHAPE_MAX; /* the last dimension that was made */
    for (int i = 0; i < SHAPE_MAX; i++)
        s.size[i] = 1;
    for (int d = y->rank - 1; d >= 0; d--) {
        if (y->dim[d] == 1)
            continue;
        bool same = at < SHAPE_MAX;
        for (int k = 0; k < BROADCAST_TENSORS; k++)
            same = same && (shapes[k]->dim[d] == 1) == (s.step[k][at] == 0);
        at -= !same;
        s.size[at] *= y->dim[d];
        for (int k = 0; k < BROADCAST_TENSORS; k++) {
            if (!same && shapes[k]->dim[d] != 1)
                s.step[k][at] = stride[k];
            stride[k] *= shapes[k]->dim[d];
        }
    }
    return s;
}

broadcast broadcast_transposed(const shape *x, const int *order, const shape *y)
{
    broadcast s = {{0}, {{0}}};
    int64_t stride[SHAPE_MAX], count = 1;
    int at = SHAPE_MAX; /* the last dimension that was made */
    for (int d = x->rank - 1; d >= 0; d--) {
        stride[d] = count;
        count *= x->dim[d];
    }
    for (int i = 0; i < SHAPE_MAX; i++)
        s.size[i] = 1;
    count = 1;
    for (int d = y->rank - 1; d >= 0; d--) {
        if (y->dim[d] == 1)
            continue;
        if (at == SHAPE_MAX || stride[order[d]] != s.step[BROADCAST_A][at] * s.size[at]) {
            at--;
            s.step[BROADCAST_A][at] = s.step[BROADCAST_B][at] = stride[order[d]];
            s.step[BROADCAST_Y][at] = count;
        }
        s.size[at] *= y->dim[d];
        count *= y->dim[d];
    }
    return s;
}

/* The dimensions whose steps of this tensor are 0, or are not. */
static broadcast reduced(const broadcast *s, int tensor, bool zero)
{
    broadcast fewer = *s;
    for (int d = 0; d < SHAPE_MAX; d++)
        if ((s->step[tensor][d] == 0) != zero)
            fewer.size[d] = 1;
    return fewer;
}

broadcast broadcast_kept(const broadcast *s, int tensor)
{
    return reduced(s, tensor, false);
}

broadcast broadcast_repeated(const broadcast *s, int tensor)
{
    return reduced(s, tensor, true);
}

int64_t broadcast_count(const broadcast *s)
{
    int64_t count = 1;
    for (int d = 0; d < SHAPE_MAX; d++)
        count *= s->size[d];
    return count;
}

broadcast_walk broadcast_at(const broadcast *s, int dims, int64_t i)
{
    broadcast_walk w;
    memset(&w, 0, sizeof w);
    for (int d = dims - 1; d >= 0; d--) {
        w.index[d] = i % s->size[d];
        i /= s->size[d];
        for (int k = 0; k < BROADCAST_TENSORS; k++)
            w.at[k] += w.index[d] * s->step[k][d];
    }
    return w;
}

void broadcast_next(const broadcast *s, int dims, broadcast_walk *w)
{
    for (int d = dims - 1; d >= 0; d--) {
        const bool ends = ++w->index[d] == s->size[d];
        for (int k = 0; k < BROADCAST_TENSORS; k++)
            w->at[k] += ends ? (1 - s->size[d]) * s->step[k][d] : s->step[k][d];
        if (!ends)
            return;
        w->index[d] = 0;
    }
}
