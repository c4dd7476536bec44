/* Keras's operations as layers. A row says which class it is, how its call's arguments are named,
   and which function appends it: `same` where a layer has the operation's name and options, else
   one that says by append_layer which layer computes it, with which options. A class of Keras's
   that is missing here is refused by its name. */
#include "model/keras_operations.h"
#include "base/memory.h"
#include "model/config.h"
#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct operation_row {
    const char *class_name;
    const char *arguments; /* of the call, in Keras's order: "x1 x2" */
    const char *options;   /* of the configuration, besides the name; NULL: the layer knows */
    cornu_status (*append)(cornu_model *m, const operation_call *c);
    bool has_parts; /* several outputs, each of which is appended on its own */
};

/* ---- arguments ---------------------------------------------------------------------------- */

static bool is_object(const doc *d, const char *class_name)
{
    const char *name = doc_string(doc_get(d, "class_name"));
    return name && strcmp(name, class_name) == 0;
}

static bool is_tensor(const doc *d)
{
    return is_object(d, "__keras_tensor__");
}

/* A number: 2, or an array of one, as Keras writes it, which may have *axes. */
static bool read_number(const doc *d, int *axes, double *out)
{
    if (is_object(d, "__numpy__") || is_object(d, "__tensor__"))
        d = doc_get(doc_get(d, "config"), "value");
    for (*axes = 0; d && d->type == DOC_LIST && d->count == 1; (*axes)++)
        d = d->items[0];
    if (!d || (d->type != DOC_BOOL && d->type != DOC_INT && d->type != DOC_REAL) ||
        (d->type != DOC_BOOL && !isfinite(d->real)))
        return false;
    *out = d->type == DOC_BOOL ? d->boolean : d->real;
    return true;
}

static cornu_status fail_argument(const operation_call *c, int i, const char *expected)
{
    char found[80] = "nothing";
    const doc *d = c->argument[i];
    if (d)
        doc_show(d, found, sizeof found);
    if (is_object(d, "__numpy__") || is_object(d, "__tensor__"))
        memcpy(found, "an array", sizeof "an array");
    return doc_fail(d ? d : c->at, "%s (%s): found %s; expected %s", c->name, c->row->class_name,
                    is_tensor(d) ? "a tensor" : found, expected);
}

/* The node of an argument that is one tensor. */
static cornu_status get_node(const operation_call *c, int i, int *out)
{
    int first = 0;
    for (int k = 0; k < i; k++)
        first += c->tensor_count[k];
    if (!is_tensor(c->argument[i]))
        return fail_argument(c, i, "a tensor");
    *out = c->nodes[first];
    return CORNU_OK;
}

/* A number beside the tensor of this node, whose shape it must not change. */
static cornu_status get_number(const cornu_model *m, const operation_call *c, int i, int node,
                               double *out)
{
    int axes = 0;
    if (!read_number(c->argument[i], &axes, out))
        return fail_argument(c, i, "one number");
    if (axes > m->nodes[node].out.rank + 1)
        return fail_argument(c, i, "one number, of no more axes than the tensor");
    return CORNU_OK;
}

static const doc *option(const operation_call *c, const char *key)
{
    return doc_get(c->config, key);
}

static cornu_status get_int(const operation_call *c, const char *key, int64_t *out)
{
    const doc *d = option(c, key);
    if (!d || d->type == DOC_NULL)
        return doc_fail(d ? d : c->at, "%s (%s): found no %s; expected a whole number", c->name,
                        c->row->class_name, key);
    return doc_read_int(c->config, key, INT_MIN, INT_MAX, out);
}

