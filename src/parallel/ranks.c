/* Opens and closes the communicator; detects the MPI launcher that started this process, and its
   MPI library. */
#include "base/clock.h"
#include "base/env.h"
#include "base/memory.h"
#include "base/plugin.h"
#include "parallel/engine.h"
#include <cornu/parallel.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A failing rank waits this time for lower ranks, which may fail in the same way, so that only
   one reports it. */
static const double GRACE_SECONDS = 2, GRACE_OF_RANK = 0.1;

static cornu_status start(cornu_ranks *r)
{
    sigset_t all, before;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    sigfillset(&all); /* signals are for the program's own threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&r->thread, NULL, engine_thread, r);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0)
        return CORNU_OK;
    pthread_cond_destroy(&r->changed);
    pthread_mutex_destroy(&r->lock);
    return status_fail(CORNU_OUT_OF_MEMORY, "ranks: cannot start a thread: %s", strerror(error));
}

static cornu_status learn_names(cornu_ranks *r, void *context)
{
    char own[RANKS_NAME], host[64] = "";
    (void)context;
    if (!r->names)
        return CORNU_OK;
    (void)gethostname(host, sizeof host - 1);
    snprintf(own, sizeof own, "rank %d (%s)", r->rank, host);
    TRY(engine_share(r, own, r->names, sizeof own));
    for (int i = 0; i < r->count; i++)
        r->names[i][RANKS_NAME - 1] = '\0';
    return CORNU_OK;
}

static cornu_status check_count(cornu_ranks *r)
{
    if (r->names)
        return CORNU_OK;
    r->agreed = true;
    return status_fail(r->rank == 0 ? CORNU_INVALID : CORNU_RANK,
                       "ranks: found %d processes; expected a power of two, 1 to %d", r->count,
                       RANKS_MOST);
}

cornu_status ranks_join(const char *(*open)(ranks_transport **out), cornu_ranks **out)
{
    cornu_ranks *r;
    *out = NULL;
    TRY(memory_new(1, sizeof *r, "ranks", &r));
    r->open = open;
    cornu_status status = start(r);
    if (status != CORNU_OK) {
        free(r);
        return status;
    }
    status = engine_run(r, learn_names, NULL);
    if (status == CORNU_OK)
        status = check_count(r);
    if (status == CORNU_OK)
        *out = r;
    else
        cornu_ranks_close(r);
    return status;
}

void cornu_ranks_close(cornu_ranks *r)
{
    if (!r)
        return;
    pthread_mutex_lock(&r->lock);
    r->closing = true;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->thread, NULL);
    pthread_cond_destroy(&r->changed);
    pthread_mutex_destroy(&r->lock);
    threads_close(r->adder);
    memory_free_aligned(r->scratch);
    memory_free_aligned(r->packed);
    free(r->names);
    free(r);
}

/* Fail after `seconds`, unless another rank fails first. */
static cornu_status fail_after(cornu_ranks *r, double seconds, cornu_status status,
                               const char *line)
{
    double end = clock_seconds() + seconds;
    pthread_mutex_lock(&r->lock);
    while (r->failed == CORNU_OK && clock_seconds() < end)
        engine_wait(r, end - clock_seconds());
    pthread_mutex_unlock(&r->lock);
    return engine_fail(r, status, line);
}

cornu_status cornu_ranks_end(cornu_ranks *r, cornu_status status)
{
    bool known = status == CORNU_OK || status == CORNU_NOT_A_NUMBER || status == CORNU_RANK;
    if (!r || known || r->agreed || engine_failure(r) != CORNU_OK)
        return status;
    (void)status_prefix(status, "%s", ranks_name(r, r->rank));
    status = fail_after(r, r->rank == 0 ? 0 : GRACE_SECONDS + GRACE_OF_RANK * fmin(r->rank, 10),
                        status, cornu_last_error());
    return status == CORNU_RANK ? status_fail(status, "%s", r->failure) : status;
}

/* ---- the launcher ------------------------------------------------------------------------ */

/* The environment variables that a launcher sets for its processes. Slurm's srun starts
   processes of either MPI. */
typedef struct launcher {
    const char *count, *rank; /* environment variables; count NULL: given elsewhere */
    const char *mpi;          /* libcornu-mpi-NAME.so */
    const char *package;      /* package that its plug-in is built with */
} launcher;

static const launcher launchers[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "openmpi", "libopenmpi-dev"},
    {"PMI_SIZE", "PMI_RANK", "mpich", "libmpich-dev"},
    {"SLURM_NTASKS", "PMIX_RANK", "openmpi", "libopenmpi-dev"},
};

