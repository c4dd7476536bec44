/* Messages between processes, as the engine (ranks.h) sees them: a plug-in fills this in for MPI, a
   test for threads of one process. All is called by one thread. What can fail returns NULL, or why
   it failed, in words that stay until the next call. */
#ifndef PARALLEL_TRANSPORT_H
#define PARALLEL_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>

enum { TRANSPORT_MOST = 1 << 26 }; /* bytes of a message */

typedef struct ranks_transport ranks_transport;
struct ranks_transport {
    int rank, count;
    /* Begin a message; `request` is a number below TRANSPORT_REQUESTS that is not in use, and
       names it until `test` says that it is done. The bytes stay where they are until then. Between
       two ranks, messages of a tag arrive in order. */
    const char *(*send)(ranks_transport *t, int request, const void *bytes, size_t size, int to,
                        int tag);
    const char *(*receive)(ranks_transport *t, int request, void *bytes, size_t size, int from,
                           int tag);
    const char *(*test)(ranks_transport *t, int request, bool *done);
    /* `together`: all ranks do so now, and no message is under way. Else the process will end
       without a word to the others. */
    void (*close)(ranks_transport *t, bool together);
};

enum { TRANSPORT_REQUESTS = 32 };

/* What libcornu-mpi-NAME.so exports, by the function cornu_mpi_plugin. */
typedef struct ranks_plugin {
    char version[32]; /* CORNU_VERSION: another one is refused */
    /* Once in a process, by the thread that then calls all else. The count and the ranks are the
       launcher's. */
    const char *(*open)(ranks_transport **out);
} ranks_plugin;
typedef const ranks_plugin *ranks_plugin_entry(void);

#endif
