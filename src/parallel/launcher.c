/* Detects the MPI launcher that started this process, and its MPI library. */
#include "base/env.h"
#include "base/plugin.h"
#include "parallel/engine.h"
#include <cornu/parallel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