static long number_of(const char *name)
{
    const char *value = getenv(name);
    char *end;
    long number = value ? strtol(value, &end, 10) : -1;
    return value && end != value && *end == '\0' ? number : -1;
}

static const launcher *find_launcher(void)
{
    const char *asked = env_get(ENV_RANKS);
    if (asked && strcmp(asked, "off") == 0)
        return NULL;
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        if (number_of(launchers[i].count) > 1 && number_of(launchers[i].rank) >= 0)
            return &launchers[i];
    return NULL;
}

int cornu_ranks_launched(int *rank)
{
    const launcher *l = find_launcher();
    if (rank)
        *rank = l ? (int)number_of(l->rank) : 0;
    return l ? (int)number_of(l->count) : 1;
}

/* `all` ranks were started, but MPI has another count: its library is not the launcher's. */
static cornu_status check_launched(cornu_ranks *r, long all, const char *path)
{
    if (r->count == all)
        return CORNU_OK;
    return status_fail(CORNU_INVALID,
                       "ranks: found %d of them by %s, and %ld processes that were launched; "
                       "expected the launcher of that MPI",
                       r->count, path, all);
}

static cornu_status open_plugin(const launcher *l, const ranks_plugin **plugin, plugin_file *file)
{
    char name[64], missing[256], why[256];
    snprintf(name, sizeof name, "libcornu-mpi-%s.so", l->mpi);
    snprintf(missing, sizeof missing,
             "this build has no plug-in for the MPI that launched it (%s); build cornu where %s is "
             "installed",
             name, l->package);
    *file = (plugin_file){.file = name,
                          .entry = "cornu_mpi_plugin",
                          .title = "MPI",
                          .missing = missing,
                          .environment = ENV_MPI_PLUGIN};
    union {
        plugin_function *function;
        ranks_plugin_entry *entry;
    } opened = {.function = plugin_open(file, why, sizeof why)};
    if (!opened.function)
        return status_fail(CORNU_NOT_FOUND, "ranks: %s", why);
    *plugin = opened.entry();
    if (strncmp((*plugin)->version, CORNU_VERSION, sizeof(*plugin)->version) == 0)
        return CORNU_OK;
    cornu_status status =
        status_fail(CORNU_NOT_FOUND, "ranks: %s: found version %.*s; expected %s, the program's",
                    file->path, (int)sizeof(*plugin)->version, (*plugin)->version, CORNU_VERSION);
    plugin_close(file);
    return status;
}

cornu_status cornu_ranks_open(cornu_ranks **out)
{
    if (!out)
        return status_fail(CORNU_INVALID, "cornu_ranks_open: found NULL; expected a place");
    *out = NULL;
    const launcher *l = find_launcher();
    const ranks_plugin *plugin = NULL;
    plugin_file file;
    if (!l)
        return CORNU_OK;
    TRY(open_plugin(l, &plugin, &file));
    TRY(ranks_join(plugin->open, out));
    cornu_status status = check_launched(*out, number_of(l->count), file.path);
    if (status != CORNU_OK) {
        cornu_ranks_close(*out);
        *out = NULL;
    }
    return status;
}

int cornu_ranks_count(const cornu_ranks *r)
{
    return r ? r->count : 1;
}

int cornu_ranks_number(const cornu_ranks *r)
{
    return r ? r->rank : 0;
}

const char *cornu_ranks_name(const cornu_ranks *r)
{
    return r ? ranks_name(r, r->rank) : "";
}
