/* The messages of an ONNX file, which are checked before they are used. */
#include "base/files.h"
#include "base/memory.h"
#include "exchange/onnx/onnx_import.h"
#include <stdlib.h>
#include <string.h>

/* The parsed messages take at most this multiple of the file's size (memory_unpacked_most): an
   empty message of two bytes takes a hundred. */
enum { UNPACKED_TIMES = 64 };

/* ---- the file ----------------------------------------------------------------------------- */

typedef struct allowance {
    size_t left;
    bool lacked; /* memory was refused by the system */
} allowance;

static void *allocate(void *user, size_t size)
{
    allowance *a = user;
    if (size > a->left)
        return NULL;
    a->left -= size;
    void *memory = malloc(size ? size : 1);
    a->lacked |= !memory;
    return memory;
}

static void release(void *user, void *memory)
{
    (void)user;
    free(memory);
}

cornu_status onnx_read(const char *path, Onnx__ModelProto **out, size_t *size)
{
    char *content;
    *out = NULL;
    TRY(file_read(path, INT32_MAX, &content, size));
    allowance most = {.left = (size_t)memory_unpacked_most(*size, UNPACKED_TIMES)};
    ProtobufCAllocator within = {.alloc = allocate, .free = release, .allocator_data = &most};
    *out = onnx__model_proto__unpack(&within, *size, (const uint8_t *)content);
    free(content);
    if (!*out && most.lacked)
        return status_fail(CORNU_OUT_OF_MEMORY, "%s: not enough memory for its messages", path);
    if (!*out)
        return status_fail(
            CORNU_BAD_FILE,
            "%s: found no message of ONNX, or one that unpacks to more than %d times "
            "its size; expected an ONNX model",
            path, UNPACKED_TIMES);
    return CORNU_OK;
}

/* ---- nodes -------------------------------------------------------------------------------- */

const char *onnx_input_name(const Onnx__NodeProto *n, size_t i)
{
    return i < n->n_input ? n->input[i] : "";
}

bool onnx_domain_is_standard(const char *domain)
{
    return !domain || !*domain || strcmp(domain, "ai.onnx") == 0;
}

const Onnx__AttributeProto *onnx_attribute(const Onnx__NodeProto *n, const char *name)
{
    for (size_t i = 0; i < n->n_attribute; i++)
        if (n->attribute[i]->name && strcmp(n->attribute[i]->name, name) == 0)
            return n->attribute[i];
    return NULL;
}

/* An attribute without its value is 0: writers of protobuf's third syntax leave zeros out. */
int64_t onnx_int(const Onnx__NodeProto *n, const char *name, int64_t fallback)
{
    const Onnx__AttributeProto *a = onnx_attribute(n, name);
    return a ? a->i : fallback;
}

double onnx_real(const Onnx__NodeProto *n, const char *name, double fallback)
{
    const Onnx__AttributeProto *a = onnx_attribute(n, name);
    return a ? (double)a->f : fallback;
}

bool onnx_text_is(const Onnx__AttributeProto *a, const char *expected)
{
    size_t length = strlen(expected);
    return a && a->has_s && a->s.len == length && memcmp(a->s.data, expected, length) == 0;
}

cornu_status onnx_ints(const onnx_import *im, const char *name, int count, int64_t least,
                       int64_t most, int64_t *values)
{
    const Onnx__AttributeProto *a = onnx_attribute(im->steps[im->at].node, name);
    if (!a)
        return CORNU_OK;
    if (a->n_ints != (size_t)count)
        return onnx_import_fail(im, "%s: found %zu numbers; expected %d", name, a->n_ints, count);
    for (int i = 0; i < count; i++) {
        if (a->ints[i] < least || a->ints[i] > most)
            return onnx_import_fail(im, "%s: found %lld; expected %lld to %lld", name,
                                    (long long)a->ints[i], (long long)least, (long long)most);
        values[i] = a->ints[i];
    }
    return CORNU_OK;
}

/* ---- tensors ------------------------------------------------------------------------------ */

const Onnx__TensorProto *onnx_constant_of(const onnx_import *im, const char *name)
{
    const Onnx__GraphProto *g = im->graph;
    if (!*name)
        return NULL;
    for (size_t i = 0; i < g->n_initializer; i++)
        if (g->initializer[i]->name && strcmp(g->initializer[i]->name, name) == 0)
            return g->initializer[i];
    for (size_t i = 0; i < g->n_node; i++) {
        const Onnx__NodeProto *n = g->node[i];
        if (n->op_type && strcmp(n->op_type, "Constant") == 0 && n->n_output == 1 &&
            strcmp(n->output[0], name) == 0) {
            const Onnx__AttributeProto *a = onnx_attribute(n, "value");
            return a ? a->t : NULL;
        }
    }
    return NULL;
}

/* Elements of a tensor of this type whose data are in the file, whole; else -1. */
static int64_t elements_of(const Onnx__TensorProto *t, int type, size_t size, size_t listed)
{
    int64_t count = 1;
    if (!t || t->data_type != type || t->data_location != 0 || t->n_external_data > 0)
        return -1;
    for (size_t i = 0; i < t->n_dims; i++) {
        if (t->dims[i] < 0 || (t->dims[i] > 0 && count > SHAPE_ELEMENTS_MAX / t->dims[i]))
            return -1;
        count *= t->dims[i];
    }
    bool whole =
        t->has_raw_data ? t->raw_data.len == (size_t)count * size : listed == (size_t)count;
    return whole ? count : -1;
}

int64_t onnx_floats(const Onnx__TensorProto *t)
{
    return elements_of(t, 1, sizeof(float), t ? t->n_float_data : 0);
}

int64_t onnx_integers(const Onnx__TensorProto *t)
{
    return elements_of(t, 7, sizeof(int64_t), t ? t->n_int64_data : 0);
}

int64_t onnx_truths(const Onnx__TensorProto *t)
{
    return elements_of(t, 9, 1, t ? t->n_int32_data : 0);
}

float onnx_float_at(const Onnx__TensorProto *t, int64_t i)
{
    float value;
    if (!t->has_raw_data)
        return t->float_data[i];
    memcpy(&value, t->raw_data.data + (size_t)i * sizeof value, sizeof value);
    return value;
}

int64_t onnx_integer_at(const Onnx__TensorProto *t, int64_t i)
{
    int64_t value;
    if (!t->has_raw_data)
        return t->int64_data[i];
    memcpy(&value, t->raw_data.data + (size_t)i * sizeof value, sizeof value);
    return value;
}

bool onnx_truth_at(const Onnx__TensorProto *t, int64_t i)
{
    return t->has_raw_data ? t->raw_data.data[i] != 0 : t->int32_data[i] != 0;
}

cornu_status onnx_import_fail(const onnx_import *im, const char *format, ...)
{
    char why[900];
    const Onnx__NodeProto *n = im->at < im->step_count ? im->steps[im->at].node : NULL;
    const char *name = n && n->name && *n->name ? n->name
                       : n && n->n_output > 0   ? n->output[0]
                                                : "";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    return status_fail(CORNU_UNSUPPORTED, "%s: %.200s (%.100s): %s", im->path, name,
                       n && n->op_type ? n->op_type : "none", why);
}
