/* The table of networks, their options, and what all of them check. */
#include "model/applications/applications.h"
#include "base/memory.h"
#include "model/applications/network.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const application *const families[] = {
    applications_vgg,          applications_resnet,    applications_inception,
    applications_densenet,     applications_mobilenet, applications_mobilenet_v3,
    applications_efficientnet, applications_xception,
};
enum { FAMILIES = sizeof families / sizeof *families };

/* ---- names ------------------------------------------------------------------------------ */

/* Row `index` of all families; NULL past the end. */
static const application *application_at(int index)
{
    for (int f = 0; f < FAMILIES; f++)
        for (const application *a = families[f]; a->name; a++)
            if (index-- == 0)
                return a;
    return NULL;
}

const char *application_name(int index)
{
    const application *a = application_at(index);
    return a ? a->name : NULL;
}

static char next_letter(const char **at)
{
    while (**at == '-' || **at == '_')
        (*at)++;
    return (char)tolower((unsigned char)(**at ? *(*at)++ : '\0'));
}

static bool is_spelling(const char *a, const char *b)
{
    char letter;
    while ((letter = next_letter(&a)) == next_letter(&b))
        if (!letter)
            return true;
    return false;
}

static const application *find(const char *name)
{
    const application *a = NULL;
    for (int i = 0; (a = application_at(i)) != NULL; i++)
        if (is_spelling(name, a->name) || is_spelling(name, a->keras))
            return a;
    return NULL;
}

bool application_is(const char *name)
{
    return name && find(name);
}

/* ---- options ---------------------------------------------------------------------------- */

/* Are there weights with the top for images of this shape? */
static bool is_published(const application *a, const shape *s)
{
    bool found = s->dim[0] == a->size;
    for (const int64_t *size = a->sizes; size && *size; size++)
        found |= s->dim[0] == *size;
    return found && s->dim[0] == s->dim[1];
}

static void check_imagenet(network *n)
{
    const shape *s = &n->o.input_shape;
    const long long size = n->of->size;
    if (n->o.weights != WEIGHTS_IMAGENET)
        return;
    if (s->dim[2] != 3)
        net_refuse(n, "input_shape", "found %lld channels; expected 3 with weights \"imagenet\"",
                   (long long)s->dim[2]);
    if (!n->o.include_top)
        return;
    if (n->o.classes != 1000)
        net_refuse(n, "classes",
                   "found %lld; expected 1000 with include_top and weights \"imagenet\"",
                   (long long)n->o.classes);
    if (!n->of->open && !is_published(n->of, s))
        net_refuse(n, "input_shape",
                   "found [%lld, %lld, %lld]; expected [%lld, %lld, 3] with include_top and "
                   "weights \"imagenet\"",
                   (long long)s->dim[0], (long long)s->dim[1], (long long)s->dim[2], size, size);
    const activation_kind last = n->o.classifier_activation.kind;
    if (last != ACTIVATION_SOFTMAX && last != ACTIVATION_LINEAR)
        net_refuse(n, "classifier_activation",
                   "found another; expected softmax or null with weights \"imagenet\"");
}

static void check_shape(network *n)
{
    shape *s = &n->o.input_shape;
    const int64_t minimum = n->of->minimum;
    if (s->rank == 0)
        *s = (shape){.rank = 3, .dim = {n->of->size, n->of->size, 3}};
    if (s->rank != 3) {
        net_refuse(n, "input_shape", "found %d dimensions; expected three: height, width, channels",
                   s->rank);
        return;
    }
    if (s->dim[2] == 0 || (n->o.include_top && !n->of->open && (s->dim[0] == 0 || s->dim[1] == 0)))
        net_refuse(n, "input_shape", "found a size that is open; expected %s",
                   s->dim[2] == 0 ? "the number of channels" : "all sizes with include_top");
    if ((s->dim[0] != 0 && s->dim[0] < minimum) || (s->dim[1] != 0 && s->dim[1] < minimum))
        net_refuse(n, "input_shape", "found [%lld, %lld, %lld]; expected at least %lldx%lld",
                   (long long)s->dim[0], (long long)s->dim[1], (long long)s->dim[2],
                   (long long)minimum, (long long)minimum);
}

