#include "device/opencl/plugin/kernels/common.h"

/* TALLY: what counts in tables of metrics, by the rules of device/rules/tallies.h. A group counts a
   slice of the rows or elements for WORK_ITEMS buckets, each work-item for one. */
#include "device/opencl/plugin/kernels/shared.h"
#include "model/kinds.h"

#define TALLY_FLOATS global const float *
typedef float tally_number;
typedef long tally_index;
#include "device/rules/tallies.h"

static inline long rule_of(int kind, const tally_view *t, long i, float *v)
{
    switch (kind) {
#define TALLY(id, rule, of, planes) \
    case TALLY_##id:                \
        return tally_##rule(t, i, v);
#include "model/tallies.def"
    }
    return -1;
}

/* output [rows][n], target [rows][targets], limits [limit_count], weight [samples] or NULL; `count`
   items, per_row of each row; table [planes][buckets] or, where there are several slices,
   partials[slices][planes][buckets]. */
KERNEL(tally, WORK_ITEMS)
(IN(float, output), IN(float, target), IN(float, weight), IN(float, limits), const long n,
 const long targets, const long sample_rows, const long limit_count, const long per_row,
 const long count, const long slice, const long slices, const long buckets, const long k,
 const long column, const int kind, const int planes, const int by_column, const int whole_weights,
 const float real0, const float real1, const float real2, OUT(sum2, table), OUT(sum2, partials))
{
    local int places[WORK_ITEMS];
    local float values[TALLY_PLANES_MOST][WORK_ITEMS];
    AT(output);
    AT(target);
    AT(weight);
    AT(limits);
    AT(table);
    AT(partials);
    const int item = get_local_id(0);
    const long number = (long)get_group_id(0) % slices;
    const long own = (long)get_group_id(0) / slices * WORK_ITEMS + item;
    const long end = min((number + 1) * slice, count);
    sum2 sums[TALLY_PLANES_MOST];
    tally_view t;
    t.limits = limits;
    t.n = n;
    t.limit_count = limit_count;
    t.k = k;
    t.column = column;
    t.by_column = by_column;
    t.reals[0] = real0;
    t.reals[1] = real1;
    t.reals[2] = real2;
    for (int p = 0; p < TALLY_PLANES_MOST; p++)
        sums[p] = sum2_of(0.0f);
    for (long first = number * slice; first < end; first += WORK_ITEMS) {
        FENCE; /* they may still be read from the round before */
        places[item] = -1;
        if (first + item < end) {
            float v[TALLY_PLANES_MOST];
            long i;
            const long row = divide(first + item, per_row, &i);
            const float of = weight ? weight[row / sample_rows] : 1.0f;
            t.output = output + row * n;
            t.target = target + row * targets;
            t.largest = kind == TALLY_LABELS ? tally_largest(&t) : 0.0f;
            places[item] = (int)rule_of(kind, &t, i, v);
            for (int p = 0; p < planes; p++)
                values[p][item] = v[p] * (whole_weights ? trunc(of) : of);
        }
        FENCE;
        for (int i = 0; i < WORK_ITEMS; i++)
            for (int p = 0; places[i] == own && p < planes; p++)
                sums[p] = sum2_add(sums[p], sum2_of(values[p][i]));
    }
    for (int p = 0; own < buckets && p < planes; p++) {
        const long at = p * buckets + own;
        if (partials)
            partials[number * planes * buckets + at] = sums[p];
        else
            table[at] = sum2_add(table[at], sums[p]);
    }
}

KERNEL(tally_reduce, WORK_ITEMS)
(IN(sum2, partials), OUT(sum2, table), const long slices, const long numbers)
{
    AT(partials);
    AT(table);
    for (EACH(i, numbers)) {
        sum2 sum = table[i];
        for (long number = 0; number < slices; number++)
            sum = sum2_add(sum, partials[number * numbers + i]);
        table[i] = sum;
    }
}
