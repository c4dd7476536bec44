/* The engine's interface (ranks.h) for messages between processes: a plug-in implements it for
   MPI, a test for threads of one process. One thread makes all calls. A function that can fail
   returns NULL, or the reason as text that is valid until the next call. */
#ifndef PARALLEL_TRANSPORT_H
#define PARALLEL_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>

enum { TRANSPORT_MOST = 1 << 26 }; /* maximum bytes per message */

typedef struct ranks_transport ranks_transport;
struct ranks_transport {
    int rank, count;
    /* Begin a message; `request` is an unused number below TRANSPORT_REQUESTS, and identifies it
       until `test` says that it is done. The bytes must stay valid until then. Messages of one
       tag between two ranks arrive in order. */
    const char *(*send)(ranks_transport *t, int request, const void *bytes, size_t size, int to,
                        int tag);
    const char *(*receive)(ranks_transport *t, int request, void *bytes, size_t size, int from,
                           int tag);
    const char *(*test)(ranks_transport *t, int request, bool *done);
    /* `together`: all ranks close now, and no message is under way. Otherwise the process ends
       without telling the others. */
    void (*close)(ranks_transport *t, bool together);
};

enum { TRANSPORT_REQUESTS = 32 };

/* Returned by the function cornu_mpi_plugin that libcornu-mpi-NAME.so exports. */
typedef struct ranks_plugin {
    char version[32]; /* CORNU_VERSION; other versions are refused */
    /* Called once per process, by the thread that makes all other calls. The launcher sets the
       count and the ranks. */
    const char *(*open)(ranks_transport **out);
} ranks_plugin;
typedef const ranks_plugin *ranks_plugin_entry(void);

#endif
