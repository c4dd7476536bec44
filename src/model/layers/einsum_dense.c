/* keras.layers.EinsumDense: a product whose equation says which axes of the input it sums over. */
#include "model/layers/layers.h"
#include <ctype.h>
#include <string.h>

typedef struct einsum_dense_config {
    char equation[CONFIG_WORD_SIZE], bias_axes[CONFIG_WORD_SIZE]; /* "": null */
    shape output_shape;                                           /* 0: any, as the input has it */
    activation activation;
    initializer kernel_initializer, bias_initializer;
    regularizer kernel_regularizer, bias_regularizer, activity_regularizer;
    constraint kernel_constraint, bias_constraint;
} einsum_dense_config;

static const config_field einsum_dense_fields[] = {
    OPTION(WORD, einsum_dense_config, equation, .flags = CONFIG_REQUIRED),
    OPTION(SHAPE, einsum_dense_config, output_shape, .flags = CONFIG_REQUIRED | CONFIG_OPEN,
           .minimum = 1, .maximum = LAYER_SIZE_MAX),
    OPTION(ACTIVATION, einsum_dense_config, activation, .fallback = "null"),
    OPTION(WORD, einsum_dense_config, bias_axes, .fallback = "null", .flags = CONFIG_NULLABLE),
    OPTION(INITIALIZER, einsum_dense_config, kernel_initializer, .fallback = "glorot_uniform"),
    OPTION(INITIALIZER, einsum_dense_config, bias_initializer, .fallback = "zeros"),
    OPTION_REGULARIZER(einsum_dense_config, kernel_regularizer),
    OPTION_REGULARIZER(einsum_dense_config, bias_regularizer),
    OPTION_CONSTRAINT(einsum_dense_config, kernel_constraint),
    OPTION_CONSTRAINT(einsum_dense_config, bias_constraint),
    OPTION_NEUTRAL("lora_rank", "null"),
    OPTION_NEUTRAL("lora_alpha", "null"),
    OPTION_NEUTRAL("gptq_unpacked_column_size", "null"),
    OPTION_NEUTRAL("quantization_config", "null"),
    OPTION_REGULARIZER(einsum_dense_config, activity_regularizer),
    OPTIONS_END,
};

/* ---- the equation -------------------------------------------------------------------------- */

/* The labels of axes, without the batch's; those of "..." are digits. The kernel sums over its
   first `summed` labels, which the input has, and makes the others. Labels that only the input has
   are of axes of length 1. */
typedef struct einsum {
    char in[SHAPE_MAX], kernel[SHAPE_MAX + 1], out[SHAPE_MAX + 1]; /* ending with 0 */
    int summed, elided;
    bool scales; /* the kernel multiplies elements of the input, and sums over none */
    int64_t size[128];
} einsum;

static cornu_status fail_equation(const einsum_dense_config *c, const char *expected)
{
    return status_fail(CORNU_UNSUPPORTED, "equation: found \"%s\"; expected %s", c->equation,
                       expected);
}

/* The next term of the equation: letters behind "..." where it has that, each once; a kernel may
   have none. */
static bool read_term(const char **at, const char *end, bool *dots, char term[SHAPE_MAX + 1])
{
    int count = 0;
    *dots = strncmp(*at, "...", 3) == 0;
    *at += *dots ? 3 : 0;
    for (; isalpha((unsigned char)**at) && count < SHAPE_MAX; (*at)++) {
        if (memchr(term, **at, (size_t)count))
            return false;
        term[count++] = **at;
    }
    term[count] = 0;
    if (strncmp(*at, end, strlen(end)) != 0)
        return false;
    *at += strlen(end);
    return true;
}

/* Labels for the axes that "..." stands for, but the batch. */
static bool put_elided(const einsum *e, const char *term, char *out)
{
    if (e->elided + (int)strlen(term) > SHAPE_MAX - 1)
        return false;
    for (int i = 0; i < e->elided; i++)
        out[i] = (char)('1' + i);
    memcpy(out + e->elided, term, strlen(term) + 1);
    return true;
}

