/* One kernel of products, which gemm.h describes. The including file defines

     SHAPE, TILE_M, TILE_N
     ITEM_ROWS               rows of a work-item; undefined again here
     PRODUCT                 the kernel's name
     PRODUCT_PARAMETERS      its additional parameters
     PRODUCT_BEGIN           statements before the loop; COPY_A and COPY_B may read what they write
                             to local memory
     PRODUCT_NEXT            optional: statements before the tile is multiplied, for the next one
     PRODUCT_END             optional: statements after the loop
     PRODUCT_K_GROUPS        1, or 2 for few tiles and a large k: twice the work-items, whose second
                             half computes the other GEMM_K of every two; the first half adds the
                             results. Work-item `item` of `k_group` copies the operands of its
                             k_group
     A_BY_DEPTH              0: A is stored in local memory as [row][k], copied along k;
                             1: as [k][row], copied along rows
     COPY_A(to, i, q, whole) copies PIECE elements of A to `to`: of row i of the tile, from q of the
                             GEMM_K on; A_BY_DEPTH: of q, from row i on
     B_BY_COLUMN             0: COPY_B(to, q, j, whole) copies columns j to j + PIECE - 1 of q;
                             1: COPY_B(j, q, whole) is a float4, of q to q + 3 of column j
     PRODUCT_ACTIVATES       0: never an activation, nor a bias
     A_WHOLE, B_WHOLE        true if the tile from `from` on may be copied with `whole`, a constant.
                             Then there should be no branch, so that loads overlap. Each may be 2,
                             which is passed to COPY_A or COPY_B.

   COPY_A and COPY_B write 0 if `row` + i >= m, `column` + j >= n or `from` + q >= end. */

#define ITEMS_N (TILE_N / ITEM_N)
#define ITEMS (ITEMS_N * (TILE_M / ITEM_ROWS)) /* of a k_group */
#if A_BY_DEPTH
#define A_STRIDE (TILE_M + PIECE)
#define A_FLOATS (GEMM_K * A_STRIDE)
#define A_PIECES (TILE_M / PIECE) /* of one q */
#define A_COUNT (GEMM_K * A_PIECES)
#define A_PIECE_ROW A_ALONG
#define A_PIECE_Q (int)(i / A_PIECES)
#define A_ROW(i) ((int)get_local_id(1) * ITEM_ROWS + (i))
#define A_AT(i, q) ((q)*A_STRIDE + A_ROW(i))
#else
#define A_STRIDE (GEMM_K + PIECE)
#define A_FLOATS (TILE_M * A_STRIDE)
#define A_PIECES (GEMM_K / PIECE) /* of one row */
#define A_COUNT (TILE_M * A_PIECES)
#define A_PIECE_ROW (int)(i / A_PIECES)
#define A_PIECE_Q A_ALONG
/* neighbouring work-items have neighbouring rows, which are in different banks */
#define A_ROW(i) ((int)get_local_id(1) + (i) * (TILE_M / ITEM_ROWS))
#define A_AT(i, q) (A_ROW(i) * A_STRIDE + (q))
#endif
#if ITEMS % A_PIECES == \
    0 /* the same for all pieces of a work-item, which not every compiler sees */
#define A_ALONG ((int)(item % A_PIECES) * PIECE)
#else
#define A_ALONG ((int)(i % A_PIECES) * PIECE)
#endif
#define B_STRIDE (TILE_N + PIECE)
#define B_FLOATS (GEMM_K * B_STRIDE)
#define B_PIECES (TILE_N / PIECE) /* of one q */
#define B_BLOCKS (GEMM_K / 4)

/* loop over the indices i of this work-item's pieces; unsigned, so that a compiler sees that i %
   A_PIECES is constant */
#if ITEM_N > 8
#define ALL_AT_ONCE
#else
#define ALL_AT_ONCE _Pragma("unroll")
#endif
#define EACH_PIECE(count)                                                             \
    ALL_AT_ONCE                                                                       \
    for (uint first = 0, i = item; first < (uint)(count); first += ITEMS, i += ITEMS) \
        if ((count) % ITEMS == 0 || i < (uint)(count))
#if B_BY_COLUMN
#define COPY_TILE_OF_B(whole)                                                    \
    EACH_PIECE(B_BLOCKS *(TILE_N / 4))                                           \
    {                                                                            \
        const int q = (int)(i % B_BLOCKS) * 4, j = (int)(i / B_BLOCKS) * 4;      \
        local float *to = b_tile + q * B_STRIDE + j;                             \
        float4 b0 = COPY_B(j, q, whole), b1 = COPY_B(j + 1, q, whole);           \
        float4 b2 = COPY_B(j + 2, q, whole), b3 = COPY_B(j + 3, q, whole);       \
        *(local float4 *)to = (float4)(b0.x, b1.x, b2.x, b3.x);                  \
        *(local float4 *)(to + B_STRIDE) = (float4)(b0.y, b1.y, b2.y, b3.y);     \
        *(local float4 *)(to + 2 * B_STRIDE) = (float4)(b0.z, b1.z, b2.z, b3.z); \
        *(local float4 *)(to + 3 * B_STRIDE) = (float4)(b0.w, b1.w, b2.w, b3.w); \
    }
