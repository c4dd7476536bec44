/* Keys of parts of tensors. */
#include "model/index_key.h"
#include "base/memory.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading text ----------------------------------------------------------------------- */

static void skip_spaces(const char **at)
{
    while (isspace((unsigned char)**at))
        (*at)++;
}

/* Take the word if the text continues with it. */
static bool take(const char **at, const char *word)
{
    skip_spaces(at);
    if (strncmp(*at, word, strlen(word)) != 0)
        return false;
    *at += strlen(word);
    skip_spaces(at);
    return true;
}

static bool take_number(const char **at, int64_t *out)
{
    char *end;
    skip_spaces(at);
    errno = 0;
    const long long number = strtoll(*at, &end, 10);
    if (end == *at || errno != 0)
        return false;
    *out = number;
    *at = end;
    skip_spaces(at);
    return true;
}

/* One of `1:3`, `::2`, `-1`, `...`, `None`. */
static bool take_item(const char **at, index_item *out)
{
    int part = 0;
    *out = (index_item){.kind = INDEX_ELLIPSIS};
    if (take(at, "..."))
        return true;
    out->kind = INDEX_NEW_AXIS;
    if (take(at, "None"))
        return true;
    out->given[0] = take_number(at, &out->number[0]);
    while (part < INDEX_STEP && take(at, ":")) {
        part++;
        out->given[part] = take_number(at, &out->number[part]);
    }
    out->kind = part > 0 ? INDEX_RANGE : INDEX_ONE;
    return part > 0 || out->given[0];
}

static cornu_status read_text(const doc *d, index_key *out)
{
    const char *at = d->string;
    bool complete = true;
    for (out->count = 0; complete && out->count < INDEX_ITEMS_MAX;) {
        complete = take_item(&at, &out->item[out->count]);
        out->count += complete;
        if (!take(&at, ","))
            break;
    }
    if (complete && *at == 0)
        return CORNU_OK;
    return doc_fail_found(d, "what Python has between brackets, such as \":, 1:3, ..., 0\"");
}

/* ---- reading Keras's form --------------------------------------------------------------- */

static bool is_object(const doc *d, const char *class_name)
{
    const char *name = doc_string(doc_get(d, "class_name"));
    return name && strcmp(name, class_name) == 0;
}

static cornu_status read_range(const doc *config, index_item *out)
{
    static const char *const keys[INDEX_NUMBERS + 1] = {"start", "stop", "step", NULL};
    if (!config || config->type != DOC_MAP)
        return doc_fail(config, "found a slice without its start, stop and step");
    TRY(doc_only_keys(config, keys));
    out->kind = INDEX_RANGE;
    for (int i = 0; i < INDEX_NUMBERS; i++) {
        const doc *number = doc_get(config, keys[i]);
        out->given[i] = number && number->type != DOC_NULL;
        TRY(doc_read_int(config, keys[i], INT64_MIN, INT64_MAX, &out->number[i]));
    }
    return CORNU_OK;
}

static cornu_status read_item(const doc *d, index_item *out)
{
    *out = (index_item){.kind = INDEX_NEW_AXIS};
    if (d->type == DOC_NULL)
        return CORNU_OK;
    if (is_object(d, "__slice__"))
        return read_range(doc_get(d, "config") ? doc_get(d, "config") : d, out);
    if (d->type != DOC_INT && !is_object(d, "__ellipsis__"))
        return doc_fail_found(d, "a slice, a whole number, an ellipsis, or null for a new axis");
    out->kind = d->type == DOC_INT ? INDEX_ONE : INDEX_ELLIPSIS;
    out->number[0] = d->integer;
    out->given[0] = d->type == DOC_INT;
    return CORNU_OK;
}

static cornu_status read_list(const doc *d, index_key *out)
{
    if (d->count > INDEX_ITEMS_MAX)
        return doc_fail(d, "found a key of %d items; expected at most %d", d->count,
                        INDEX_ITEMS_MAX);
    for (out->count = 0; out->count < d->count; out->count++)
        TRY(read_item(d->items[out->count], &out->item[out->count]));
    return CORNU_OK;
}

static cornu_status check_ellipses(const doc *d, const index_key *key)
{
    int count = 0;
    for (int i = 0; i < key->count; i++)
        count += key->item[i].kind == INDEX_ELLIPSIS;
    return count <= 1 ? CORNU_OK : doc_fail(d, "found %d ellipses; expected at most one", count);
}

cornu_status index_key_read(const doc *d, index_key *out)
{
    if (d->type == DOC_STRING)
        TRY(read_text(d, out));
    else if (d->type == DOC_LIST)
        TRY(read_list(d, out));
    else {
        TRY(read_item(d, &out->item[0]));
        out->count = 1;
    }
    return check_ellipses(d, out);
}

/* ---- writing ---------------------------------------------------------------------------- */

