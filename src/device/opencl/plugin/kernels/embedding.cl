#include "device/opencl/plugin/kernels/common.h"

/* Rows of a table by their numbers. A number that names none gives NaN. */
#include "device/opencl/plugin/kernels/shared.h"
#include "device/rules/embedding.h"

KERNEL(embedding_forward, WORK_ITEMS)
(IN(float, x), IN(float, w), OUT(float, y), const long count, const long rows, const long columns)
{
    AT(x);
    AT(w);
    AT(y);
    for (EACH(i, count * columns)) {
        long column;
        const long row = embedding_row(x[divide(i, columns, &column)], rows);
        y[i] = row < 0 ? NAN : w[row * columns + column];
    }
}

/* A work-item sums one column of every so many rows, each in the order of the batch. */
KERNEL(embedding_backward, WORK_ITEMS)
(IN(float, x), IN(float, dy), OUT(float, dw), const long count, const long rows,
 const long columns)
{
    AT(x);
    AT(dy);
    AT(dw);
    for (EACH(i, EMBEDDING_CLASSES * columns)) {
        long column;
        const long first = divide(i, columns, &column);
        for (long row = first; row < rows; row += EMBEDDING_CLASSES)
            dw[row * columns + column] = 0;
        for (long k = 0; k < count; k++) {
            const long row = embedding_row(x[k], rows);
            if (row >= 0 && row % EMBEDDING_CLASSES == first)
                dw[row * columns + column] += dy[k * columns + column];
        }
    }
}