#else
#define COPY_TILE_OF_B(whole)                                                            \
    EACH_PIECE(GEMM_K *B_PIECES)                                                         \
    COPY_B(b_tile + i / B_PIECES * B_STRIDE + i % B_PIECES * PIECE, (int)(i / B_PIECES), \
           (int)(i % B_PIECES * PIECE), whole);
#endif
#define COPY_TILE_OF_A(whole) \
    EACH_PIECE(A_COUNT)       \
    COPY_A(a_tile + i / A_PIECES * A_STRIDE + i % A_PIECES * PIECE, A_PIECE_ROW, A_PIECE_Q, whole);

#define SUM(i) columns sum##i = 0;
#if GEMM_K >= 32 /* sums of sums: rounding errors stay those of short ones */
#define RUN(i) columns run##i = 0;
#define ADD_TO(i) run##i
#define RUN_END(i) sum##i += run##i;
#else /* a GPU has no registers for both; there only SCE_MOST limits a sum's length */
#define RUN(i)
#define ADD_TO(i) sum##i
#define RUN_END(i)
#endif
#if A_BY_DEPTH || PIECE != 4
#define READ_A(i)
#define A_OF(i, j) a_tile[A_AT(i, q + j)]
#else /* four of a row at once: an eighth of the loads */
#define READ_A(i) const float4 a##i = *(local const float4 *)(a_tile + A_AT(i, q));
#define A_OF(i, j) a##i.s##j
#endif
/* Column number j of a work-item's, within the tile; all of row q of B's tile. */
#if ITEM_N == 8
#define COLUMN(j) (my_column + (j) % 4 + (j) / 4 * (TILE_N / 2))
#define B_COLUMNS(q)                                                      \
    (columns)(*(local const float4 *)(b_tile + (q)*B_STRIDE + my_column), \
              *(local const float4 *)(b_tile + (q)*B_STRIDE + my_column + TILE_N / 2))
