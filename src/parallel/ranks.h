/* A communicator of several processes that train together: ranks 0 to count-1, where count is a
   power of two. Each rank has a communication thread (engine.c), which also notices when another
   rank is gone.

   All ranks fail together: the failing rank sends its message to the others, whose calls then
   return CORNU_RANK with it; if a rank does not answer, the ranks that notice return CORNU_NETWORK.
   All messages name rank and host. */
#ifndef PARALLEL_RANKS_H
#define PARALLEL_RANKS_H

#include "base/status.h"
#include "parallel/transport.h"

/* Join with the transport that `open` makes on the new thread. */
cornu_status ranks_join(const char *(*open)(ranks_transport **out), cornu_ranks **out);
/* "rank 1 (hostname)" */
const char *ranks_name(const cornu_ranks *r, int rank);
/* All-gather `size` bytes of each rank, in rank order: all[count * size]. */
cornu_status ranks_share(cornu_ranks *r, const void *own, void *all, size_t size);
/* Allocate, as memory_new_aligned does, a block for numbers that are all-reduced; a collective
   call with the same number of bytes. Ranks of one host read each other's blocks, if they may,
   instead of sending; the numbers must be at the same offset in every block. At most one block
   exists at a time; it is freed before the ranks are closed. `r` NULL: private memory. */
cornu_status ranks_block_new(cornu_ranks *r, size_t bytes, const char *what, float **out);
void ranks_block_free(cornu_ranks *r, float *block); /* or NULL */
/* All-reduce (sum) in a fixed tree whose leaves are the ranks: ((0 + 1) + (2 + 3)) ... Recursive
   halving, then doubling (Thakur, Rabenseifner, Gropp 2005), starts with neighbours, so that each
   addition is one of the tree's; the sum of two floats does not depend on their order.

   Numbers may still be computed while earlier ones are added: `begin` returns at once, `ready` says
   that the first `count` values are final (eventually all), and `end` waits. Unless all ranks join,
   nothing is added, *all is false, and the values stay as the caller left them. Until `end` the
   ranks make no other collective call. */
typedef struct ranks_numbers {
    int64_t count;
    int64_t rounded; /* this number of first values is sent as bfloat16: both operands of each
                        addition are rounded, and so is the final sum */
    int64_t divided; /* this number of first values is reduce-scattered: each rank gets the sums of
                        its own parts, without ranks_rest; the other parts are undefined. If
                        `rounded` is set as well, both are equal */
} ranks_numbers;
void ranks_sum_begin(cornu_ranks *r, float *values, const ranks_numbers *n, bool joins);
void ranks_sum_ready(cornu_ranks *r, int64_t count);
/* Numbers are sent in buckets of this size, RANKS_BUCKETS at a time, so that one bucket's
   latency overlaps another's transfer. */
enum { RANKS_BUCKETS = 4 };
int64_t ranks_bucket(int64_t count);
/* A rank's part of one bucket of divided numbers; the bucket ends at `bucket_end`. */
typedef struct ranks_part {
    int64_t begin, end, bucket_end;
} ranks_part;
/* Returns the number of parts of a rank among `count`, and writes them unless `parts` is NULL. */
int ranks_parts(int rank, int count, const ranks_numbers *n, ranks_part *parts);
/* The numbers that the caller must still add to this rank's parts, at the same indices: the last
   addition of the reduce-scatter of `values` is left to the kernel that reads the sums anyway.
   NULL: none. Valid until this rank next communicates about its parts. */
const float *ranks_rest(const cornu_ranks *r, const ranks_numbers *n, const float *values);
/* All-gather the parts of numbers that are divided like those of the sum `n`; `values` has
   n->divided numbers. They may still be computed, as with ranks_sum_begin. */
void ranks_gather_begin(cornu_ranks *r, float *values, const ranks_numbers *n);
/* `status` is that of the computation of the numbers. If it is a failure, all ranks fail, and no
   rank uses the values any more when this returns. */
cornu_status ranks_sum_end(cornu_ranks *r, cornu_status status, bool *all);
/* Fail unless all ranks have the same value under each name; values have at most RANKS_VALUE - 1
   bytes. Rank 0 returns CORNU_INVALID and names the first rank that differs; the others return
   CORNU_RANK. */
enum { RANKS_VALUE = 96 };
typedef struct ranks_claim {
    const char *name;
    char value[RANKS_VALUE];
} ranks_claim;
cornu_status ranks_agree(cornu_ranks *r, const ranks_claim *claims, int count);

#endif
