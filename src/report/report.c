/* Counts the true and the predicted classes of samples. */
#include "report/report.h"

#include "base/memory.h"
#include "model/model.h"
#include <cornu/images.h>
#include <cornu/report.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what can be counted ------------------------------------------------------------------ */

cornu_status report_check(const cornu_model *model, const cornu_data *data)
{
    cornu_output_info info;
    char shown[128];
    const shape *s = &model->output;
    TRY(cornu_model_output_info(model, &info));
    if (s->rank < 1 || shape_elements(s) != s->dim[s->rank - 1])
        return status_fail(CORNU_UNSUPPORTED,
                           "report: found outputs of %s; expected one row of classes",
                           shape_show(s, false, shown));
    if (info.classes < 2 || (info.kind == CORNU_OUTPUT_VALUE && data->class_count == 0))
        return status_fail(CORNU_UNSUPPORTED,
                           "report: found outputs that are no classes (loss %s); expected a "
                           "probability, or a value for each class",
                           model->compiled ? loss_kind_of(model->loss.id)->name : "none");
    if (info.classes > REPORT_CLASSES_MOST)
        return status_fail(CORNU_UNSUPPORTED, "report: found %jd classes; expected at most %d",
                           (intmax_t)info.classes, REPORT_CLASSES_MOST);
    return CORNU_OK;
}

/* ---- opening and closing ------------------------------------------------------------------ */

cornu_status report_new(int64_t classes, int64_t top_k, cornu_report **out)
{
    cornu_report *r;
    *out = NULL;
    TRY(memory_new(1, sizeof *r, "report", &r));
    r->classes = classes;
    r->top_k = top_k < classes ? top_k : classes;
    size_t cells = (size_t)classes * ((size_t)classes + 1);
    cornu_status status = memory_new(cells, sizeof *r->matrix, "confusion matrix", &r->matrix);
    if (status != CORNU_OK) {
        cornu_report_close(r);
        return status;
    }
    *out = r;
    return CORNU_OK;
}

static const char *name_of(const cornu_model *model, const cornu_data *data, int64_t classes, int i)
{
    if (cornu_model_class_count(model) == classes)
        return cornu_model_class_name(model, i);
    return data->class_count == classes ? cornu_data_class_name(data, i) : NULL;
}

static cornu_status copy_names(cornu_report *r, const cornu_model *model, const cornu_data *data)
{
    if (!name_of(model, data, r->classes, 0))
        return CORNU_OK;
    TRY(memory_new((size_t)r->classes, sizeof *r->names, "class names", &r->names));
    for (int i = 0; i < r->classes; i++)
        TRY(memory_copy_string(name_of(model, data, r->classes, i), &r->names[i]));
    return CORNU_OK;
}

cornu_status report_open(const cornu_model *model, const cornu_data *data, cornu_split split,
                         int64_t top_k, cornu_report **out)
{
    cornu_output_info info;
    *out = NULL;
    TRY(report_check(model, data));
    TRY(cornu_model_output_info(model, &info));
    TRY(report_new(info.classes, top_k ? top_k : 5, out));
    (*out)->split = split;
    (*out)->streamed = data->stream != NULL;
    cornu_status status = copy_names(*out, model, data);
    if (status != CORNU_OK) {
        cornu_report_close(*out);
        *out = NULL;
    }
    return status;
}

static void drop_errors(cornu_report *r, size_t from)
{
    for (size_t i = from; i < r->error_count; i++)
        free(r->errors[i].file);
    r->error_count = from < r->error_count ? from : r->error_count;
}

void report_reset(cornu_report *r)
{
    memset(r->matrix, 0, (size_t)(r->classes * (r->classes + 1)) * sizeof *r->matrix);
    r->samples = r->top_correct = 0;
    drop_errors(r, 0);
}

void cornu_report_close(cornu_report *r)
{
    if (!r)
        return;
    drop_errors(r, 0);
    for (int64_t i = 0; r->names && i < r->classes; i++)
        free(r->names[i]);
    free(r->names);
    free(r->errors);
    free(r->matrix);
    free(r->values);
    json_decref(r->scores);
    free(r);
}

/* ---- misclassified samples ---------------------------------------------------------------- */

/* The most certain first; NaN, which is none of them, last. */
static int by_certainty(const void *a, const void *b)
{
    const report_error *x = a, *y = b;
    if (isnan(x->value) != isnan(y->value))
        return isnan(x->value) ? 1 : -1;
    if (x->value > y->value || x->value < y->value)
        return x->value > y->value ? -1 : 1;
    return x->sample < y->sample ? -1 : x->sample > y->sample;
}

static void sort_errors(cornu_report *r)
{
    if (r->error_count > 0)
        qsort(r->errors, r->error_count, sizeof *r->errors, by_certainty);
    drop_errors(r, REPORT_ERRORS_MOST);
}

