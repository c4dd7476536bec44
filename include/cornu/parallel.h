/* Several processes that train one model together. The conventions are those of cornu.h. */
#ifndef CORNU_PARALLEL_H
#define CORNU_PARALLEL_H

#include <cornu/cornu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Processes that an MPI launcher has started (mpirun, srun), on one machine or several: the ranks 0
   to count-1, a power of two. cornu_fit trains one model with all of them (cornu_ranks). */

/* Join the others; all of them do. *ranks is NULL where there are none, which is as good. At most
   once in a process, which leaves MPI to cornu from then on; the plug-in for the launcher's MPI,
   libcornu-mpi-openmpi.so or libcornu-mpi-mpich.so, is opened for it. */
CORNU_API cornu_status cornu_ranks_open(cornu_ranks **ranks);
/* How many there are, and which one this is; 1 and 0 for NULL. */
CORNU_API int cornu_ranks_count(const cornu_ranks *ranks);
CORNU_API int cornu_ranks_number(const cornu_ranks *ranks);
/* "rank 1 (hostname)"; "" for NULL. Valid until they are closed. */
CORNU_API const char *cornu_ranks_name(const cornu_ranks *ranks);
/* The same before they are joined, as the launcher tells it: the count, and *rank. */
CORNU_API int cornu_ranks_launched(int *rank);
/* Tell the others that this process ends with `status`, for which there is a message, so that they
   do not wait for it; returns it, with the rank's name before the message. Nothing is told of what
   they know: CORNU_OK, CORNU_NOT_A_NUMBER, CORNU_RANK, or what differs between them. `ranks` may be
   NULL. cornu_fit does so itself. */
CORNU_API cornu_status cornu_ranks_end(cornu_ranks *ranks, cornu_status status);
/* Everybody's `size` bytes, in the order of ranks, to everybody: all[count * size]. All of them do,
   with the same size; NULL: `own` alone. Where another one fails, CORNU_RANK or CORNU_NETWORK. */
CORNU_API cornu_status cornu_ranks_share(cornu_ranks *ranks, const void *own, void *all,
                                         size_t size);
/* All of them do; unless something failed it waits for the others. */
CORNU_API void cornu_ranks_close(cornu_ranks *ranks);

#ifdef __cplusplus
}
#endif
#endif