/* An axis of a tensor of `rank` axes, the batch among them: 1 to rank - 1. */
static cornu_status get_axis(const operation_call *c, const char *key, int rank, int *out)
{
    int64_t axis = 0;
    TRY(get_int(c, key, &axis));
    const int64_t found = axis < 0 ? axis + rank : axis;
    if (found < 1 || found >= rank)
        return doc_fail(option(c, key),
                        "%s (%s): found axis %lld of a tensor of %d axes; expected 1 to %d, or -%d "
                        "to -1 (0 is the batch)",
                        c->name, c->row->class_name, (long long)axis, rank, rank - 1, rank - 1);
    *out = (int)found;
    return CORNU_OK;
}

/* ---- appending ---------------------------------------------------------------------------- */

/* Append a layer of this kind and name on these nodes. Takes the options, which may be NULL where
   memory was short. */
static cornu_status append_named(cornu_model *m, const operation_call *c, const char *kind,
                                 const char *name, json_t *options, const int *nodes, int count)
{
    doc *d = NULL;
    cornu_status status = CORNU_OUT_OF_MEMORY;
    if (!options || json_object_set_new(options, "name", json_string(name)) != 0)
        status_fail(status, "%s: not enough memory to read it", name);
    else
        status = doc_from_json(options, c->at, "config", &d);
    json_decref(options);
    if (status == CORNU_OK)
        status = model_append_on(m, kind, c->at, d, nodes, count);
    doc_free(d);
    return status;
}

static cornu_status append_layer(cornu_model *m, const operation_call *c, const char *kind,
                                 json_t *options, const int *nodes, int count)
{
    return append_named(m, c, kind, c->name, options, nodes, count);
}

/* The same on the operation's only tensor, its first argument. */
static cornu_status append_on_first(cornu_model *m, const operation_call *c, const char *kind,
                                    json_t *options)
{
    int node = 0;
    cornu_status status = get_node(c, 0, &node);
    if (status == CORNU_OK)
        return append_layer(m, c, kind, options, &node, 1);
    json_decref(options);
    return status;
}

/* A further output has a name of its own. */
static cornu_status append_part(cornu_model *m, const operation_call *c, const char *kind,
                                json_t *options)
{
    char *name = NULL;
    int node = 0;
    cornu_status status;
    TRY_GOTO(get_node(c, 0, &node));
    TRY_GOTO(memory_format(&name, "%s_output_%lld", c->name, (long long)c->output));
    status = append_named(m, c, kind, name, options, &node, 1);
    options = NULL;
done:
    json_decref(options);
    free(name);
    return status;
}

/* The word number i of a list of words; false past the last. */
static bool word_at(const char *words, int i, const char **word, size_t *length)
{
    for (; *words; words += *length) {
        words += strspn(words, " ");
        *length = strcspn(words, " ");
        *word = words;
        if (*length > 0 && i-- == 0)
            return true;
    }
    return false;
}

/* The options of the configuration, and the arguments that are no tensors. */
static json_t *same_options(const operation_call *c)
{
    json_t *options = c->config ? doc_to_json(c->config) : json_object();
    const char *word;
    size_t length;
    for (int i = 0; options && word_at(c->row->arguments, i, &word, &length); i++) {
        const doc *d = c->argument[i];
        json_t *key = json_stringn(word, length);
        if (d && d->type != DOC_NULL && c->tensor_count[i] == 0 &&
            (!key || json_object_set_new(options, json_string_value(key), doc_to_json(d)) != 0)) {
            json_decref(options);
            options = NULL;
        }
        json_decref(key);
    }
    return options;
}

/* The layer of the same name, on all tensors. */
static cornu_status same(cornu_model *m, const operation_call *c)
{
    if (c->count == 0)
        return fail_argument(c, 0, "a tensor");
    return append_layer(m, c, c->row->class_name, same_options(c), c->nodes, c->count);
}

static const shape *first_shape(const cornu_model *m, const operation_call *c)
{
    return &m->nodes[c->nodes[0]].out;
}

/* ---- of two arguments ------------------------------------------------------------------------ */

static json_t *rescaling(double scale, double offset)
{
    return json_pack("{s:f, s:f}", "scale", scale, "offset", offset);
}

