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

/* What cornu_fit_options says of processes:

   shards           Divide each batch into this many shards (micro-batches), a power of two. Their
                    gradients are computed one after the other and added in a fixed tree, with
                    memory for one shard's activations. Results depend on this number in the last
                    bits. 0: as the recipe says, else 1, or the number of ranks.
   ranks            Train one model with all these ranks, each of which makes the same call. Each
                    rank computes the same number of a batch's shards; results are the same bits for
                    any number of ranks. Only rank 0 writes files; all ranks return the same model.
                    If one rank fails, the others fail with CORNU_RANK.
   gradient_dtype   Each shard's gradients are rounded to it before each addition,
                    and all-reduced in it: "fp32" (exact), or "bf16", which halves the bytes and
                    changes results, but equally for any number of ranks.
   shard_optimizer  Each rank updates only its slice of the weights; an all-gather then sends the
                    slices to the others. Results are the same bits. Within an epoch a rank has only
                    its slice of the optimizer's state, so a callback of one rank can neither read
                    the optimizer's variables nor write a complete model file. Only for devices that
                    use the host's memory. */

#ifdef __cplusplus
}
#endif
#endif
