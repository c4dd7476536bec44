/* Callbacks during training. Each has one row in callbacks.def and one file; options and
   behaviour are Keras's. */
#ifndef TRAIN_CALLBACKS_H
#define TRAIN_CALLBACKS_H

#include "base/files.h"
#include "base/memory.h"
#include "report/report.h"
#include "train/session.h"

/* One epoch's values by name: loss, METRIC..., val_loss, val_METRIC..., learning_rate. */
typedef struct fit_logs {
    int count;
    const char *name[HISTORY_COLUMNS_MAX];
    double value[HISTORY_COLUMNS_MAX];
} fit_logs;

/* The state of a run that callbacks may read and change. */
typedef struct fit_state {
    cornu_model *model;
    session *session;
    bool pulled;        /* the model's weights on the host equal the device's */
    bool resumed;       /* continues from a model file */
    bool more_epochs;   /* resumed with more epochs than the run was to have */
    const char *output; /* folder for the files that the recipe names; NULL: the current one */
    bool confined; /* files must stay in that folder, as the recipe may come from another user */
    const cornu_data *data;        /* training data */
    struct evaluation *validation; /* evaluate.h; NULL: none. on_fit_begin may give it a report */
    struct op_profile *profile;    /* op_times.h; NULL: none. on_fit_begin may give it one */
    bool sharded;                  /* a step is several plans, and has no profile */
    struct shards *shards;         /* shards.h: runs shards, set after on_fit_begin; or NULL */
    int64_t epoch;                 /* current epoch, from 0 */
    double step_loss;              /* on_step_end */
    fit_logs logs;                 /* on_fit_begin: names only */
    bool not_validated;            /* in on_epoch_end: this epoch has no val_ values */
    int step_logs; /* number of first logs that on_step_end has: the values of the epoch so far */
    bool mute;     /* another rank writes the files */
    bool stop;     /* set it, and training ends after this epoch */
    bool changed;  /* set by on_fit_end if it changed weights */
    struct callbacks *callbacks;
    file_watch saving;                               /* for checkpoint_write */
    void (*on_notice)(void *user, const char *line); /* may be NULL */
    void *user;
    text *held; /* notices at the end of an epoch, one per line, shown after the epoch's own line;
                   NULL: shown at once */
} fit_state;