#else
#define COLUMN(j) (my_column + (j))
#define B_COLUMNS(q) (*(local const columns *)(b_tile + (q)*B_STRIDE + my_column))
#endif
#define MULTIPLY_0(i) ADD_TO(i) += A_OF(i, 0) * b_row;
#define MULTIPLY_1(i) ADD_TO(i) += A_OF(i, 1) * b_row;
#define MULTIPLY_2(i) ADD_TO(i) += A_OF(i, 2) * b_row;
#define MULTIPLY_3(i) ADD_TO(i) += A_OF(i, 3) * b_row;
#define STEP(j)                                 \
    {                                           \
        const columns b_row = B_COLUMNS(q + j); \
        ROWS(MULTIPLY_##j)                      \
    }
#if ITEM_N == 8
#define PUT_COLUMNS(to, value)                                                                \
    put_piece((to) + my_column, (value).lo, n - column - my_column, c_aligned);               \
    put_piece((to) + my_column + TILE_N / 2, (value).hi, n - column - my_column - TILE_N / 2, \
              c_aligned);
#else
#define PUT_COLUMNS(to, value) \
    put_piece((to) + my_column, value, n - column - my_column, c_aligned);
#endif
#define PUT(i)                                                    \
    if (row + A_ROW(i) < m) {                                     \
        global float *to = c + (long)(row + A_ROW(i)) * c_stride; \
        const columns all = FINISHED(sum##i);                     \
        PUT_COLUMNS(to, all)                                      \
    }
#if PRODUCT_ACTIVATES
#define FINISHED(sum) bend(sum + b_bias, slope)
#else
#define FINISHED(sum) sum
#endif

/* Both halves' sums become the first's; of one row at a time, as local memory is small. */
#define ADD_K_GROUPS(i)                                       \
    FENCE;                                                    \
    if (k_group)                                              \
        *(local columns *)(a_tiles + item * ITEM_N) = sum##i; \
    FENCE;                                                    \
    if (!k_group)                                             \
        sum##i += *(local columns *)(a_tiles + item * ITEM_N);

/* Work-groups: dimension 0 tiles, along n first: `whole` ones, which write C, then `sliced` ones
   for each slice of k, which write partial sums; 1 batch of products. */
#define PRODUCT_KERNEL(name) KERNEL3(name, ITEMS_N, TILE_M / ITEM_ROWS, PRODUCT_K_GROUPS)
PRODUCT_KERNEL(SHAPE(PRODUCT))
(IN(float, a), IN(float, b), IN(float, bias), OUT(float, c), OUT(float, partials), const int m,
 const int n, const int k, const int tiles_n, const int whole, const int sliced,
 const int slice_depth, const int c_stride, const long a_step, const long b_step, const long c_step,
 const long slice_step, const int act, const float alpha PRODUCT_PARAMETERS)
{
#if PRODUCT_K_GROUPS > 1
    local float a_tiles[PRODUCT_K_GROUPS * A_FLOATS] TILE_ALIGNED;
    local float b_tiles[PRODUCT_K_GROUPS * B_FLOATS] TILE_ALIGNED;
    const int k_group = (int)get_local_id(2);
    local float *const a_tile = a_tiles + k_group * A_FLOATS;
    local float *const b_tile = b_tiles + k_group * B_FLOATS;
#else
    local float a_tile[A_FLOATS] TILE_ALIGNED;
    local float b_tile[B_FLOATS] TILE_ALIGNED;
    const int k_group = 0;
#endif
    const uint item = (uint)get_local_id(1) * ITEMS_N + (uint)get_local_id(0);
    const int my_column = (int)get_local_id(0) * PIECE;
    const bool is_sliced = (int)get_group_id(0) >= whole;
    const int slice = is_sliced ? ((int)get_group_id(0) - whole) / sliced : 0;
    const int tile = (int)get_group_id(0) - slice * sliced, line = tile / tiles_n;
    const int row = line * TILE_M, column = (tile - line * tiles_n) * TILE_N;
    const int begin = slice * slice_depth, end = is_sliced ? min(begin + slice_depth, k) : k;
    AT(a);
    AT(b);
    AT(c);
    AT(partials);
    a += (long)get_group_id(1) * a_step;
    b += (long)get_group_id(1) * b_step;
    ROWS(SUM)
    PRODUCT_BEGIN
    for (int both = begin; both < end; both += PRODUCT_K_GROUPS * GEMM_K) {
        const int from = both + k_group * GEMM_K;
        FENCE; /* the tiles may still be read */
        if (A_WHOLE == 2) {
            COPY_TILE_OF_A(2)
        } else if (A_WHOLE) {
            COPY_TILE_OF_A(1)
        } else {
            COPY_TILE_OF_A(0)
        }
        if (B_WHOLE == 2) {
            COPY_TILE_OF_B(2)
        } else if (B_WHOLE) {
            COPY_TILE_OF_B(1)
        } else {
            COPY_TILE_OF_B(0)
        }
        FENCE;
#ifdef PRODUCT_NEXT
        PRODUCT_NEXT
#endif
        const int depth = min(GEMM_K, end - from);
        ROWS(RUN)
        for (int q = 0; q < depth; q += 4) { /* elements after `end` are 0 */
            ROWS(READ_A)
            STEP(0) STEP(1) STEP(2) STEP(3)
        }
        ROWS(RUN_END)
    }

#if PRODUCT_K_GROUPS > 1
    ROWS(ADD_K_GROUPS)
#endif
    if (is_sliced)
        c = partials + (long)slice * slice_step - (long)(whole / tiles_n * TILE_M) * c_stride;
    c += (long)get_group_id(1) * c_step + column;
#ifdef PRODUCT_END
    PRODUCT_END
#endif
#if PRODUCT_K_GROUPS > 1
    if (k_group)
        return;
#endif
    const bool c_aligned = c_stride % PIECE == 0 && c_step % PIECE == 0 && slice_step % PIECE == 0;
#if PRODUCT_ACTIVATES
    const int kind = is_sliced ? ACTIVATION_LINEAR : act;
    const float slope = slope_of(kind, alpha);
    columns b_bias = 0;
    if (bias && !is_sliced) {
        float all[ITEM_N];
        AT(bias);
        EACH_COLUMN
        for (int j = 0; j < ITEM_N; j++)
            all[j] = column + COLUMN(j) < n ? bias[get_group_id(1) * n + column + COLUMN(j)] : 0.0f;
        b_bias = JOIN(vload, ITEM_N)(0, all);
    }
#endif
    ROWS(PUT)
#if PRODUCT_ACTIVATES
    if (bends(kind))
        return;
    for (int i = 0; i < ITEM_ROWS; i++) /* seldom, and long code: from memory, once */
        for (int j = 0; j < ITEM_N; j++)
            if (row + A_ROW(i) < m && column + COLUMN(j) < n) {
                global float *y = c + (long)(row + A_ROW(i)) * c_stride + COLUMN(j);
                *y = activate(kind, alpha, *y);
            }
#endif
}

#undef ITEMS_N
#undef ITEMS
#undef A_STRIDE
#undef A_FLOATS
#undef A_PIECES
#undef A_COUNT
#undef A_PIECE_ROW
#undef A_PIECE_Q
#undef A_ALONG
#undef A_ROW
#undef A_AT
#undef B_STRIDE
#undef B_FLOATS
#undef B_PIECES
#undef B_BLOCKS
#undef ALL_AT_ONCE
#undef EACH_PIECE
#undef COPY_TILE_OF_B
#undef COPY_TILE_OF_A
#undef SUM
#undef RUN
#undef ADD_TO
#undef RUN_END
#undef READ_A
#undef A_OF
#undef COLUMN
#undef B_COLUMNS
#undef MULTIPLY_0
#undef MULTIPLY_1
#undef MULTIPLY_2
#undef MULTIPLY_3
#undef STEP
#undef PUT_COLUMNS
#undef PUT
#undef FINISHED
#undef ADD_K_GROUPS
#undef PRODUCT_KERNEL
#undef SHAPE
#undef TILE_M
#undef TILE_N
#undef ITEM_ROWS
