/* Many runs of one recipe that differ in a few options: train --sweep. Each run is a separate
   process, the command `cornu train` with these options, so that it has that command's bits, and
   its failure does not affect the others. */
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

/* ---- which runs ------------------------------------------------------------------------ */

/* The options that --sweep can set: the numbers of cornu/options.h, and the learning rate. */
typedef struct trial_key {
    const char *name;         /* in --sweep, names of files, and tables */
    const char *option;       /* option of cornu train */
    const char *alias;        /* name in a recipe, or NULL */
    int64_t minimum, maximum; /* limits of integers; 0, 0: any number above 0 */
} trial_key;
extern const trial_key trial_keys[TRIAL_KEYS];

typedef struct trial_list {
    const trial_key *key;
    int count;
    char value[TRIALS_MOST][TRIAL_VALUE]; /* as given */
} trial_list;

/* All combinations of the lists' values; the values of the last list change fastest. */
typedef struct trials {
    const command *command; /* for messages */
    trial_list list[TRIAL_KEYS];
    int lists, count;
} trials;

/* Parse the values of --sweep. Prints errors, and returns the exit status. */
int trials_parse(trials *t, const command *c, const text_list *asked);
const char *trial_value(const trials *t, int trial, int list);
/* "seed=1", a mark, "learning_rate=0.1" */
void trial_name(const trials *t, int trial, char mark, char name[TRIAL_NAME]);
/* The trial's version of a file name on the command line: m.safetensors becomes
   m-seed=1-learning_rate=0.1.safetensors; with extension `ending` if that is not NULL. */
void trial_path(const trials *t, int trial, const char *path, const char *ending,
                char own[TRIAL_PATH]);

/* ---- what became of them --------------------------------------------------------------- */

typedef enum trial_state {
    TRIAL_WAITING = 0,
    TRIAL_DONE,
    TRIAL_STOPPED, /* by Ctrl-C */
    TRIAL_FAILED
} trial_state;

/* Has no pointers, as ranks exchange it. A missing figure is NaN. */
typedef struct trial_result {
    trial_state state;
    bool earlier; /* it was done before this sweep */
    int64_t epochs, best_epoch;
    double loss, metric, val_loss, val_metric; /* from the last epoch that has them */
    double best, seconds; /* minimum val_loss, else loss; seconds of all epochs */
    char metric_name[32]; /* "": none */
    char why[TRIAL_WHY];  /* TRIAL_FAILED */
} trial_result;

/* Read a result from a run's table of epochs (train --log); false: no table. */
bool trial_read_log(const char *path, trial_result *r);
bool trial_validates(const trial_result *r);
/* The table, at most 80 columns, the best first; order[trials] gets the trials as it has them. */
void trials_print(const trials *t, const trial_result *results, int *order);

/* ---- one process each ------------------------------------------------------------------ */

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
/* Print " cornu train ...", quoted for a shell. */
void words_print(FILE *f, const words *w);

/* A trial that runs. */
typedef struct trial_job {
    int trial;
    pid_t pid;            /* 0: none; -1: it could not be started */
    int errors;           /* read end of its pipe for errors */
    char said[TRIAL_WHY]; /* the last of its errors */
    size_t size;
} trial_job;

/* Start this program with these words. A job that cannot be started has ended, with a message. */
void trial_start(trial_job *job, int trial, const words *w);
/* Wait for something to happen to one of the jobs, a tenth of a second at most. */
void trials_wait(trial_job *jobs, int count);
/* True if it has ended; *r then has its state, with the reason of a failure. With `asked` a
   signal may have ended it. */
bool trial_ended(trial_job *job, bool asked, trial_result *r);
void trial_signal(const trial_job *job, int number);

#endif
