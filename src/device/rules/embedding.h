/* The row of a table that a number names, as Keras takes it: the number without its fraction, and
   counted from the end where it is negative. -1: there is none, as of NaN. `rows` is at most 2^24,
   so that a float has every row's number. The including file defines RULE. */

RULE int64_t embedding_row(float x, int64_t rows)
{
    const float end = (float)rows;
    if (!(x > -end - 1 && x < end))
        return -1;
    int64_t row = (int64_t)x;
    return row < 0 ? row + rows : row;
}