/* Both arguments as tensors of one rank: others would have one's batch beside another axis. */
static cornu_status get_pair(const cornu_model *m, const operation_call *c, int nodes[2])
{
    char first[128], second[128];
    for (int i = 0; i < 2; i++)
        TRY(get_node(c, i, &nodes[i]));
    const shape *x = &m->nodes[nodes[0]].out, *z = &m->nodes[nodes[1]].out;
    if (x->rank == z->rank)
        return CORNU_OK;
    return doc_fail(
        c->at, "%s (%s): found tensors of shapes %s and %s; expected equal numbers of axes",
        c->name, c->row->class_name, shape_show(x, true, first), shape_show(z, true, second));
}

static cornu_status merge(cornu_model *m, const operation_call *c)
{
    int nodes[2] = {0};
    TRY(get_pair(m, c, nodes));
    return append_layer(m, c, c->row->class_name, json_object(), nodes, 2);
}

/* Numbers with axes. */
static bool is_array(const doc *d)
{
    if (is_object(d, "__numpy__") || is_object(d, "__tensor__"))
        d = doc_get(doc_get(d, "config"), "value");
    return d && d->type == DOC_LIST;
}

/* A call on a tensor and a number; first: the number is the first argument. */
typedef struct with_number {
    int node;
    double n;
    bool first;
} with_number;
typedef cornu_status append_with_number(cornu_model *m, const operation_call *c,
                                        const with_number *w);

/* Append the layer of the operation's name on two tensors or a tensor and an array, or what
   `append` makes of a tensor and a number. */
static cornu_status of_two(cornu_model *m, const operation_call *c, append_with_number *append)
{
    with_number w = {.first = is_tensor(c->argument[1])};
    if (w.first && is_tensor(c->argument[0]))
        return merge(m, c);
    TRY(get_node(c, w.first, &w.node));
    if (is_array(c->argument[!w.first]))
        return same(m, c);
    TRY(get_number(m, c, !w.first, w.node, &w.n));
    return append(m, c, &w);
}

static cornu_status add_number(cornu_model *m, const operation_call *c, const with_number *w)
{
    return append_layer(m, c, "Rescaling", rescaling(1, w->n), &w->node, 1);
}

static cornu_status add(cornu_model *m, const operation_call *c)
{
    return of_two(m, c, add_number);
}

static cornu_status subtract_number(cornu_model *m, const operation_call *c, const with_number *w)
{
    return append_layer(m, c, "Rescaling", w->first ? rescaling(-1, w->n) : rescaling(1, -w->n),
                        &w->node, 1);
}

static cornu_status subtract(cornu_model *m, const operation_call *c)
{
    return of_two(m, c, subtract_number);
}

static cornu_status multiply_number(cornu_model *m, const operation_call *c, const with_number *w)
{
    return append_layer(m, c, "Rescaling", rescaling(w->n, 0), &w->node, 1);
}

static cornu_status multiply(cornu_model *m, const operation_call *c)
{
    return of_two(m, c, multiply_number);
}

static cornu_status quotient_number(cornu_model *m, const operation_call *c, const with_number *w)
{
    if (w->first && w->n >= 1 && w->n <= 1)
        return append_layer(m, c, "Reciprocal", json_object(), &w->node, 1);
    if (w->first)
        return same(m, c);
    if (w->n >= 0 && w->n <= 0)
        return fail_argument(c, 1, "another divisor");
    return append_layer(m, c, "Rescaling", rescaling(1 / w->n, 0), &w->node, 1);
}

static cornu_status divide(cornu_model *m, const operation_call *c)
{
    return of_two(m, c, quotient_number);
}

static cornu_status extreme_number(cornu_model *m, const operation_call *c, const with_number *w)
{
    return append_layer(m, c, c->row->class_name, json_pack("{s:f}", w->first ? "x1" : "x2", w->n),
                        &w->node, 1);
}

