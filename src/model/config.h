/* Options: tables of the keys that a layer, optimizer, loss, ... takes, with their types, limits
   and place in a config struct. One reader and one writer serve them all.
   And the names that users write for one of these: the row that a name means, or else the nearest
   name. */
#ifndef MODEL_CONFIG_H
#define MODEL_CONFIG_H

#include "base/doc.h"
#include "base/memory.h"
#include "model/constraints.h"
#include "model/emit.h"
#include "model/index_key.h"
#include "model/initializers.h"
#include "model/number_array.h"
#include "model/number_list.h"
#include "model/patterns.h"
#include "model/regularizers.h"

typedef enum config_type {
    CONFIG_INT,         /* int64_t */
    CONFIG_PAIR,        /* int64_t[2]: an int or [height, width] */
    CONFIG_SINGLE,      /* int64_t: an int or a list of one, as Keras writes it */
    CONFIG_REAL,        /* double */
    CONFIG_BOOL,        /* bool */
    CONFIG_CHOICE,      /* int: the index in `choices`, "valid|same" */
    CONFIG_ACTIVATION,  /* activation; null is linear */
    CONFIG_INITIALIZER, /* initializer */
    CONFIG_REGULARIZER, /* regularizer; null is none */
    CONFIG_CONSTRAINT,  /* constraint; null is none */
    CONFIG_SHAPE,       /* shape: a list of ints */
    CONFIG_BATCH_SHAPE, /* shape: the same after a leading null */
    CONFIG_PADDING,     /* int64_t[4]: int, [h, w] or [[top, bottom], [left, right]] */
    CONFIG_AXIS,        /* int64_t: an int, or a list of one (as old Keras writes it) */
    CONFIG_AXES,        /* int64_t[2]: an int or a list of two */
    CONFIG_NUMBERS,     /* number_list */
    CONFIG_RANGE,       /* real_range: a number or [one end, other end] */
    CONFIG_INTERVAL,    /* double[2]: [one end, other end] */
    CONFIG_INTS,        /* int_list: an int or a list of ints */
    CONFIG_WIDTHS,      /* width_list: an int, [before, after], or a list of such pairs */
    CONFIG_KEY,         /* index_key */
    CONFIG_ARRAY,       /* number_array, which config_free frees */
    CONFIG_STRING,      /* const char *, owned by the document */
    CONFIG_WORD,        /* char[CONFIG_WORD_SIZE]; null is "" */
    CONFIG_PATTERNS,    /* patterns; null is none */
    CONFIG_ELSEWHERE,   /* read and written by other code; the row only declares the key */
    CONFIG_LAYER,       /* layer_list, read, written and freed by inner_layers.c */
    CONFIG_NEUTRAL,     /* a Keras key that is not supported: accepted only at a value of `choices`,
                               JSON texts */
    CONFIG_DTYPE,       /* Keras's: accepted only where it is float32 */
    CONFIG_IGNORED      /* Keras's, without effect on the numbers: any value */
} config_type;

enum { CONFIG_WORD_SIZE = 48 };

enum {
    CONFIG_REQUIRED = 1,  /* has no default */
    CONFIG_NULLABLE = 2,  /* null is a value: stored as `none` (pair: twice) */
    CONFIG_ABOVE = 4,     /* must be greater than `minimum`, not equal */
    CONFIG_BELOW = 8,     /* must be less than `maximum`, not equal */
    CONFIG_ALIAS = 16,    /* another spelling: read, never written, not listed in messages */
    CONFIG_ARGUMENT = 32, /* Keras has it in the call, not in the configuration */
    CONFIG_OPEN = 64,     /* null is a dimension of a shape: any size, stored as 0 */
    CONFIG_LONE = 128,    /* of numbers: one without a list is a list of one */
    CONFIG_WHOLE = 256,   /* of numbers: whole ones */
    CONFIG_SEVERAL = 512, /* of a layer: a list of them */
    CONFIG_COPIES = 1024, /* of a layer: where it is left out, a copy of the layer before it */
    CONFIG_KEYWORD = 2048 /* Keras has it among the call's keyword arguments */
};

/* Layers that are an option. */
typedef struct layer_list {
    struct layer **item; /* [count] */
    int count;
    bool derived; /* a copy of another option's */
} layer_list;

typedef struct real_range {
    int count; /* of numbers: 1 or 2; 0: null */
    double value[2];
} real_range;

/* Before and after each axis, the batch among them. A single pair (count 0) is that of every axis.
 */
typedef struct width_list {
    int count;
    int64_t value[SHAPE_MAX][2];
} width_list;

/* One row; a table ends with a row whose key is NULL. */
typedef struct config_field {
    const char *key;
    config_type type;
    size_t offset;
    const char *fallback;    /* YAML text of the default; NULL: the struct keeps its value */
    double minimum, maximum; /* for ints and reals; both 0: no limits */
    const char *choices;
    double none;
    int flags;
    const char *prefix, *place; /* of a layer: its name begins so; and where Keras's object has it,
                                   if that is not called as the key */
} config_field;

