/* Several processes that train together: ranks 0 to count-1, a power of two. Each has a thread of
   its own for messages (engine.c), which also notices when another rank is gone.

   A failure is everybody's: the rank on which it happened tells the others, whose calls return
   CORNU_RANK from then on, with its message; a rank that does not answer is CORNU_NETWORK on the
   ranks that notice. All messages name rank and host. */
#ifndef PARALLEL_RANKS_H
#define PARALLEL_RANKS_H

#include "base/status.h"
#include "parallel/transport.h"

/* By messages of a transport that `open` makes, on the new thread. */
cornu_status ranks_join(const char *(*open)(ranks_transport **out), cornu_ranks **out);
/* "rank 1 (hostname)" */
const char *ranks_name(const cornu_ranks *r, int rank);
/* Everybody's `size` bytes, in the order of ranks, to everybody: all[count * size]. */
cornu_status ranks_share(cornu_ranks *r, const void *own, void *all, size_t size);
/* Memory, as that of memory_new_aligned, for numbers that are added; all ranks make it at once, of
   as many bytes. Those of a host read each other's, where they may, and send nothing then: sums of
   numbers that lie in the same place of everybody's block. One at a time; it is freed before the
   ranks are closed. `r` NULL: of this process alone. */
cornu_status ranks_block_new(cornu_ranks *r, size_t bytes, const char *what, float **out);
void ranks_block_free(cornu_ranks *r, float *block); /* or NULL */
/* Everybody's numbers added, in the fixed tree whose leaves are the ranks: ((0 + 1) + (2 + 3)) ...
   By recursive halving, then doubling (Thakur, Rabenseifner, Gropp 2005), beginning with
   neighbours, so that each addition is one of the tree's; the sum of two floats does not depend on
   their order.

   The numbers may still be made while those before them are added: `begin` returns at once, `ready`
   says that the first `count` values will not change any more (at last all of them; with 0, that
   what is shared will not), and `end` waits. Unless all ranks join, nothing is added, *all is
   false, and the values may be in any state that their maker left. In between the ranks do nothing
   else. */
typedef struct ranks_numbers {
    int64_t count;
    int64_t rounded; /* the first so many are sent as bfloat16, and each sum is that of two rounded
                        numbers, and rounded at last */
    int64_t divided; /* of the first so many each rank gets the sums of its parts alone, but for
                        ranks_rest, and what becomes of the others is not said. Where both are set
                        they are equal */
    int64_t shared;  /* so many before the first are not added: of them each rank has made one part,
                        all as long and in the order of ranks, and gets the others' */
} ranks_numbers;
void ranks_sum_begin(cornu_ranks *r, float *values, const ranks_numbers *n, bool joins);
void ranks_sum_ready(cornu_ranks *r, int64_t count);
/* They go in buckets of so many numbers, RANKS_BUCKETS of them at once: one's latency is another's
   time to be sent. */
enum { RANKS_BUCKETS = 4 };
int64_t ranks_bucket(int64_t count);
/* A rank's parts of divided numbers: one of each of their buckets, which ends at `bucket_end`. */
typedef struct ranks_part {
    int64_t begin, end, bucket_end;
} ranks_part;
/* How many there are, and, unless `parts` is NULL, which. */
int ranks_parts(const cornu_ranks *r, const ranks_numbers *n, ranks_part *parts);
/* What is to be added to this rank's parts yet, each number to that in the same place, where the
   last addition of a sum of such `values` is left to who uses them and needs to see them anyway;
   NULL: nothing. It stays until this rank has told the others something of its parts. */
const float *ranks_rest(const cornu_ranks *r, const ranks_numbers *n, const float *values);
/* Everybody's parts to everybody, of numbers that are divided as those of the sum `n` are; `values`
   are n->divided. They may still be made meanwhile, and the rest is as with a sum. */
void ranks_gather_begin(cornu_ranks *r, float *values, const ranks_numbers *n);
/* `status`: of who made the numbers. Where that is a failure, all ranks have failed, and the
   values are in nobody's use when this returns. */
cornu_status ranks_sum_end(cornu_ranks *r, cornu_status status, bool *all);
/* Fail unless everybody says the same under each name; `values` of at most RANKS_VALUE - 1 bytes.
   Rank 0 gets CORNU_INVALID, naming the first rank that differs, the others CORNU_RANK. */
enum { RANKS_VALUE = 96 };
typedef struct ranks_claim {
    const char *name;
    char value[RANKS_VALUE];
} ranks_claim;
cornu_status ranks_agree(cornu_ranks *r, const ranks_claim *claims, int count);

#endif
