/* Ranks without MPI: threads of the test's process, whose messages are copied from one to another.
   Put assertions after rank_threads_run: cmocka's work only in the main thread. */
#ifndef SUPPORT_RANK_THREADS_H
#define SUPPORT_RANK_THREADS_H

#include "parallel/ranks.h"

enum { RANK_THREADS_MOST = 8 };

typedef struct rank_result {
    cornu_status status;
    char message[1024];
    double seconds; /* of `work` */
} rank_result;

/* The work of a rank; the message is kept. */
typedef cornu_status rank_work(cornu_ranks *ranks, void *context);
/* Join `count` ranks, let each do `work`, and close them. */
void rank_threads_run(int count, rank_work *work, void *context, rank_result *results);
/* Fail the running test unless all of them ended with `expected`, or one of them. */
void rank_threads_expect(const rank_result *results, int count, cornu_status expected);
void rank_threads_expect_one(const rank_result *results, int rank, int count,
                             cornu_status expected);
/* From here on, until the run's end, no message between these two arrives. */
void rank_threads_cut(int a, int b);

#endif