/* ---- the configuration ------------------------------------------------------------------ */

static const char *model_name(const network *n)
{
    return n->o.name ? n->o.name : n->of->model_name ? n->of->model_name : n->model_name;
}

/* Of the weights; NULL: there are none. */
static json_t *address(const network *n)
{
    const char *file = n->of->weights ? n->of->weights : n->weights;
    const char *ending = n->o.include_top || !n->of->no_top ? "" : n->of->no_top;
    return *file ? json_sprintf("https://storage.googleapis.com/%s%s%s.h5",
                                strchr(file, '/') ? "tensorflow/keras-applications/"
                                                  : "keras-applications/",
                                file, ending)
                 : json_null();
}

/* Takes the lists. */
static cornu_status finish(network *n, bool more, json_t **out)
{
    json_t *config =
        json_pack("{s:s, s:o, s:[[s, i, i]], s:[[s, i, i]]}", "name", model_name(n), "layers",
                  n->layers, "input_layers", n->input, 0, 0, "output_layers", n->output, 0, 0);
    *out = json_pack("{s:s, s:o}", "class_name", "Functional", "config", config);
    if (*out && more &&
        (json_object_set(*out, "automatic", n->automatic) != 0 ||
         json_object_set_new(*out, "weights", address(n)) != 0)) {
        json_decref(*out);
        *out = NULL;
    }
    json_decref(n->automatic);
    return *out ? CORNU_OK : status_fail(CORNU_OUT_OF_MEMORY, "%s: not enough memory", n->of->name);
}

static cornu_status fail_name(const doc *at, const char *name)
{
    const char *names[128];
    int count = 0;
    while (count < 128 && (names[count] = application_name(count)) != NULL)
        count++;
    return name_fail(at, "network", name, names, count);
}

cornu_status application_config(const char *name, const doc *at, const doc *options, bool more,
                                json_t **out)
{
    const application *a = find(name);
    *out = NULL;
    if (!a)
        return fail_name(at, name);
    network n = {.of = a};
    TRY(config_check_keys(a->name, options, a->fields, NULL));
    TRY(config_read(a->name, at, options, a->fields, &n.o));
    n.layers = json_array();
    n.automatic = json_array();
    check_shape(&n);
    check_imagenet(&n);
    if (n.status == CORNU_OK)
        a->describe(&n);
    if (!more && n.o.weights != WEIGHTS_NONE) /* a recipe makes no model of a file */
        net_refuse(&n, "weights", "found imagenet; expected null, and a file with --init");
    if (n.o.weights == WEIGHTS_IMAGENET && !a->weights && !*n.weights)
        net_refuse(&n, "weights",
                   "found \"imagenet\"; expected null, as Keras has no such weights");
    if (n.status == CORNU_OK)
        return finish(&n, more, out);
    json_decref(n.layers);
    json_decref(n.automatic);
    return at && at->source ? status_prefix(n.status, "%s:%d", at->source, at->line) : n.status;
}

cornu_status application_recipe(const char *name, int64_t classes, char **yaml)
{
    const application *a = find(name);
    if (!a)
        return fail_name(NULL, name);
    text t = {.data = NULL};
    text_add(&t, "name: %s\nmodel: {%s: {", a->name, a->name);
    if (classes > 0)
        text_add(&t, "classes: %lld", (long long)classes);
    text_add(&t, "}}\ncompile: {optimizer: adam, loss: sparse_categorical_crossentropy, metrics: "
                 "[accuracy]}\n");
    return text_take(&t, yaml);
}

/* ---- tables ----------------------------------------------------------------------------- */

json_t *application_table(void)
{
    json_t *list = json_array();
    const application *a = NULL;
    for (int i = 0; (a = application_at(i)) != NULL; i++) {
        json_t *row = config_row(a->keras, a->name, config_describe(a->fields));
        if (row)
            json_object_update_new(row, json_pack("{s:s?, s:s?, s:s, s:I, s:b}", "module",
                                                  a->module, "model_name", a->model_name,
                                                  "preprocessing", a->preprocessing, "size",
                                                  (json_int_t)a->size, "open", (int)a->open));
        json_array_append_new(list, row);
    }
    return list;
}
