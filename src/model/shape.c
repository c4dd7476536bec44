#include "model/shape.h"
#include <inttypes.h>
#include <stdio.h>

enum { SHOWN_MAX = 128 };

bool shape_broadcast(const shape *x, shape *out)
{
    const shape *longer = x->rank > out->rank ? x : out, *shorter = longer == x ? out : x;
    const int more = longer->rank - shorter->rank;
    shape s = *longer;
    for (int i = 0; i < shorter->rank; i++) {
        const int64_t a = longer->dim[more + i], b = shorter->dim[i];
        if (a != b && a != 1 && b != 1)
            return false;
        s.dim[more + i] = a == 1 ? b : a;
    }
    *out = s;
    return true;
}

bool shape_picture(const shape *s, shape *picture)
{
    *picture = *s;
    if (picture->rank == 2)
        picture->dim[picture->rank++] = 1;
    return picture->rank == 3 && (picture->dim[2] == 1 || picture->dim[2] == 3);
}

static shape without_ones(const shape *s)
{
    shape plain = {.rank = 0};
    for (int i = 0; i < s->rank; i++)
        if (s->dim[i] != 1)
            plain.dim[plain.rank++] = s->dim[i];
    return plain;
}

bool shape_equal_but_ones(const shape *a, const shape *b)
{
    shape left = without_ones(a), right = without_ones(b);
    return shape_equal(&left, &right);
}

char *shape_show(const shape *s, bool batch, char *text)
{
    size_t used = (size_t)snprintf(text, SHOWN_MAX, "(%s", batch ? "None" : "");
    for (int i = 0; i < s->rank && used < SHOWN_MAX; i++) {
        const char *before = batch || i > 0 ? ", " : "";
        used += (size_t)(s->dim[i] == 0 ? snprintf(text + used, SHOWN_MAX - used, "%sNone", before)
                                        : snprintf(text + used, SHOWN_MAX - used, "%s%" PRId64,
                                                   before, s->dim[i]));
    }
    /* Python writes a tuple of one with a comma; Keras's tables do not. */
    if (used < SHOWN_MAX)
        snprintf(text + used, SHOWN_MAX - used, ")");
    return text;
}

int64_t window_output(const window2d *w, int dimension, int64_t in)
{
    int64_t extent = w->dilation[dimension] * (w->kernel[dimension] - 1) + 1;
    int64_t room = in + w->before[dimension] + w->after[dimension] - extent;
    return room < 0 ? 0 : room / w->stride[dimension] + 1;
}

void window_pad(window2d *w, bool same, int64_t height, int64_t width)
{
    const int64_t in[2] = {height, width};
    for (int i = 0; i < 2; i++) {
        int64_t extent = w->dilation[i] * (w->kernel[i] - 1) + 1;
        int64_t out = (in[i] + w->stride[i] - 1) / w->stride[i];
        int64_t missing = (out - 1) * w->stride[i] + extent - in[i];
        if (!same || missing < 0)
            missing = 0;
        w->before[i] = missing / 2;
        w->after[i] = missing - missing / 2;
    }
}