static json_t *item_to_json(const index_item *item)
{
    static const char *const keys[INDEX_NUMBERS] = {"start", "stop", "step"};
    if (item->kind == INDEX_NEW_AXIS)
        return json_null();
    if (item->kind == INDEX_ONE)
        return json_integer(item->number[0]);
    if (item->kind == INDEX_ELLIPSIS)
        return json_pack("{s:s, s:{}}", "class_name", "__ellipsis__", "config");
    json_t *config = json_object();
    for (int i = 0; config && i < INDEX_NUMBERS; i++)
        if (json_object_set_new(config, keys[i],
                                item->given[i] ? json_integer(item->number[i]) : json_null()) !=
            0) {
            json_decref(config);
            return NULL;
        }
    return json_pack("{s:s, s:o}", "class_name", "__slice__", "config", config);
}

json_t *index_key_to_json(const index_key *key)
{
    json_t *list = json_array();
    for (int i = 0; list && i < key->count; i++)
        if (json_array_append_new(list, item_to_json(&key->item[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

/* ---- applying --------------------------------------------------------------------------- */

/* A number of a range over n elements: from the end where it is negative, and within them. */
static int64_t clamped(const index_item *item, int which, int64_t usual, int64_t n)
{
    int64_t number = item->given[which] ? item->number[which] : usual;
    if (number < 0)
        number += n;
    return number < 0 ? 0 : number > n ? n : number;
}

static cornu_status apply_range(const index_item *item, int axis, int64_t n, index_run *out)
{
    const int64_t step = item->given[INDEX_STEP] ? item->number[INDEX_STEP] : 1;
    if (step < 1)
        return status_fail(CORNU_INVALID,
                           "found a slice of step %lld along axis %d; expected a step of at least "
                           "1",
                           (long long)step, axis);
    const int64_t begin = clamped(item, INDEX_BEGIN, 0, n), end = clamped(item, INDEX_END, n, n);
    if (begin >= end)
        return status_fail(CORNU_INVALID,
                           "found a slice from %lld to %lld of the %lld elements along axis %d; "
                           "expected at least one element",
                           (long long)begin, (long long)end, (long long)n, axis);
    const int64_t count = (end - begin - 1) / step + 1;
    *out = (index_run){begin, count > 1 ? step : 1, count};
    return CORNU_OK;
}

static cornu_status apply_number(const index_item *item, int axis, int64_t n, index_run *out)
{
    const int64_t number = item->number[0];
    if (number < -n || number >= n)
        return status_fail(CORNU_INVALID, "found index %lld along axis %d; expected %lld to %lld",
                           (long long)number, axis, (long long)-n, (long long)n - 1);
    *out = (index_run){number < 0 ? number + n : number, 1, 1};
    return CORNU_OK;
}

/* Is the item `:`, or a range that says the same? */
static bool is_whole(const index_item *item)
{
    return item->kind == INDEX_RANGE && !item->given[INDEX_END] &&
           (!item->given[INDEX_BEGIN] || item->number[INDEX_BEGIN] == 0) &&
           (!item->given[INDEX_STEP] || item->number[INDEX_STEP] == 1);
}

static void append_axis(int64_t n, shape *out)
{
    if (out->rank < SHAPE_MAX)
        out->dim[out->rank] = n;
    out->rank++;
}

/* Apply an item to axis number `axis`, where 0 is the batch. */
static cornu_status apply_item(const index_item *item, int axis, const shape *in, index_run *runs,
                               shape *out)
{
    if (axis == 0 && !is_whole(item))
        return status_fail(CORNU_INVALID, "found a key that selects samples of the batch; expected "
                                          "its first item to be `:`");
    if (axis == 0)
        return CORNU_OK;
    const int64_t n = in->dim[axis - 1];
    TRY((item->kind == INDEX_ONE ? apply_number : apply_range)(item, axis, n, &runs[axis - 1]));
    if (item->kind == INDEX_RANGE)
        append_axis(runs[axis - 1].count, out);
    return CORNU_OK;
}

static bool is_axis(const index_item *item)
{
    return item->kind == INDEX_ONE || item->kind == INDEX_RANGE;
}

/* Leave `count` axes from *axis on as they are. */
static void keep_axes(int count, const shape *in, int *axis, shape *out)
{
    for (; count > 0; count--, (*axis)++)
        if (*axis > 0)
            append_axis(in->dim[*axis - 1], out);
}

cornu_status index_key_apply(const index_key *key, const shape *in, index_run runs[SHAPE_MAX],
                             shape *out)
{
    char shown[128];
    int axes = 0, axis = 0;
    for (int i = 0; i < key->count; i++)
        axes += is_axis(&key->item[i]);
    if (axes > in->rank + 1)
        return status_fail(CORNU_INVALID,
                           "found a key for %d axes for input %s; expected at most %d", axes,
                           shape_show(in, true, shown), in->rank + 1);
    for (int i = 0; i < in->rank; i++)
        runs[i] = (index_run){0, 1, in->dim[i]};
    *out = (shape){.rank = 0};
    for (int i = 0; i < key->count; i++) {
        const index_item *item = &key->item[i];
        if (item->kind == INDEX_ELLIPSIS)
            keep_axes(in->rank + 1 - axes, in, &axis, out);
        else if (is_axis(item))
            TRY(apply_item(item, axis++, in, runs, out));
        else if (axis > 0)
            append_axis(1, out);
        else
            return status_fail(CORNU_INVALID,
                               "found a new axis before the batch; expected it after");
    }
    keep_axes(in->rank + 1 - axis, in, &axis, out);
    return CORNU_OK;
}
