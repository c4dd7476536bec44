/* Pooling of PACKs of channels, float or float4; pool.cl includes this for each. NAME(name): the
   name of a function for this PACK; PASSED: activate_back of a PACK. Comparisons use isgreater,
   isequal and select, which mean the same for both. */
#define IMAGES(x) ((global const PACK *)(x))

/* ---- forward ------------------------------------------------------------------------------- */

KERNEL(NAME(max_pool_forward), WORK_ITEMS)(SHAPE, IN(float, x), OUT(float, y))
{
    AT(x);
    AT(y);
    const pool_shape s = SHAPE_OF;
    for (EACH(i, batch * out_h * out_w * packs)) {
        pool_position p = pool_position_of(i, out_h, out_w, packs);
        pool_taps rows = taps_of(&s, 0, p.at[0], in_h), columns = taps_of(&s, 1, p.at[1], in_w);
        PACK most = (PACK)(-INFINITY);
        for (int r = 0; r < rows.count; r++)
            for (int c = 0; c < columns.count; c++) {
                PACK v = IMAGES(x)[in_index(&s, &p, rows.first + r * dilation_h,
                                            columns.first + c * dilation_w)];
                most = select(most, v, isgreater(v, most) | isnan(v)); /* a NaN stays */
            }
        ((global PACK *)y)[i] = most;
    }
}

KERNEL(NAME(average_pool_forward), WORK_ITEMS)(SHAPE, IN(float, x), OUT(float, y))
{
    AT(x);
    AT(y);
    const pool_shape s = SHAPE_OF;
    for (EACH(i, batch * out_h * out_w * packs)) {
        pool_position p = pool_position_of(i, out_h, out_w, packs);
        pool_taps rows = taps_of(&s, 0, p.at[0], in_h), columns = taps_of(&s, 1, p.at[1], in_w);
        PACK sum = (PACK)(0), lost = (PACK)(0); /* sum2_plus, for a PACK */
        for (int r = 0; r < rows.count; r++)
            for (int c = 0; c < columns.count; c++) {
                PACK v = IMAGES(x)[in_index(&s, &p, rows.first + r * dilation_h,
                                            columns.first + c * dilation_w)];
                PACK next = sum + v, moved = next - sum;
                lost += (sum - (next - moved)) + (v - moved);
                sum = next;
            }
        sum = select(sum, sum + lost, isfinite(sum));
        ((global PACK *)y)[i] = sum / (float)(rows.count * columns.count);
    }
}

/* ---- backward: windows side by side -------------------------------------------------------- */

/* Give the rest of a window's gradient to x, if x equals the window's maximum. */
static inline PACK NAME(give)(PACK *left, PACK x, PACK largest)
{
    PACK gets = select((PACK)(0), *left, isequal(x, largest));
    *left = select(*left, (PACK)(0), isequal(x, largest));
    return gets;
}

/* Windows that do not overlap (size <= stride, no dilation). One work-item a tile of stride x
   stride positions: its window gives the gradient to one of them, the others, and positions that no
   window reaches, get 0. Tiles go on past the last window until they reach the image's end.

   dx goes back through the activation whose output was pooled; ACTIVATION_LINEAR: none. */
KERNEL(NAME(max_pool_backward_apart), WORK_ITEMS)
(SHAPE, IN(float, x), IN(float, y), IN(float, dy), OUT(float, dx), const int activation,
 const float alpha)
{
    AT(x);
    AT(y);
    AT(dy);
    AT(dx);
    const pool_shape s = SHAPE_OF;
    int high = divide_up(in_h + before_h, stride_h), wide = divide_up(in_w + before_w, stride_w);
    for (EACH(i, batch * high * wide * packs)) {
        pool_position p = pool_position_of(i, high, wide, packs);
        bool window = p.at[0] < out_h && p.at[1] < out_w;
        long from = window ? out_index(&s, &p, p.at[0], p.at[1]) : 0;
        PACK left = IMAGES(dy)[from], largest = IMAGES(y)[from];
        int top = p.at[0] * stride_h - before_h, side = p.at[1] * stride_w - before_w;
        int bottom = min(top + stride_h, in_h), end = min(side + stride_w, in_w);
        for (int row = max(top, 0); row < bottom; row++)
            for (int column = max(side, 0); column < end; column++) {
                long at = in_index(&s, &p, row, column);
                PACK v = IMAGES(x)[at], gets = (PACK)(0);
                if (window && row - top < size_h && column - side < size_w)
                    gets = NAME(give)(&left, v, largest);
                ((global PACK *)dx)[at] = PASSED(activation, alpha, v, gets);
            }
    }
}