static cornu_status extreme(cornu_model *m, const operation_call *c)
{
    return of_two(m, c, extreme_number);
}

/* ---- of one ---------------------------------------------------------------------------------- */

static cornu_status negative(cornu_model *m, const operation_call *c)
{
    return append_on_first(m, c, "Rescaling", rescaling(-1, 0));
}

static cornu_status power(cornu_model *m, const operation_call *c)
{
    static const struct {
        double exponent;
        const char *layer;
    } layers[] = {{2, "Square"}, {0.5, "Sqrt"}, {-0.5, "Rsqrt"}, {-1, "Reciprocal"}};
    double n = 0;
    int node = 0;
    TRY(get_node(c, 0, &node));
    TRY(get_number(m, c, 1, node, &n));
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        if (n >= layers[i].exponent && n <= layers[i].exponent)
            return append_on_first(m, c, layers[i].layer, json_object());
    return fail_argument(c, 1, "2, 0.5, -0.5 or -1 (cornu does not support other powers)");
}

/* An activation of the operation's name, in small letters: hard_silu of HardSilu. */
static cornu_status activation_of_name(cornu_model *m, const operation_call *c)
{
    char name[32];
    size_t length = 0;
    for (const char *from = c->row->class_name; *from && length + 2 < sizeof name; from++) {
        if (length > 0 && isupper((unsigned char)*from))
            name[length++] = '_';
        name[length++] = (char)tolower((unsigned char)*from);
    }
    name[length] = 0;
    return append_on_first(m, c, "Activation", json_pack("{s:s}", "activation", name));
}

/* The layer of another name with the same options. */
static cornu_status softmax(cornu_model *m, const operation_call *c)
{
    return append_on_first(m, c, "Softmax", same_options(c));
}

static cornu_status leaky_relu(cornu_model *m, const operation_call *c)
{
    return append_on_first(m, c, "LeakyReLU", same_options(c));
}