static cornu_status read_terms(const einsum_dense_config *c, const shape *in, einsum *e)
{
    char first[SHAPE_MAX + 1], last[SHAPE_MAX + 1], shown[128];
    bool dots[3];
    const char *at = c->equation;
    if (!read_term(&at, ",", &dots[0], first) || !read_term(&at, "->", &dots[1], e->kernel) ||
        !read_term(&at, "", &dots[2], last) || *at || !*first || !*last || dots[1] ||
        dots[0] != dots[2])
        return fail_equation(c, "one such as \"abc,cd->abd\" or \"...x,xy->...y\", of 5 letters a "
                                "term at most");
    const int labels = (int)strlen(first);
    e->elided = dots[0] ? in->rank - labels : 0;
    if (dots[0] ? e->elided < 0 : labels != in->rank + 1)
        return status_fail(CORNU_INVALID,
                           "equation: found \"%s\" for input %s; expected as many "
                           "letters as axes",
                           c->equation, shape_show(in, true, shown));
    if (!dots[0] && (first[0] != last[0] || strchr(e->kernel, first[0])))
        return fail_equation(c, "one whose first letter, the batch, stays first");
    if (!put_elided(e, dots[0] ? first : first + 1, e->in) ||
        !put_elided(e, dots[0] ? last : last + 1, e->out))
        return fail_equation(c, "one of 4 axes besides the batch at most");
    return CORNU_OK;
}

/* Does the kernel have axes of the input alone, in its order, which all stay? */
static bool multiplies_elements(const einsum *e)
{
    const char *at = e->in;
    for (const char *k = e->kernel; *k && at; k++)
        at = strchr(at, *k);
    return at && strcmp(e->in, e->out) == 0;
}

/* Which labels the kernel sums over; each other one of the input stays, each other one of the
   kernel is new. */
static cornu_status find_summed(const einsum_dense_config *c, einsum *e)
{
    e->scales = multiplies_elements(e);
    if (e->scales)
        return CORNU_OK;
    while (e->kernel[e->summed] && strchr(e->in, e->kernel[e->summed]))
        e->summed++;
    bool fits = e->kernel[e->summed];
    for (const char *k = e->kernel; *k; k++) {
        const bool is_summed = k - e->kernel < e->summed;
        fits &=
            (strchr(e->in, *k) != NULL) == is_summed && (strchr(e->out, *k) == NULL) == is_summed;
    }
    for (const char *k = e->in; *k; k++)
        fits &= !strchr(e->kernel, *k) || !strchr(e->out, *k);
    for (const char *k = e->out; *k; k++)
        fits &= strchr(e->in, *k) || strchr(e->kernel, *k);
    if (fits)
        return CORNU_OK;
    return fail_equation(c, "a kernel that has first the letters that the output lacks, then those "
                            "that only the output has; or letters that both have, as in "
                            "\"ab,b->ab\"");
}

static cornu_status find_sizes(const einsum_dense_config *c, const shape *in, einsum *e)
{
    char shown[128];
    const int count = (int)strlen(e->out);
    if (c->output_shape.rank != count - e->elided)
        return status_fail(CORNU_INVALID, "output_shape: found %s for \"%s\"; expected %d sizes",
                           shape_show(&c->output_shape, false, shown), c->equation,
                           count - e->elided);
    for (int i = 0; e->in[i]; i++) {
        e->size[(unsigned char)e->in[i]] = in->dim[i];
        if (!strchr(e->kernel, e->in[i]) && !strchr(e->out, e->in[i]) && in->dim[i] != 1)
            return status_fail(
                CORNU_UNSUPPORTED,
                "equation: found \"%s\" for input %s, which sums over axis %c alone; "
                "expected length 1 of it, or its letter in the kernel",
                c->equation, shape_show(in, true, shown), e->in[i]);
    }
    for (int i = e->elided; i < count; i++) {
        int64_t *size = &e->size[(unsigned char)e->out[i]];
        const int64_t said = c->output_shape.dim[i - e->elided];
        if ((*size > 0 && said > 0 && said != *size) || (*size == 0 && said == 0))
            return status_fail(CORNU_INVALID, "output_shape: found %s, in which axis %c is %s%lld",
                               shape_show(&c->output_shape, false, shown), e->out[i],
                               *size > 0 ? "in the input " : "the kernel's, and ",
                               (long long)*size);
        *size = *size > 0 ? *size : said;
    }
    return CORNU_OK;
}