/* ---- backward: any windows ----------------------------------------------------------------- */

/* The gradient that input position p gets from the window at output position (out_row,
   out_column): walk over the window as the reference does, up to that position. */
static inline PACK NAME(gradient_of_window)(const pool_shape *s, const pool_position *p,
                                            int out_row, int out_column, global const float *x,
                                            global const float *y, global const float *dy)
{
    pool_taps rows = taps_of(s, 0, out_row, s->in_h), columns = taps_of(s, 1, out_column, s->in_w);
    long at = out_index(s, p, out_row, out_column);
    PACK left = IMAGES(dy)[at], largest = IMAGES(y)[at], gets = (PACK)(0);
    for (int r = rows.first; r <= p->at[0]; r += s->dilation[0]) {
        int end = columns.first + columns.count * s->dilation[1];
        if (r == p->at[0])
            end = p->at[1] + 1;
        for (int c = columns.first; c < end; c += s->dilation[1])
            gets = NAME(give)(&left, IMAGES(x)[in_index(s, p, r, c)], largest);
    }
    return gets;
}

KERNEL(NAME(max_pool_backward), WORK_ITEMS)
(SHAPE, IN(float, x), IN(float, y), IN(float, dy), OUT(float, dx), const int activation,
 const float alpha)
{
    AT(x);
    AT(y);
    AT(dy);
    AT(dx);
    const pool_shape s = SHAPE_OF;
    for (EACH(i, batch * in_h * in_w * packs)) {
        pool_position p = pool_position_of(i, in_h, in_w, packs);
        int top, bottom, side, end;
        reaching(&s, 0, p.at[0], out_h, &top, &bottom);
        reaching(&s, 1, p.at[1], out_w, &side, &end);
        PACK sum = (PACK)(0);
        for (int row = top; row <= bottom; row++)
            for (int column = side; column <= end; column++)
                if (has_tap(&s, 0, row, p.at[0]) && has_tap(&s, 1, column, p.at[1]))
                    sum += NAME(gradient_of_window)(&s, &p, row, column, x, y, dy);
        ((global PACK *)dx)[i] = PASSED(activation, alpha, IMAGES(x)[i], sum);
    }
}

KERNEL(NAME(average_pool_backward), WORK_ITEMS)(SHAPE, IN(float, dy), OUT(float, dx))
{
    AT(dy);
    AT(dx);
    const pool_shape s = SHAPE_OF;
    for (EACH(i, batch * in_h * in_w * packs)) {
        pool_position p = pool_position_of(i, in_h, in_w, packs);
        int top, bottom, side, end;
        reaching(&s, 0, p.at[0], out_h, &top, &bottom);
        reaching(&s, 1, p.at[1], out_w, &side, &end);
        PACK sum = (PACK)(0);
        for (int row = top; row <= bottom; row++)
            for (int column = side; column <= end; column++) {
                if (!has_tap(&s, 0, row, p.at[0]) || !has_tap(&s, 1, column, p.at[1]))
                    continue;
                float taps = (float)taps_of(&s, 0, row, in_h).count;
                taps *= (float)taps_of(&s, 1, column, in_w).count;
                sum += IMAGES(dy)[out_index(&s, &p, row, column)] / taps;
            }
        ((global PACK *)dx)[i] = sum;
    }
}

#undef IMAGES
