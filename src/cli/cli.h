/* Declarations shared by the subcommands. Only this room prints and ends the process. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <cornu/cornu.h>
#include <cornu/options.h>
#include <cornu/report.h>
#include <cornu/trainer.h>
#include <stdio.h>

/* Exit statuses: part of the command line's contract. */
enum {
    STATUS_OK = 0,
    STATUS_FAILURE = 1,
    STATUS_USAGE = 2,        /* a wrong command line, or a device that is not there */
    STATUS_SLOWER = 3,       /* bench --baseline: something is slower than it was */
    STATUS_INTERRUPTED = 130 /* by Ctrl-C; by SIGTERM 143, by SIGHUP 129, as in shells */
};

typedef struct command {
    const char *name, *summary;
    const char *synopsis;              /* text after "cornu NAME ", one form per line */
    const char *details;               /* for --help, or NULL */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name */
    bool alone; /* only the first of several ranks runs it, as all would write the same files */
} command;

extern const command command_bench, command_train, command_evaluate, command_predict,
    command_convert, command_summary, command_explain, command_tune, command_advise,
    command_devices, command_data, command_new, command_recipe, command_env, command_version,
    command_completion;
extern const command *const commands[]; /* all, NULL-ended (completion.c) */

/* The command line as a whole; returns the exit status (main.c). */
CORNU_API int cornu_main(int argc, char **argv);

/* ---- options.c -------------------------------------------------------------------------- */

typedef enum option_type {
    OPTION_FLAG,  /* bool */
    OPTION_INT,   /* int64_t or uint64_t, minimum..maximum */
    OPTION_SMALL, /* int, the same */
    OPTION_REAL,  /* real_number, above 0 */
    OPTION_TIME,  /* real_number, of seconds, above 0 */
    OPTION_TEXT,  /* const char * */
    OPTION_LIST,  /* text_list */
    OPTION_FILES  /* output_files */
} option_type;

typedef struct real_number {
    const char *text; /* as given; NULL: not given */
    double value;
} real_number;

/* An option that may be given several times. */
typedef struct text_list {
    const char *item[16];
    int count;
} text_list;

/* An option that works without a value, too, and may be given several times: the next word is its
   value if it ends in .json or .png. */
typedef struct output_files {
    bool asked;
    const char *file[4];
    int count;
} output_files;

typedef struct option {
    const char *name;  /* "epochs", given as --epochs N or --epochs=N */
    const char *value; /* "N"; NULL for flags */
    const char *help;
    option_type type;
    void *target;
    int64_t minimum, maximum;
} option;

/* The folder of cornu_data_open_for_model, and more: see open_data. */
#define DATA_OPTION(target)                                                                   \
    {                                                                                         \
        "data", "DIR|FILE|NAME", "data set: a folder that holds it, an .npz file, or a name", \
            OPTION_TEXT, &(target), 0, 0                                                      \
    }