/* Collect twice the number that is kept, so that sorting is rare. */
static cornu_status add_error(cornu_report *r, const report_error *e)
{
    if (r->error_count >= 2 * (size_t)REPORT_ERRORS_MOST)
        sort_errors(r);
    TRY(memory_grow(&r->errors, &r->error_capacity, r->error_count + 1, sizeof *r->errors));
    r->errors[r->error_count++] = *e;
    return CORNU_OK;
}

/* ---- one sample --------------------------------------------------------------------------- */

/* The first of the largest; -1 where all are NaN. */
static int64_t largest(const float *values, int64_t count)
{
    int64_t best = -1;
    for (int64_t i = 0; i < count; i++)
        if (!isnan(values[i]) && (best < 0 || values[i] > values[best]))
            best = i;
    return best;
}

/* True if the class is among the top_k, in the order of cornu_model_top_classes. */
static bool in_top(const cornu_report *r, int64_t truth, const float *values)
{
    int64_t before = 0;
    for (int64_t i = 0; i < r->classes; i++)
        before += values[i] > values[truth] || (i < truth && values[i] >= values[truth]);
    return !isnan(values[truth]) && before < r->top_k;
}

cornu_status report_add(cornu_report *r, int64_t sample, int64_t truth, const float *values)
{
    if (truth < 0 || truth >= r->classes)
        return status_fail(CORNU_INVALID,
                           "report: found class %jd of sample %jd; expected 0 to %jd",
                           (intmax_t)truth, (intmax_t)sample, (intmax_t)r->classes - 1);
    int64_t predicted = largest(values, r->classes);
    r->matrix[truth * (r->classes + 1) + (predicted < 0 ? r->classes : predicted)]++;
    r->samples++;
    r->top_correct += in_top(r, truth, values);
    if (predicted == truth)
        return CORNU_OK;
    return add_error(r, &(report_error){.sample = sample,
                                        .truth = truth,
                                        .predicted = predicted,
                                        .value = predicted < 0 ? NAN : values[predicted]});
}

/* ---- a step ------------------------------------------------------------------------------- */

/* Shares of classes: which one is it? */
static cornu_status class_of_shares(const float *shares, int64_t count, int64_t sample,
                                    int64_t *out)
{
    int64_t alike = 0;
    *out = largest(shares, count);
    for (int64_t i = 0; *out >= 0 && i < count; i++)
        alike += shares[i] >= shares[*out];
    if (alike == 1)
        return CORNU_OK;
    return status_fail(CORNU_INVALID,
                       "report: found a target with %jd largest shares, of sample %jd; expected "
                       "one class a sample",
                       (intmax_t)alike, (intmax_t)sample);
}

static cornu_status class_of(const cornu_report *r, const sample_block *b, int64_t at,
                             int64_t sample, int64_t *out)
{
    int64_t count = shape_elements(&b->y_shape);
    const float *y = (const float *)b->y + at * count;
    if (b->y_type == SAMPLE_I32)
        *out = ((const int32_t *)b->y)[at];
    else if (count == r->classes)
        return class_of_shares(y, count, sample, out);
    else if (r->classes == 2)
        *out = *y > 0.5f;
    else
        *out = *y >= 0 && *y < (float)r->classes ? (int64_t)*y : -1;
    return CORNU_OK;
}

cornu_status report_add_batch(cornu_report *r, const cornu_model *model, const float *outputs,
                              const sample_block *samples, const int64_t *index, int64_t count)
{
    TRY(memory_grow(&r->values, &r->value_capacity, (size_t)(count * r->classes),
                    sizeof *r->values));
    TRY(cornu_model_class_values(model, outputs, count, r->values));
    for (int64_t i = 0; i < count; i++) {
        int64_t truth, number = r->streamed ? r->samples : index[i];
        TRY(class_of(r, samples, index[i], number, &truth));
        TRY(report_add(r, number, truth, r->values + i * r->classes));
    }
    return CORNU_OK;
}

cornu_status report_finish(cornu_report *r, const cornu_data *data, const cornu_scores *scores)
{
    sort_errors(r);
    json_decref(r->scores);
    r->scores = json_object();
    for (int i = 0; i < scores->count; i++) /* NaN is no number of JSON's */
        json_object_set_new(r->scores, scores->name[i],
                            isfinite(scores->value[i]) ? json_real(scores->value[i]) : json_null());
    for (size_t i = 0; i < r->error_count; i++) {
        report_error *e = &r->errors[i];
        const char *file = cornu_data_sample_file(data, r->split, e->sample);
        if (file && !e->file)
            TRY(memory_copy_string(file, &e->file));
    }
    return CORNU_OK;
}