static cornu_status read_einsum(const einsum_dense_config *c, const shape *in, einsum *e)
{
    *e = (einsum){.summed = 0};
    TRY(read_terms(c, in, e));
    TRY(find_summed(c, e));
    return find_sizes(c, in, e);
}

static shape shape_of(const einsum *e, const char *labels)
{
    shape s = {.rank = (int)strlen(labels)};
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = e->size[(unsigned char)labels[i]];
    return s;
}

/* The input's labels that stay, in its order. */
static void kept_labels(const einsum *e, char kept[2 * SHAPE_MAX + 1])
{
    int count = 0;
    for (const char *k = e->in; *k; k++)
        if (strchr(e->out, *k))
            kept[count++] = *k;
    kept[count] = 0;
}

/* The input's labels without those that only it has. */
static void read_labels(const einsum *e, char given[SHAPE_MAX])
{
    int count = 0;
    for (const char *k = e->in; *k; k++)
        if (strchr(e->kernel, *k) || strchr(e->out, *k))
            given[count++] = *k;
    given[count] = 0;
}

/* ---- the layer ----------------------------------------------------------------------------- */

/* From its first axis on, a weight beside the output has its axes: those of `labels`, and else 1.
 */
static shape shape_beside(const einsum *e, const char *labels)
{
    shape s = {.rank = 0};
    for (const char *k = e->out; *k; k++) {
        const bool has = strchr(labels, *k);
        if (has || s.rank > 0)
            s.dim[s.rank++] = has ? e->size[(unsigned char)*k] : 1;
    }
    return s;
}

static cornu_status bias_shape(const einsum_dense_config *c, const einsum *e, shape *out)
{
    for (const char *k = c->bias_axes; *k; k++)
        if (!isalpha((unsigned char)*k) || !strchr(e->out, *k))
            return status_fail(CORNU_INVALID,
                               "bias_axes: found \"%s\" for \"%s\"; expected letters of the output "
                               "behind the batch",
                               c->bias_axes, c->equation);
    *out = shape_beside(e, c->bias_axes);
    return CORNU_OK;
}

/* The kernel of an equation that scales, seen with the output's axes. */
static void declare_scale(const einsum_dense_config *c, const einsum *e, layer_call *call)
{
    const shape beside = shape_beside(e, e->kernel);
    shape seen = {.rank = (int)strlen(e->out) + 1};
    for (int i = 0, lacking = seen.rank - beside.rank; i < seen.rank; i++)
        seen.dim[i] = i < lacking ? 1 : beside.dim[i - lacking];
    layer_weight_seen_as(call, "kernel", shape_of(e, e->kernel), seen, c->kernel_initializer, true);
}

static cornu_status einsum_dense_declare(layer *l, layer_call *call)
{
    const einsum_dense_config *c = l->config;
    einsum e;
    shape bias, matrix = {2, {1, 1}};
    TRY(read_einsum(c, &call->in[0], &e));
    TRY(bias_shape(c, &e, &bias));
    const shape kernel = shape_of(&e, e.kernel);
    for (int i = 0; i < kernel.rank; i++)
        matrix.dim[i >= e.summed] *= kernel.dim[i];
    call->out = shape_of(&e, e.out);
    if (e.scales)
        declare_scale(c, &e, call);
    else
        layer_weight_seen_as(call, "kernel", kernel, matrix, c->kernel_initializer, true);
    if (*c->bias_axes)
        layer_weight_beside(call, "bias", bias, call->out.rank, c->bias_initializer);
    return CORNU_OK;
}