/* Rows of a table: OPTION(INT, struct dense_config, units, .minimum = 1), ... */
#define OPTION(kind, config, field, ...) OPTION_AS(#field, kind, config, field, __VA_ARGS__)
#define OPTION_AS(name, kind, config, field, ...)                                            \
    {                                                                                        \
        .key = (name), .type = CONFIG_##kind, .offset = offsetof(config, field), __VA_ARGS__ \
    }
#define OPTION_NEUTRAL(name, values)                               \
    {                                                              \
        .key = (name), .type = CONFIG_NEUTRAL, .choices = (values) \
    }
/* The same for a key that Keras's class does not have now: it is read, and not listed. */
#define OPTION_TOLERATED(name, values)                                                    \
    {                                                                                     \
        .key = (name), .type = CONFIG_NEUTRAL, .choices = (values), .flags = CONFIG_ALIAS \
    }
#define OPTION_IGNORED(name)                  \
    {                                         \
        .key = (name), .type = CONFIG_IGNORED \
    }
#define OPTION_ELSEWHERE(name)                  \
    {                                           \
        .key = (name), .type = CONFIG_ELSEWHERE \
    }
#define OPTION_DTYPE                         \
    {                                        \
        .key = "dtype", .type = CONFIG_DTYPE \
    }
#define OPTIONS_END \
    {               \
        .key = NULL \
    }

/* Fail on a key of `map` (may be NULL) that is in neither table (`b` may be NULL). The message
   names the nearest key and lists those that `owner` takes. */
cornu_status config_check_keys(const char *owner, const doc *map, const config_field *a,
                               const config_field *b);
/* Read a CONFIG_WORD. */
cornu_status config_read_word(const config_field *f, const doc *d, void *out);
/* Read a CONFIG_PATTERNS (patterns.c). */
cornu_status config_read_patterns(const config_field *f, const doc *d, void *out);
/* Fill the config struct at `out` from `map` (may be NULL). `at` is the place that messages name
   where a key is missing. */
cornu_status config_read(const char *owner, const doc *at, const doc *map,
                         const config_field *fields, void *out);
/* Free what the config struct owns, not the struct itself. */
void config_free(const config_field *fields, void *config);
/* Add the options to `object` as Keras writes them. */
cornu_status config_write(const config_field *fields, const void *config, json_t *object);
/* Has the option a value: not null? As Keras writes it: a new reference. */
bool config_has_value(const config_field *f, const void *config);
json_t *config_value(const config_field *f, const void *config);

/* The options as a table (config_describe.c), in order: [{"name", "type", "required", "alias",
   "argument", "stands_for", "default", "choices"}]. `type` is the row's in small letters ("int",
   "pair", ...). For "neutral" options, `choices` are the only accepted values; "stands_for" of an
   alias is the option with the same value. A new reference; NULL without memory. */
json_t *config_describe(const config_field *fields);
/* Make a row of cornu_tables: {"class_name", "name", "options"}. Takes `options`. */
json_t *config_row(const char *class_name, const char *name, json_t *options);

/* {"module": ..., "class_name": ..., "config": `config`, "registered_name": null}; takes `config`.
 */
json_t *config_keras_object(const char *module, const char *class_name, json_t *config);
/* Add `value` (which it takes, also on failure) under `key`. */
cornu_status config_set(json_t *object, const char *key, json_t *value);
/* JSON text of a value, numbers as short as they can be without losing bits (config_print.c). */
cornu_status config_print(const json_t *value, char **out);

/* ---- names ------------------------------------------------------------------------------ */

/* The index in names[count] of the name that was probably meant, or -1 where none is near
   enough. */
int name_nearest(const char *name, const char *const *names, int count);
/* Fail with `unknown WHAT "NAME"; did you mean "..."? cornu has A, B, C`. */
cornu_status name_fail(const doc *at, const char *what, const char *name, const char *const *names,
                       int count);

/* Fail where a name is too long or empty, or has a character that a part of a path cannot have;
   `what` it is: "layer name". */
enum { NAME_LENGTH_MAX = 200 };
cornu_status name_check(const doc *at, const char *what, const char *name);

/* The message where a list of layers has none called `name`: `found no layer "NAME"WHERE; did you
   mean A?`, or the names that there are. */
void name_tell_layer(text *out, const char *name, const char *where, const char *const *names,
                     int count);
cornu_status name_fail_layer(const doc *at, const char *name, const char *where,
                             const char *const *names, int count);

/* Refuse references to foreign code, as Keras's JSON marks them: a Lambda layer, a registered name
   ("Package>Name"), a module other than Keras's. Such a class may have the name of one of
   Keras's. */
cornu_status name_refuse_custom(const doc *at);

/* A choice of one named thing with options, in each form that a recipe may use:
     adam
     {class_name: Adam, config: {learning_rate: 0.01}}     Keras's, with module and registered_name
     {adam: {learning_rate: 0.01}}
   *options is NULL where there are none. `what` is "an optimizer". */
cornu_status name_split(const doc *d, const char *what, const char **name, const doc **options);

#endif
