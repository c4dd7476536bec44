/* Several processes that train one model together. The conventions of cornu.h hold. */
#ifndef CORNU_PARALLEL_H
#define CORNU_PARALLEL_H

#include <cornu/cornu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The communicator of the processes that an MPI launcher (mpirun, srun) started, on one machine
   or several: ranks 0 to count-1, where count is a power of two. cornu_fit trains one model with
   all of them (cornu_ranks). */

/* Join the communicator; a collective call. *ranks is NULL for a single process, and all
   functions accept that. At most once per process, which must then leave MPI to cornu. Opens the
   plug-in for the launcher's MPI, libcornu-mpi-openmpi.so or libcornu-mpi-mpich.so. */
CORNU_API cornu_status cornu_ranks_open(cornu_ranks **ranks);
/* The number of ranks, and this process's rank; 1 and 0 for NULL. */
CORNU_API int cornu_ranks_count(const cornu_ranks *ranks);
CORNU_API int cornu_ranks_number(const cornu_ranks *ranks);
/* "rank 1 (hostname)"; "" for NULL. Valid until cornu_ranks_close. */
CORNU_API const char *cornu_ranks_name(const cornu_ranks *ranks);
/* The number of ranks, and *rank, before cornu_ranks_open, from the launcher's environment. */
CORNU_API int cornu_ranks_launched(int *rank);
/* Tell the other ranks that this process ends with `status` and its message, so that they do not
   wait for it; returns `status`, with the rank's name before the message. Sends nothing that the
   others already know: CORNU_OK, CORNU_NOT_A_NUMBER, CORNU_RANK, or a difference between the
   ranks. `ranks` may be NULL. cornu_fit calls it itself. */
CORNU_API cornu_status cornu_ranks_end(cornu_ranks *ranks, cornu_status status);
/* All-gather `size` bytes of each rank, in rank order: all[count * size]. Every rank calls it
   with the same size; for NULL only `own` is copied. If another rank fails, CORNU_RANK or
   CORNU_NETWORK. */
CORNU_API cornu_status cornu_ranks_share(cornu_ranks *ranks, const void *own, void *all,
                                         size_t size);
/* A collective call: waits for the other ranks, unless something failed. */
CORNU_API void cornu_ranks_close(cornu_ranks *ranks);

#ifdef __cplusplus
}
#endif
#endif