/* The axes of x, which are labelled `from`, in the order of `to`. */
static cornu_status in_order(step_builder *b, tensor_ref x, const char *from, const char *to,
                             tensor_ref *y)
{
    int order[SHAPE_MAX];
    *y = x;
    if (strcmp(from, to) == 0)
        return CORNU_OK;
    for (int i = 0; to[i]; i++)
        order[i] = (int)(strchr(from, to[i]) - from) + 1;
    return emit_transpose(b, x, order, y);
}

/* The input with what is summed over as its last axis; a product; its axes in the output's order.
 */
static cornu_status emit_product(const einsum *e, step_builder *b, tensor_ref x, tensor_ref *y)
{
    char labels[2 * SHAPE_MAX + 1], given[SHAPE_MAX];
    kept_labels(e, labels);
    const size_t kept = strlen(labels);
    shape rows = shape_of(e, labels);
    read_labels(e, given);
    const shape in = shape_of(e, given);
    if (in.rank > 0)
        TRY(emit_reshape(b, x, &in, &x));
    memcpy(labels + kept, e->kernel, (size_t)e->summed);
    labels[kept + (size_t)e->summed] = 0;
    TRY(in_order(b, x, given, labels, y));
    rows.dim[rows.rank++] = 1;
    for (int i = 0; i < e->summed; i++)
        rows.dim[rows.rank - 1] *= e->size[(unsigned char)e->kernel[i]];
    TRY(emit_reshape(b, *y, &rows, y));
    TRY(emit_dense(b, *y, emit_weight(b, 0), NO_TENSOR, y));
    memcpy(labels + kept, e->kernel + e->summed, strlen(e->kernel + e->summed) + 1);
    const shape parts = shape_of(e, labels);
    TRY(emit_reshape(b, *y, &parts, y));
    return in_order(b, *y, labels, e->out, y);
}

static cornu_status einsum_dense_emit(const layer *l, step_builder *b, const tensor_ref *x,
                                      tensor_ref *y)
{
    const einsum_dense_config *c = l->config;
    const shape in = emit_shape(b, x[0]);
    einsum e;
    TRY(read_einsum(c, &in, &e));
    if (e.scales)
        TRY(emit_binary(b, BINARY_MULTIPLY, x[0], emit_weight(b, 0), y));
    else
        TRY(emit_product(&e, b, x[0], y));
    if (*c->bias_axes)
        TRY(emit_binary(b, BINARY_ADD, *y, emit_weight(b, 1), y));
    return layer_emit_activation(b, *y, c->activation, y);
}

static const char *const einsum_dense_samples[] = {
    "5 | {equation: 'ab,bc->ac', output_shape: [3], bias_axes: c, activation: tanh}",
    "4,3 | {equation: '...x,xy->...y', output_shape: [2], bias_axes: y}",
    "4,3 | {equation: 'abc,bd->adc', output_shape: [5, null], bias_axes: d}",
    "3,4 | {equation: 'abc,cde->adbe', output_shape: [2, null, 5], bias_axes: de}",
    "2,3,4 | {equation: 'abcd,cde->abe', output_shape: [null, 3]}",
    "2,3,4 | {equation: 'abcd,bd->abcd', output_shape: [null, 3, 4], bias_axes: d}",
    "5 | {equation: '...b,b->...b', output_shape: [5]}",
    "3,1 | {equation: 'abc,de->abde', output_shape: [3, 2, 4], bias_axes: e}",
    "4,3 | {equation: 'abc,->abc', output_shape: [4, 3]}",
    NULL,
};

const layer_kind layer_EinsumDense = {
    .name = "EinsumDense",
    .base_name = "einsum_dense",
    .config_size = sizeof(einsum_dense_config),
    .fields = einsum_dense_fields,
    .declare = einsum_dense_declare,
    .emit = einsum_dense_emit,
    .samples = einsum_dense_samples,
};