static cornu_status elu(cornu_model *m, const operation_call *c)
{
    return append_on_first(m, c, "ELU", same_options(c));
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static json_t *target_shape(const int64_t *dim, int rank)
{
    json_t *list = json_array();
    for (int i = 0; list && i < rank; i++)
        json_array_append_new(list, json_integer(dim[i]));
    return json_pack("{s:o}", "target_shape", list);
}

static cornu_status reshape(cornu_model *m, const operation_call *c)
{
    const doc *wanted = option(c, "newshape");
    int64_t dim[SHAPE_MAX];
    bool fits =
        wanted && wanted->type == DOC_LIST && wanted->count >= 1 && wanted->count <= SHAPE_MAX;
    for (int i = 0; fits && i < wanted->count; i++) {
        const doc *d = wanted->items[i];
        fits = d->type == DOC_INT || d->type == DOC_NULL;
        dim[i] = d->type == DOC_INT ? d->integer : -1;
    }
    if (!fits || dim[0] != -1)
        return doc_fail(wanted ? wanted : c->at,
                        "%s (Reshape): expected newshape to be a list of at most %d whole numbers, "
                        "-1 (the batch) first",
                        c->name, SHAPE_MAX);
    return append_on_first(m, c, "Reshape", target_shape(dim + 1, wanted->count - 1));
}

static cornu_status expand_dims(cornu_model *m, const operation_call *c)
{
    int node = 0, axis = 0;
    TRY(get_node(c, 0, &node));
    const shape *in = &m->nodes[node].out;
    int64_t dim[SHAPE_MAX + 1];
    TRY(get_axis(c, "axis", in->rank + 2, &axis));
    for (int i = 0, from = 0; i <= in->rank; i++)
        dim[i] = i == axis - 1 ? 1 : in->dim[from++];
    return append_layer(m, c, "Reshape", target_shape(dim, in->rank + 1), &node, 1);
}

/* Without one axis of length 1, or without all. */
static cornu_status squeeze(cornu_model *m, const operation_call *c)
{
    int node = 0, axis = 0, rank = 0;
    int64_t dim[SHAPE_MAX];
    TRY(get_node(c, 0, &node));
    const shape *in = &m->nodes[node].out;
    const doc *given = option(c, "axis");
    if (given && given->type != DOC_NULL)
        TRY(get_axis(c, "axis", in->rank + 1, &axis));
    if (axis > 0 && in->dim[axis - 1] != 1)
        return doc_fail(given, "%s (Squeeze): found axis %d of length %lld; expected length 1",
                        c->name, axis, (long long)in->dim[axis - 1]);
    for (int i = 0; i < in->rank; i++)
        if (axis > 0 ? i != axis - 1 : in->dim[i] != 1)
            dim[rank++] = in->dim[i];
    return append_layer(m, c, "Reshape", target_shape(dim, rank), &node, 1);
}

/* Append a Transpose by which the axis `from` comes to the place `to`, or, if they are swapped,
   also that one to its place. */
static cornu_status append_transpose(cornu_model *m, const operation_call *c, const char *from_key,
                                     const char *to_key, bool swapped)
{
    int node = 0, from = 0, to = 0;
    TRY(get_node(c, 0, &node));
    const int rank = m->nodes[node].out.rank + 1;
    TRY(get_axis(c, from_key, rank, &from));
    TRY(get_axis(c, to_key, rank, &to));
    json_t *axes = json_array();
    for (int i = 0, next = 0; i < rank; i++) {
        next += !swapped && next == from;
        const int moved = i == to ? from : swapped && i == from ? to : swapped ? i : next++;
        json_array_append_new(axes, json_integer(moved));
    }
    return append_layer(m, c, "Transpose", json_pack("{s:o}", "axes", axes), &node, 1);
}

static cornu_status swapaxes(cornu_model *m, const operation_call *c)
{
    return append_transpose(m, c, "axis1", "axis2", true);
}

static cornu_status moveaxis(cornu_model *m, const operation_call *c)
{
    return append_transpose(m, c, "source", "destination", false);
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* GetItem's options: all of the axes before `axis`, and `last` of that one. */
static json_t *key_options(int axis, const char *last)
{
    char key[2 * SHAPE_MAX + 64];
    size_t used = 0;
    for (int i = 0; i < axis; i++)
        used += (size_t)snprintf(key + used, sizeof key - used, ":,");
    snprintf(key + used, sizeof key - used, "%s", last);
    return json_pack("{s:s}", "key", key);
}

/* The elements from *begin to *end - 1 of n that output number `part` of a Split has. */
static cornu_status split_part(const operation_call *c, int64_t n, int64_t part, int64_t *begin,
                               int64_t *end)
{
    const doc *d = option(c, "indices_or_sections");
    if (d && d->type == DOC_INT && d->integer > 0 && n % d->integer == 0 && part < d->integer) {
        *begin = part * (n / d->integer);
        *end = *begin + n / d->integer;
        return CORNU_OK;
    }
    bool fits = d && d->type == DOC_LIST && part <= d->count;
    int64_t before = 0;
    for (int i = 0; fits && i <= d->count; i++) {
        fits = i == d->count || (d->items[i]->type == DOC_INT && d->items[i]->integer > before &&
                                 d->items[i]->integer < n);
        const int64_t at = !fits || i == d->count ? n : d->items[i]->integer;
        if (i == part) {
            *begin = before;
            *end = at;
        }
        before = at;
    }
    if (fits)
        return CORNU_OK;
    return doc_fail(d ? d : c->at,
                    "%s (Split): expected indices_or_sections to divide the %lld elements of the "
                    "axis into equal parts, or to be a rising list of places between them, and "
                    "more parts than output %lld",
                    c->name, (long long)n, (long long)part);
}

static cornu_status split(cornu_model *m, const operation_call *c)
{
    const shape *in = first_shape(m, c);
    char range[64];
    int axis = 0;
    int64_t begin = 0, end = 0;
    TRY(get_axis(c, "axis", in->rank + 1, &axis));
    TRY(split_part(c, in->dim[axis - 1], c->output, &begin, &end));
    snprintf(range, sizeof range, "%lld:%lld", (long long)begin, (long long)end);
    return append_part(m, c, "GetItem", key_options(axis, range));
}

static cornu_status unstack(cornu_model *m, const operation_call *c)
{
    char place[32];
    int axis = 0;
    TRY(get_axis(c, "axis", first_shape(m, c)->rank + 1, &axis));
    snprintf(place, sizeof place, "%lld", (long long)c->output);
    return append_part(m, c, "GetItem", key_options(axis, place));
}

/* One element along an axis. */
static cornu_status take(cornu_model *m, const operation_call *c)
{
    char place[32];
    int axis = 0;
    const doc *d = c->argument[1];
    TRY(get_axis(c, "axis", first_shape(m, c)->rank + 1, &axis));
    if (!d || d->type != DOC_INT)
        return fail_argument(c, 1, "one whole number (cornu takes one element)");
    snprintf(place, sizeof place, "%lld", (long long)d->integer);
    return append_on_first(m, c, "GetItem", key_options(axis, place));
}

/* ---- the table ------------------------------------------------------------------------------- */

static const operation_row rows[] = {
    {"Absolute", "x", NULL, same, false},
    {"Add", "x1 x2", "", add, false},
    {"Celu", "x", NULL, same, false},
    {"Clip", "x", NULL, same, false},
    {"Concatenate", "xs", NULL, same, false},
    {"Divide", "x1 x2", "", divide, false},
    {"Elu", "x", NULL, elu, false},
    {"Equal", "x1 x2", NULL, same, false},
    {"Exp", "x", NULL, same, false},
    {"ExpandDims", "x", "axis", expand_dims, false},
    {"Gelu", "x", NULL, same, false},
    {"GetItem", "x key", NULL, same, false},
    {"Glu", "x", NULL, same, false},
    {"Greater", "x1 x2", NULL, same, false},
    {"GreaterEqual", "x1 x2", NULL, same, false},
    {"HardShrink", "x", NULL, same, false},
    {"HardSigmoid", "x", "", activation_of_name, false},
    {"HardSilu", "x", "", activation_of_name, false},
    {"HardTanh", "x", "", activation_of_name, false},
    {"LeakyRelu", "x", NULL, leaky_relu, false},
    {"Less", "x1 x2", NULL, same, false},
    {"LessEqual", "x1 x2", NULL, same, false},
    {"Log", "x", NULL, same, false},
    {"LogSigmoid", "x", "", activation_of_name, false},
    {"LogSoftmax", "x", NULL, same, false},
    {"Matmul", "x1 x2", NULL, same, false},
    {"Max", "x", NULL, same, false},
    {"Maximum", "x1 x2", "", extreme, false},
    {"Mean", "x", NULL, same, false},
    {"Min", "x", NULL, same, false},
    {"Minimum", "x1 x2", "", extreme, false},
    {"Moveaxis", "x", "source destination", moveaxis, false},
    {"Multiply", "x1 x2", "", multiply, false},
    {"Negative", "x", "", negative, false},
    {"NotEqual", "x1 x2", NULL, same, false},
    {"Pad", "x constant_values", NULL, same, false},
    {"Power", "x1 x2", "", power, false},
    {"Reciprocal", "x", NULL, same, false},
    {"Relu", "x", "", activation_of_name, false},
    {"Relu6", "x", "", activation_of_name, false},
    {"Reshape", "x", "newshape", reshape, false},
    {"Rsqrt", "x", NULL, same, false},
    {"Selu", "x", "", activation_of_name, false},
    {"Sigmoid", "x", "", activation_of_name, false},
    {"Silu", "x", "", activation_of_name, false},
    {"SoftShrink", "x", NULL, same, false},
    {"Softmax", "x", NULL, softmax, false},
    {"Softplus", "x", "", activation_of_name, false},
    {"Softsign", "x", "", activation_of_name, false},
    {"SparsePlus", "x", "", activation_of_name, false},
    {"SparseSigmoid", "x", "", activation_of_name, false},
    {"Sparsemax", "x", NULL, same, false},
    {"Split", "x", "indices_or_sections axis", split, true},
    {"Sqrt", "x", NULL, same, false},
    {"Square", "x", NULL, same, false},
    {"Squareplus", "x", NULL, same, false},
    {"Squeeze", "x", "axis", squeeze, false},
    {"Stack", "x", NULL, same, false},
    {"Subtract", "x1 x2", "", subtract, false},
    {"Sum", "x", NULL, same, false},
    {"Swapaxes", "x", "axis1 axis2", swapaxes, false},
    {"Take", "x indices", "axis", take, false},
    {"Tanh", "x", "", activation_of_name, false},
    {"TanhShrink", "x", "", activation_of_name, false},
    {"Threshold", "x", NULL, same, false},
    {"Transpose", "x", NULL, same, false},
    {"TrueDivide", "x1 x2", "", divide, false},
    {"Unstack", "x", "num axis", unstack, true},
    {"Where", "condition x1 x2", NULL, same, false},
};
enum { ROWS = sizeof rows / sizeof *rows };

static const operation_row *find_row(const char *class_name)
{
    for (int i = 0; i < ROWS; i++)
        if (strcmp(rows[i].class_name, class_name) == 0)
            return &rows[i];
    return NULL;
}

/* The place of the word in the list, or -1. */
static int find_word(const char *words, const char *wanted)
{
    const char *word;
    size_t length;
    for (int i = 0; word_at(words, i, &word, &length); i++)
        if (strlen(wanted) == length && memcmp(word, wanted, length) == 0)
            return i;
    return -1;
}

static bool is_list_of_tensors(const doc *d)
{
    return d->type == DOC_LIST && d->count > 0 && is_tensor(d->items[0]);
}

/* Has the call, beside tensors, an argument that is none, as no call of a layer has? */
static bool has_others(const doc *node, const operation_row *row)
{
    const doc *args = doc_get(node, "args"), *kwargs = doc_get(node, "kwargs");
    int tensors = 0, others = 0;
    for (int i = 0; args && args->type == DOC_LIST && i < args->count; i++)
        *(is_tensor(args->items[i]) || is_list_of_tensors(args->items[i]) ? &tensors : &others) +=
            1;
    for (int i = 0; kwargs && kwargs->type == DOC_MAP && i < kwargs->count; i++)
        others += find_word(row->arguments, kwargs->items[i]->key) >= 0;
    return tensors > 0 && others > 0;
}

bool keras_operation_is(const doc *at)
{
    static const char begin[] = "keras.src.ops.";
    const char *module = doc_string(doc_get(at, "module"));
    const char *class_name = doc_string(doc_get(at, "class_name"));
    const doc *nodes = doc_get(at, "inbound_nodes");
    if (module)
        return strncmp(module, begin, sizeof begin - 1) == 0;
    /* Keras's .h5 files name no module. */
    const operation_row *row = class_name ? find_row(class_name) : NULL;
    if (!row || !nodes || nodes->type != DOC_LIST || nodes->count == 0 ||
        !doc_get(nodes->items[0], "args"))
        return false;
    return !layer_kind_find(class_name) || has_others(nodes->items[0], row) ||
           doc_get(doc_get(at, "config"), "newshape");
}

static cornu_status fail_unknown(const doc *at, const char *name, const char *class_name)
{
    text known = {0};
    for (int i = 0; i < ROWS; i++)
        text_add(&known, "%s%s", i ? ", " : "", rows[i].class_name);
    cornu_status status = doc_fail(at, "%s: found Keras's operation %.80s; cornu has %s", name,
                                   class_name, known.failed ? "others" : known.data);
    text_free(&known);
    return status;
}

static cornu_status check_options(const operation_call *c)
{
    for (int i = 0; c->row->options && c->config && i < c->config->count; i++) {
        const doc *d = c->config->items[i];
        if (find_word("name trainable dtype", d->key) < 0 && find_word(c->row->options, d->key) < 0)
            return doc_fail(d, "%s (%s): unknown option; expected %s", c->name, c->row->class_name,
                            c->row->options[0] ? c->row->options : "none");
    }
    return CORNU_OK;
}

static cornu_status count_tensors(operation_call *c, int i)
{
    const doc *d = c->argument[i];
    int count = 0;
    if (!d)
        return CORNU_OK;
    for (int k = 0; d->type == DOC_LIST && k < d->count; k++)
        count += is_tensor(d->items[k]);
    if (count > 0 && count < d->count)
        return fail_argument(c, i, "a list of tensors alone");
    c->tensor_count[i] = is_tensor(d) ? 1 : count;
    return CORNU_OK;
}

/* Give the call's arguments their places by order and by name. */
static cornu_status bind_arguments(const doc *node, operation_call *c)
{
    const doc *args = doc_get(node, "args"), *kwargs = doc_get(node, "kwargs");
    const char *word;
    size_t length;
    for (int i = 0; args && args->type == DOC_LIST && i < args->count; i++) {
        if (!word_at(c->row->arguments, i, &word, &length))
            return doc_fail(args, "%s (%s): found %d arguments; expected %s", c->name,
                            c->row->class_name, args->count, c->row->arguments);
        c->argument[i] = args->items[i];
    }
    for (int i = 0; kwargs && kwargs->type == DOC_MAP && i < kwargs->count; i++) {
        const int place = find_word(c->row->arguments, kwargs->items[i]->key);
        if (place < 0 || c->argument[place])
            return doc_fail(kwargs->items[i], "%s (%s): found this argument%s; expected %s",
                            c->name, c->row->class_name, place < 0 ? "" : " twice",
                            c->row->arguments);
        c->argument[place] = kwargs->items[i];
    }
    for (int i = 0; i < OPERATION_ARGUMENTS_MAX; i++)
        TRY(count_tensors(c, i));
    return CORNU_OK;
}

cornu_status keras_operation_read(const doc *at, const char *name, const doc *node,
                                  operation_call *out)
{
    const char *class_name = doc_string(doc_get(at, "class_name"));
    const doc *config = doc_get(at, "config");
    *out = (operation_call){.at = at, .config = config, .name = name};
    if (config && config->type != DOC_MAP)
        return doc_fail_found(config, "a map of options");
    out->row = find_row(class_name);
    if (!out->row)
        return fail_unknown(at, name, class_name);
    TRY(check_options(out));
    TRY(bind_arguments(node, out));
    if (keras_operation_tensor(out, 0))
        return CORNU_OK;
    return doc_fail(node, "%s (%s): found a call without tensors; expected the outputs of layers",
                    name, class_name);
}

const doc *keras_operation_tensor(const operation_call *c, int i)
{
    for (int k = 0; k < OPERATION_ARGUMENTS_MAX; k++) {
        const doc *d = c->argument[k];
        if (i < c->tensor_count[k])
            return d->type == DOC_LIST ? d->items[i] : d;
        i -= c->tensor_count[k];
    }
    return NULL;
}

bool keras_operation_has_parts(const operation_call *c)
{
    return c->row->has_parts;
}

cornu_status keras_operation_append(cornu_model *m, const operation_call *c)
{
    return c->row->append(m, c);
}
