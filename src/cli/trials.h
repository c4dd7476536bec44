/* Many runs of one recipe that differ in a few options: train --sweep. Each is a process of its
   own, the command `cornu train` with these options, so that it has that command's bits, and
   whatever happens to it happens to no other. */
#ifndef CLI_TRIALS_H
#define CLI_TRIALS_H

#include "cli/cli.h"
#include <sys/types.h>

#define TRIAL_COUNT_INT +1
#define TRIAL_COUNT_FLAG
#define TRIAL_COUNT_TEXT
#define TRIAL_COUNT(at, type, ...) TRIAL_COUNT_##type
enum {
    TRIAL_KEYS = 1 CORNU_FIT_OPTIONS(TRIAL_COUNT, OPTION_NONE, ),
    TRIALS_MOST = 1000,
    TRIAL_VALUE = 24,
    TRIAL_NAME = 256,
    TRIAL_PATH = 4096,
    TRIAL_WHY = 512
};

/* ---- trials_lists.c: which runs --------------------------------------------------------- */

/* What --sweep can set: the options of cornu/options.h that are numbers, and the learning rate. */
typedef struct trial_key {
    const char *name;         /* in --sweep, names of files, and tables */
    const char *option;       /* of cornu train */
    const char *alias;        /* as a recipe calls it, or NULL */
    int64_t minimum, maximum; /* of whole numbers; 0, 0: any number above 0 */
} trial_key;
extern const trial_key trial_keys[TRIAL_KEYS];

typedef struct trial_list {
    const trial_key *key;
    int count;
    char value[TRIALS_MOST][TRIAL_VALUE]; /* as they were given */
} trial_list;

/* All combinations of the lists' values; the last list's change fastest. */
typedef struct trials {
    trial_list list[TRIAL_KEYS];
    int lists, count;
} trials;

/* From the values of --sweep. Prints what is wrong, and returns the exit status. */
int trials_parse(trials *t, const text_list *asked);
const char *trial_value(const trials *t, int trial, int list);
/* "seed=1", a mark, "learning_rate=0.1" */
void trial_name(const trials *t, int trial, char mark, char name[TRIAL_NAME]);
/* The trial's own of a file that the command line names: m.safetensors is
   m-seed=1-learning_rate=0.1.safetensors; of the same name with another ending where `ending` is
   not NULL. */
void trial_path(const trials *t, int trial, const char *path, const char *ending,
                char own[TRIAL_PATH]);

/* ---- trials_results.c: what became of them ---------------------------------------------- */

typedef enum trial_state {
    TRIAL_WAITING = 0,
    TRIAL_DONE,
    TRIAL_STOPPED, /* by Ctrl-C */
    TRIAL_FAILED
} trial_state;

/* Without pointers: ranks exchange it. Figures are NaN where there is none. */
typedef struct trial_result {
    trial_state state;
    bool earlier; /* it was done before this sweep */
    int64_t epochs, best_epoch;
    double loss, metric, val_loss, val_metric; /* of the last epoch that has them */
    double best, seconds;                      /* the least val_loss, else loss; of all epochs */
    char metric_name[32];                      /* "": there is none */
    char why[TRIAL_WHY];                       /* TRIAL_FAILED */
} trial_result;

/* From a run's table of epochs (train --log); false: there is none. */
bool trial_read_log(const char *path, trial_result *r);
bool trial_validates(const trial_result *r);
/* The table, at most 80 columns, the best first; order[trials] gets the trials as it has them. */
void trials_print(const trials *t, const trial_result *results, int *order);

/* ---- trials_run.c: one process each ----------------------------------------------------- */

enum { COMMAND_WORDS = 96 };

/* A command line. */
typedef struct words {
    char *item[COMMAND_WORDS + 1]; /* NULL-ended */
    int count;
    bool failed; /* too many, or no memory */
} words;
void words_add(words *w, const char *word);
void words_add_option(words *w, const char *name, const char *value); /* NULL: a flag's */
void words_free(words *w);
/* " cornu train ...", as a shell takes it. */
void words_print(FILE *f, const words *w);

/* A trial that runs. */
typedef struct trial_job {
    int trial;
    pid_t pid;            /* 0: none; -1: it could not be started */
    int errors;           /* where they are read */
    char said[TRIAL_WHY]; /* the last of its errors */
    size_t size;
} trial_job;

/* Start this program with these words. What cannot be started has ended, with a message. */
void trial_start(trial_job *job, int trial, const words *w);
/* Wait for something to happen to one of the jobs, a tenth of a second at most. */
void trials_wait(trial_job *jobs, int count);
/* Has it ended? Its state, with why it failed, is in *r then. With `asked` a signal may be what
   ended it. */
bool trial_ended(trial_job *job, bool asked, trial_result *r);
void trial_signal(const trial_job *job, int number);

#endif
