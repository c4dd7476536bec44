/* libcornu-mpi-openmpi.so and libcornu-mpi-mpich.so: messages by MPI. Built once for each MPI whose
   mpi.h is there, since their binary interfaces differ; linked with nothing of cornu's. */
#include "parallel/transport.h"
#include <cornu/cornu.h>
#include <mpi.h>
#include <stdio.h>

typedef struct mpi_transport {
    ranks_transport base; /* first member */
    MPI_Comm all;
    MPI_Request requests[TRANSPORT_REQUESTS];
    char why[MPI_MAX_ERROR_STRING + 64];
} mpi_transport;

static const char *check(mpi_transport *t, const char *function, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    if (code == MPI_SUCCESS)
        return NULL;
    MPI_Error_string(code, text, &length);
    snprintf(t->why, sizeof t->why, "%s: %s", function, text);
    return t->why;
}

static const char *send_bytes(ranks_transport *base, int request, const void *bytes, size_t size,
                              int to, int tag)
{
    mpi_transport *t = (mpi_transport *)base;
    return check(t, "MPI_Isend",
                 MPI_Isend(bytes, (int)size, MPI_BYTE, to, tag, t->all, &t->requests[request]));
}

static const char *receive_bytes(ranks_transport *base, int request, void *bytes, size_t size,
                                 int from, int tag)
{
    mpi_transport *t = (mpi_transport *)base;
    return check(t, "MPI_Irecv",
                 MPI_Irecv(bytes, (int)size, MPI_BYTE, from, tag, t->all, &t->requests[request]));
}

static const char *test_request(ranks_transport *base, int request, bool *done)
{
    mpi_transport *t = (mpi_transport *)base;
    int flag = 0;
    const char *why =
        check(t, "MPI_Test", MPI_Test(&t->requests[request], &flag, MPI_STATUS_IGNORE));
    *done = flag != 0;
    return why;
}

/* Finalizing without the others would wait for them for ever. */
static void close_mpi(ranks_transport *base, bool together)
{
    mpi_transport *t = (mpi_transport *)base;
    if (!together)
        return;
    MPI_Comm_free(&t->all);
    MPI_Finalize();
}

static const char *open_mpi(ranks_transport **out)
{
    static mpi_transport of_process = {.base = {.send = send_bytes,
                                                .receive = receive_bytes,
                                                .test = test_request,
                                                .close = close_mpi}};
    mpi_transport *t = &of_process;
    int provided, already = 0;
    MPI_Initialized(&already);
    if (already)
        return "MPI was initialized before, by this process; expected a process that leaves it to "
               "cornu, once";
    const char *why =
        check(t, "MPI_Init_thread", MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided));
    if (why)
        return why;
    if (provided < MPI_THREAD_FUNNELED)
        return "this MPI knows no threads; expected MPI_THREAD_FUNNELED";
    if ((why = check(t, "MPI_Comm_dup", MPI_Comm_dup(MPI_COMM_WORLD, &t->all))))
        return why;
    MPI_Comm_set_errhandler(t->all, MPI_ERRORS_RETURN);
    MPI_Comm_rank(t->all, &t->base.rank);
    MPI_Comm_size(t->all, &t->base.count);
    for (int i = 0; i < TRANSPORT_REQUESTS; i++)
        t->requests[i] = MPI_REQUEST_NULL;
    *out = &t->base;
    return NULL;
}

CORNU_API const ranks_plugin *cornu_mpi_plugin(void);
const ranks_plugin *cornu_mpi_plugin(void)
{
    static const ranks_plugin plugin = {.version = CORNU_VERSION, .open = open_mpi};
    return &plugin;
}