/* Copy the device's weights into the model, once a step. */
cornu_status fit_pull(fit_state *f);
/* All ranks: the optimizer's state is whole on each, for a model file. */
cornu_status fit_gather(fit_state *f);
void fit_notice(const fit_state *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* One row. `self` points to `size` zeroed bytes of the callback's state; slots may be NULL. */
typedef struct callback_kind {
    size_t size;
    const char *const *keys;                              /* of its options, NULL-terminated */
    cornu_status (*read)(void *self, const doc *options); /* options: a map, or NULL */
    bool every_step; /* on_step_end wants each step's loss: the device is asked after each */
    bool (*wants_steps)(const void *self); /* the same, if it depends on the options */
    bool writes;                           /* files: with ranks it is rank 0's matter */
    bool after_the_epoch; /* on_epoch_end runs after the other callbacks, and after the position has
                             moved on: for callbacks that write the model */
    /* Before training; must not change the model. `monitor` names are checked here. */
    cornu_status (*on_fit_begin)(void *self, fit_state *f);
    cornu_status (*on_epoch_begin)(void *self, fit_state *f);
    cornu_status (*on_step_end)(void *self, fit_state *f);
    /* Before and after the validation of an epoch; after it also where it was stopped. */
    cornu_status (*on_evaluation_begin)(void *self, fit_state *f);
    cornu_status (*on_evaluation_end)(void *self, fit_state *f);
    cornu_status (*on_epoch_end)(void *self, fit_state *f);
    /* When training ends of itself; not when it is stopped or fails. */
    cornu_status (*on_fit_end)(void *self, fit_state *f);
    /* Sync the callback's files to the disk: a model file is about to record them. */
    cornu_status (*sync)(void *self);
    /* Save the state that must survive a resume, as a new reference; and restore it (false:
       damaged). */
    json_t *(*save)(const void *self);
    bool (*restore)(void *self, const json_t *state);
    void (*close)(void *self);
} callback_kind;

#define CALLBACK(name, class_name, row) extern const callback_kind row;
#include "train/callbacks.def"
#undef CALLBACK

/* The callbacks of one run. */
typedef struct callback_entry {
    const char *name; /* of its row */
    const callback_kind *kind;
    void *self;
} callback_entry;

typedef struct callbacks {
    callback_entry *entries; /* with room for one more than the list has */
    int count;
    bool mute;   /* callbacks that write files do nothing */
    int unsaved; /* number of last callbacks that are not in the list: model files do not save their
                    state */
} callbacks;

/* Check names and options. `list` may be NULL. */
cornu_status callbacks_check(const doc *list);
cornu_status callbacks_open(const doc *list, callbacks **out);
void callbacks_close(callbacks *c);
/* Add the TensorBoard callback with Keras's defaults; log_dir may be any folder. At most once. */
cornu_status callbacks_add_tensorboard(callbacks *c, const char *log_dir);
/* True if a callback of this name exists. */
bool callbacks_have(const callbacks *c, const char *name);
/* How a list spells the first callback of the row of this name; NULL: it has none. */
const char *callbacks_find(const doc *list, const char *name);
/* True if a callback writes a file that the list names. */
bool callbacks_write_files(const callbacks *c);
bool callbacks_every_step(const callbacks *c);
/* The rows with the names of their options: a list for cornu_tables. */
json_t *callback_table(void);

typedef enum callback_event {
    CALLBACK_FIT_BEGIN,
    CALLBACK_EPOCH_BEGIN,
    CALLBACK_STEP_END,
    CALLBACK_EVALUATION_BEGIN,
    CALLBACK_EVALUATION_END,
    CALLBACK_EPOCH_END,   /* callbacks that do not write the model */
    CALLBACK_AFTER_EPOCH, /* callbacks that write it */
    CALLBACK_FIT_END
} callback_event;
cornu_status callbacks_run(callbacks *c, callback_event event, fit_state *f);
/* Save to, and restore from, model->training.callback_state; saving first syncs the callbacks'
   files. */
cornu_status callbacks_save(const callbacks *c, cornu_model *model);
cornu_status callbacks_restore(callbacks *c, const cornu_model *model);
/* The same as text, which the caller frees; and from cornu_fit_options.callback_state, where
   null means a callback that starts afresh. */
cornu_status callbacks_to_text(const callbacks *c, char **text);
cornu_status callbacks_from_text(callbacks *c, const char *text);

/* ---- for the callbacks ---- */

/* A value to watch: options monitor, mode, min_delta. */
typedef struct monitor {
    const char *name;
    int direction; /* -1: less is better, +1: more is better, 0: auto */
    double min_delta;
    int column;
} monitor;
cornu_status monitor_read(monitor *m, const doc *options);
/* Find it among the logs; auto becomes a direction. */
cornu_status monitor_find(monitor *m, const char *callback, const fit_state *f);
double monitor_value(const monitor *m, const fit_state *f);
/* False for a val_ value of an epoch without validation. */
bool monitor_known(const monitor *m, const fit_state *f);
/* True if `value` is better than `reference` by more than min_delta. */
bool monitor_improves(const monitor *m, double value, double reference);

/* Names of files with fields in braces, as Python's str.format fills them in and so Keras's
   ModelCheckpoint: "{epoch:02d}-{val_loss:.2f}.safetensors". */

typedef struct name_field {
    const char *name;
    bool whole; /* an int of Python's, else a float */
    double value;
} name_field;

bool name_has_fields(const char *format);
/* {NAME} and {NAME:SPEC}, with SPEC as of Python's int and float: [[fill]align][sign][0][width]
   [.precision][type], type one of d e E f F g G %; {{ and }} are braces. An unknown NAME is
   CORNU_INVALID, and the message lists the known names; so is a format that Python would refuse. */
cornu_status name_format(const char *format, const name_field *fields, int count, char **out);

#endif