/* A row of cornu/options.h, into the field of its name of the struct `of`. */
#define OPTION_ROW(of, type, field, key, flag, text, standard, minimum, maximum, help) \
    {flag, text, help, OPTION_##type, &(of).field, minimum, maximum},
#define OPTION_NONE(...)
/* Where to run: each command that runs a model reads these options into the library's struct. */
#define WHERE_OPTIONS(of) CORNU_WHERE_OPTIONS(OPTION_ROW, of)
/* How to train, and what is written: all of cornu_fit_options that has a flag. */
#define FIT_OPTIONS(of) CORNU_FIT_OPTIONS(OPTION_ROW, OPTION_NONE, of)
#define FILE_OPTIONS(of) CORNU_FILE_OPTIONS(OPTION_ROW, of)

/* How the files of an image folder become samples. */
typedef struct data_choice {
    const char *cache;
    int64_t workers;
    bool strict, whole; /* whole: as in cornu_data_options */
    double fraction;    /* the same */
    const char *beside; /* the file that is saved, whose folder gets the cache; or NULL */
    bool background;
    bool other_data;    /* as in cornu_data_options */
    cornu_ranks *ranks; /* ranks that share the folder; NULL: none */
} data_choice;

#define FOLDER_OPTIONS(c)                                                                     \
    {"workers", "N", "image folders: threads that decode", OPTION_INT, &(c).workers, 1, 256}, \
        {"cache",                                                                             \
         "C",                                                                                 \
         "pixels: in memory up to a size (4GB), else a file; file; memory; off",              \
         OPTION_TEXT,                                                                         \
         &(c).cache,                                                                          \
         0,                                                                                   \
         0},                                                                                  \
    {                                                                                         \
        "strict", NULL, "image folders: a file that cannot be used is an error", OPTION_FLAG, \
            &(c).strict, 0, 0                                                                 \
    }

/* Arguments that are not options. */
typedef struct operands {
    const char **item; /* NULL-ended, inside argv */
    int count;
} operands;

/* Read argv[1..]; options may stand anywhere, "--" ends them. `options` ends with a NULL name.
   Operands are `least` to `most` (-1: any number), called `what` in messages. Returns true to
   continue; else *status is the exit status, and help or one line of error has been printed. */
bool options_parse(const command *c, const option *options, int argc, char **argv, int least,
                   int most, const char *what, operands *out, int *status);
/* Calls `visit` for each option that was given, in the order of the table, with its value: NULL of
   flags, several times of lists. */
typedef void option_visit(void *user, const option *o, const char *value);
void options_each(const option *options, option_visit *visit, void *user);
/* A number above 0 as an option has it: decimal, and finite. */
bool read_real(const char *text, double *value);
/* The nearest of NULL-ended `names` to a mistyped word, or NULL. */
const char *nearest_name(const char *word, const char *const *names);

/* ---- help.c ----------------------------------------------------------------------------- */

/* If `argument` requests help, print it and return true: -h, --help; --help=man for a man page;
   --help=bash, zsh, fish for the completion scripts of completion.c. */
bool help_print(const command *c, const option *options, const char *argument);
/* Print the beginning of a man page for command `of`, or for cornu if `of` is empty. */
void man_begin(const char *of, const char *summary);
/* A line's text, as roff has it. */
void man_text(const char *text);

/* ---- print.c ---------------------------------------------------------------------------- */

/* printf for all output of this room: control characters of the format pass; those of its
   arguments, which may be names from outside, are escaped as by cornu_printable. */
void print(const char *format, ...) __attribute__((format(printf, 1, 2)));
void print_to(FILE *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Lines on stdout, such as a table of the library's: their ends pass as well. */
void print_lines(const char *text);
/* Data for another program, byte by byte; on a terminal as cornu_printable shows them. A row has
   its end of line. */
void print_raw(FILE *f, const char *text);
void print_row(FILE *f, const char *text);
/* Print " WORD", quoted if a shell would split it or a terminal would interpret it. */
void print_word(FILE *f, const char *word);

/* Print "cornu: MESSAGE" as one line. Returns `status`. */
int fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* From now on this process prints as one of these ranks; only the first rank prints errors of
   the command line and lines that all ranks would print. */
void speak_for(cornu_ranks *ranks);
bool is_speaker(void);
/* With several ranks, the first says that it alone runs command `name`; the others get true. */
bool is_left_to_first(const char *name);
/* As fail, for a wrong command line of a command, pointing to its help; returns STATUS_USAGE. */
int fail_usage(const command *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Print cornu_last_error() if `status` is a failure; returns the exit status. */
int exit_status(cornu_status status);
/* Fail (and print) unless --device names a device that is there (NULL is fine) and --precision a
   precision (the same). */
bool device_is_there(const char *device, const char *precision, int *status);
/* The same if --device may be "all", or several devices separated by commas. */
bool devices_are_there(const char *devices, const char *precision, int *status);
/* Fail (and print) unless a file can be written at `path`; NULL is fine. Nothing is written. */
bool can_write(const char *path, int *status);
/* Fail (and print) unless `path` is a folder; NULL is fine. */
bool folder_is_there(const char *path, int *status);

/* The values for --device on this machine, separated by spaces: "cpu gpu opencl:0 reference".
   Opens the plug-ins. Returns `names`. */
const char *devices_here(char *names, size_t size);

/* "10000 samples in 1.93 s, 5181 samples/s" */
void print_rate(int64_t samples, double seconds);
/* "trained 5 epochs in 3:58" */
void print_total(int64_t epochs, double seconds);

bool terminal_is(FILE *f);    /* a terminal that can redraw a line */
int terminal_width(FILE *f);  /* columns; 80 if unknown */
int terminal_height(FILE *f); /* lines; 24 if unknown */
bool terminal_has_utf8(void);
/* Show one transient line on stderr's terminal; NULL removes it. */
void progress_status(const char *line);

/* ---- plot.c ----------------------------------------------------------------------------- */

/* Loss and first metric of the epochs so far. */
enum { PLOT_CURVES = 2, PLOT_POINTS = 1024 };
typedef struct plot {
    int curves, count;
    bool validates;
    char name[PLOT_CURVES][24];
    double epoch[PLOT_POINTS];
    double training[PLOT_CURVES][PLOT_POINTS], validation[PLOT_CURVES][PLOT_POINTS]; /* or NaN */
} plot;

/* The end of an epoch. */
void plot_add(plot *p, const cornu_progress *now);
/* Draw for a terminal of `width` columns and `height` lines. Returns the number of lines used: 0
   if there is no room. */
int plot_print(const plot *p, int width, int height, bool utf8, FILE *f);

/* ---- progress.c ------------------------------------------------------------------------- */

/* Keras's progress line: redrawn in place on a terminal, one line an epoch elsewhere. Of runs of a
   minute and more it says, too, how long they will still take. */
typedef struct progress {
    bool quiet, terminal;
    bool silent;      /* answers nothing, either: another process does */
    bool rows;        /* are on standard output: notices go to standard error */
    int64_t epoch;    /* whose heading has been printed; -1: none */
    bool line_open;   /* the cursor is after a line that will be redrawn */
    bool answered;    /* another thread has printed a line: no more redrawing */
    double last_draw; /* seconds into the epoch */
    double began;     /* time of opening */
    plot *plot;       /* drawn below the last epoch, on a terminal; NULL: none */
    int plotted;      /* lines from its begin to the cursor; 0: the plot stays on the screen */
    bool heading;     /* one of them is the next epoch's */
} progress;

void progress_open(progress *p, bool quiet);
void progress_step(progress *p, const cornu_progress *now);
void progress_epoch(progress *p, const cornu_progress *now);
/* Evaluation: a line without epochs, metrics before the loss. `final` leaves it standing. */
void progress_evaluate(progress *p, const cornu_progress *now, bool final);
/* Get ready to print something else. */
void progress_break(progress *p);
/* Bar of a download, for cornu_data_options.on_progress; `user` is a progress. */
void progress_download(void *user, const char *file, int64_t done, int64_t total);
/* A notice, for on_notice; `user` is a progress. */
void progress_notice(void *user, const char *line);
/* Print a line on standard error at once, from another thread than the drawing one; `p` may be
   NULL. Left out if standard error would block. */
void progress_answer(progress *p, const char *line);

/* ---- interrupt.c ------------------------------------------------------------------------ */

/* From now on a separate thread answers SIGINT, SIGTERM and SIGHUP with a line on standard
   error: the first signal sets a flag, the next one ends the process, unless it is SIGHUP, which
   a shell and its terminal may both send. An ignored SIGHUP (nohup) stays ignored. While a model
   file is written, the second signal is answered with the progress of that, and the third ends
   the process and removes the incomplete file. Call this before other threads start. */
void interrupt_watch(progress *p);
void interrupt_forget(void); /* the progress and the plan, which are about to go */
/* The exit status of a command that returns `status`: for STATUS_INTERRUPTED it depends on the
   signal. */
int interrupt_status(int status);
/* True for these statuses. */
bool is_interrupted(int status);
/* The flag; for should_stop, whose `user` it ignores. */
bool interrupt_asked(void *user);
/* The answer to the first signal ("stopping, ..." if `say` is NULL): a line that says how the
   run will end, and that the next signal ends it at once. Called by another thread, which holds
   the lock of interrupt_hold. */
typedef struct interrupt_plan {
    void (*say)(void *user, char *line, size_t size);
    void *user;
} interrupt_plan;
void interrupt_set_plan(const interrupt_plan *plan); /* NULL: none */
/* Between the two nothing is answered, and the flag stays as it is. */
void interrupt_hold(void);
void interrupt_release(void);
/* For on_save. */
void interrupt_saving(const cornu_saving *now);

/* ---- open.c ----------------------------------------------------------------------------- */

/* Open the data for a model: `what` is a named set, an .npz file, a folder (that contains the
   recipe's set), or NULL: the recipe's set. `files` may be NULL. Prints errors and returns the
   exit status. */
int open_data(const cornu_model *model, const char *what, bool download, const data_choice *files,
              progress *p, cornu_data **data);
/* Make a built-in workload fit data that was opened for it with other_data, and say so. */
int adapt_model(cornu_model *model, const cornu_data *data, progress *p);
/* Print how the files of an image folder became samples; `epoch` is the last one, and may be empty.
 */
void print_loading(const cornu_data *data, const cornu_progress *epoch);
/* True if the path has the extension of a model file that cornu writes. */
bool is_model_name(const char *path);
bool is_onnx_name(const char *path);
/* Open a trained model, which must be a model file. Prints errors and returns the exit status. */
int open_model_file(const command *c, const char *path, cornu_model **model);

#endif
