/* Documents: a tree read from YAML or JSON (libyaml reads both). Each node knows its place in the
   file, so that errors can say FILE:LINE and the path of keys. Anchors, aliases, tags, duplicate
   keys and directives are refused; depth and size are limited. */
#ifndef BASE_DOC_H
#define BASE_DOC_H

#include "base/status.h"
#include <jansson.h>

/* Size limit of a document's text: longer than a network of 1000 layers with MODEL_NUMBERS_MAX
   numbers in arrays needs. */
enum { DOC_BYTES_MAX = 2 << 20 };

typedef enum doc_type {
    DOC_NULL,
    DOC_BOOL,
    DOC_INT,
    DOC_REAL,
    DOC_STRING,
    DOC_LIST,
    DOC_MAP
} doc_type;

typedef struct doc {
    doc_type type;
    const char *key;          /* key in the parent map, or NULL */
    const struct doc *parent; /* or NULL */
    const char *source;       /* file name for messages */
    int line;                 /* from 1; 0 where unknown */
    int index;                /* index in the parent */
    bool boolean;
    int64_t integer;
    double real; /* set for DOC_INT too */
    char *string;
    struct doc **items; /* of a list or map */
    int count;
} doc;

/* Parse text; `source` is named in messages ("photos.yaml"). Empty text gives DOC_NULL. */
cornu_status doc_parse(const char *text, size_t size, const char *source, doc **out);
cornu_status doc_read(const char *path, doc **out);
void doc_free(doc *d); /* the root only */

/* The value of `key` in a map; NULL where the key is missing or `map` is not a map (or NULL). */
const doc *doc_get(const doc *map, const char *key);
/* The text of a string node; NULL where `d` is another type (or NULL). */
const char *doc_string(const doc *d);
const char *doc_type_name(doc_type type); /* "a list" */
/* Fail with "SOURCE:LINE: path.to[2].key: message"; SOURCE, LINE or the path is left out where
   unknown. */
cornu_status doc_fail(const doc *at, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same with "found D; expected EXPECTED", where D is the node as text. */
cornu_status doc_fail_found(const doc *d, const char *expected);
/* Fail on the first key of `map` that is not in the NULL-ended list `known`; the message lists the
   known keys. */
cornu_status doc_only_keys(const doc *map, const char *const *known);
/* Typed reads of an optional key: *value keeps its value where the key is missing or null; a value
   of another type is an error. */
cornu_status doc_read_int(const doc *map, const char *key, int64_t minimum, int64_t maximum,
                          int64_t *value);
cornu_status doc_read_real(const doc *map, const char *key, double *value);
cornu_status doc_read_bool(const doc *map, const char *key, bool *value);
cornu_status doc_read_string(const doc *map, const char *key, const char **value);

/* To and from jansson's values (new reference). */
json_t *doc_to_json(const doc *d);
/* The value as a document in the place of `parent`'s key `key`, which messages name. The caller
 *frees out before `parent`. */
cornu_status doc_from_json(const json_t *value, const doc *parent, const char *key, doc **out);
/* json_loadb: a new reference; NULL where the text is damaged (*error) or memory was short
   (*lacks_memory), which jansson itself does not tell apart. */
json_t *doc_json_load(const char *json, size_t length, size_t flags, json_error_t *error,
                      bool *lacks_memory);
/* One value printed for messages: `"relu"`, `3`, `[1, 2]`; at most `size` bytes. Returns `text`. */
char *doc_show(const doc *d, char *text, size_t size);

#endif
