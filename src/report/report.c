/* The report of an evaluation: the true and the predicted classes of samples, the scores of it, and
   both as JSON (docs/evaluation.md). */
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
    cornu_output_info info = {.size = sizeof info};
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
                           model->compiled ? loss_kind_of(model_loss(model)->id)->name : "none");
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
    cornu_output_info info = {.size = sizeof info};
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
    for (int i = 0; i < scores->all_count; i++) /* NaN is no number of JSON's */
        json_object_set_new(r->scores, scores->all_name[i],
                            isfinite(scores->all_value[i]) ? json_real(scores->all_value[i])
                                                           : json_null());
    for (size_t i = 0; i < r->error_count; i++) {
        report_error *e = &r->errors[i];
        const char *file = cornu_data_sample_file(data, r->split, e->sample);
        if (file && !e->file)
            TRY(memory_copy_string(file, &e->file));
    }
    return CORNU_OK;
}

/* ---- scores --------------------------------------------------------------------------------- */

/* Scores computed from the counts. */
static cornu_status fail_null(const char *function)
{
    return status_fail(CORNU_INVALID, "%s: found NULL; expected a report and a place for it",
                       function);
}

static int64_t cell(const cornu_report *r, int64_t truth, int64_t predicted)
{
    return r->matrix[truth * (r->classes + 1) + predicted];
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}

cornu_status cornu_report_info_get(const cornu_report *r, cornu_report_info *info)
{
    if (!r || !info)
        return fail_null("cornu_report_info_get");
    cornu_report_info own = {.size = sizeof own,
                             .classes = r->classes,
                             .samples = r->samples,
                             .errors = (int64_t)r->error_count,
                             .top_k = r->top_k};
    for (int64_t i = 0; i < r->classes; i++) {
        own.correct += cell(r, i, i);
        own.undecided += cell(r, i, r->classes);
    }
    own.accuracy = ratio((double)own.correct, (double)r->samples);
    own.top_k_accuracy = ratio((double)r->top_correct, (double)r->samples);
    return STRUCT_WRITE("cornu_report_info", info, &own);
}

static void score_class(const cornu_report *r, int64_t index, cornu_class_scores *s)
{
    *s = (cornu_class_scores){.size = sizeof(cornu_class_scores),
                              .name = r->names ? r->names[index] : NULL};
    for (int64_t i = 0; i < r->classes; i++)
        s->predicted += cell(r, i, index);
    for (int64_t i = 0; i <= r->classes; i++)
        s->support += cell(r, index, i);
    double hits = (double)cell(r, index, index);
    s->precision = ratio(hits, (double)s->predicted);
    s->recall = ratio(hits, (double)s->support);
    s->f1 = ratio(2 * hits, (double)(s->predicted + s->support));
}

static void average(const cornu_report *r, bool weighted, cornu_class_scores *mean)
{
    double weights = weighted ? (double)r->samples : (double)r->classes;
    *mean = (cornu_class_scores){.size = sizeof(cornu_class_scores),
                                 .name = weighted ? "weighted avg" : "macro avg"};
    for (int64_t i = 0; i < r->classes; i++) {
        cornu_class_scores s = {.size = sizeof s};
        score_class(r, i, &s);
        double weight = weighted ? (double)s.support : 1;
        mean->precision += weight * s.precision;
        mean->recall += weight * s.recall;
        mean->f1 += weight * s.f1;
        mean->support += s.support;
        mean->predicted += s.predicted;
    }
    mean->precision = ratio(mean->precision, weights);
    mean->recall = ratio(mean->recall, weights);
    mean->f1 = ratio(mean->f1, weights);
}

cornu_status cornu_report_class(const cornu_report *r, int64_t index, cornu_class_scores *scores)
{
    if (!r || !scores)
        return fail_null("cornu_report_class");
    if (index < CORNU_WEIGHTED_AVERAGE || index >= r->classes)
        return status_fail(CORNU_INVALID, "class: found %jd; expected 0 to %jd, or an average",
                           (intmax_t)index, (intmax_t)r->classes - 1);
    cornu_class_scores own = {.size = sizeof own};
    if (index >= 0)
        score_class(r, index, &own);
    else
        average(r, index == CORNU_WEIGHTED_AVERAGE, &own);
    return STRUCT_WRITE("cornu_class_scores", scores, &own);
}

int64_t cornu_report_count(const cornu_report *r, int64_t truth, int64_t predicted)
{
    if (!r || truth < 0 || truth >= r->classes || predicted < -1 || predicted >= r->classes)
        return 0;
    return cell(r, truth, predicted < 0 ? r->classes : predicted);
}

int64_t cornu_report_confusions(const cornu_report *r, int64_t most, cornu_confusion *confusions)
{
    int64_t found = 0;
    if (!r || !confusions || most < 1)
        return 0;
    for (int64_t truth = 0; truth < r->classes; truth++)
        for (int64_t predicted = 0; predicted < r->classes; predicted++) {
            int64_t count = truth == predicted ? 0 : cell(r, truth, predicted);
            if (count == 0 || (found == most && count <= confusions[most - 1].count))
                continue;
            int64_t at = found < most ? found++ : most - 1;
            for (; at > 0 && confusions[at - 1].count < count; at--)
                confusions[at] = confusions[at - 1];
            confusions[at] =
                (cornu_confusion){.truth = truth, .predicted = predicted, .count = count};
        }
    return found;
}

cornu_status cornu_report_error_get(const cornu_report *r, int64_t index, cornu_report_error *error)
{
    if (!r || !error)
        return fail_null("cornu_report_error_get");
    if (index < 0 || index >= (int64_t)r->error_count)
        return status_fail(CORNU_INVALID, "misclassified sample: found %jd; expected 0 to %jd",
                           (intmax_t)index, (intmax_t)r->error_count - 1);
    const report_error *e = &r->errors[index];
    const cornu_report_error own = {.size = sizeof own,
                                    .sample = e->sample,
                                    .truth = e->truth,
                                    .predicted = e->predicted,
                                    .value = (double)e->value,
                                    .file = e->file};
    return STRUCT_WRITE("cornu_report_error", error, &own);
}

/* ---- JSON ------------------------------------------------------------------------- */

/* The report as JSON (docs/evaluation.md) and as a file. */
/* A matrix of more classes would be too large to read. */
enum { MATRIX_MOST = 1000, CONFUSIONS_MOST = 100 };

/* null where it is not known. */
static json_t *name_json(const cornu_report *r, int64_t index)
{
    json_t *name = r->names && index >= 0 ? json_string(r->names[index]) : NULL;
    return name ? name : json_null(); /* also where it is no UTF-8 */
}

static json_t *index_of(int64_t index)
{
    return index < 0 ? json_null() : json_integer(index);
}

static json_t *scores_of(const cornu_report *r, int64_t index)
{
    cornu_class_scores s = {.size = sizeof s};
    if (cornu_report_class(r, index, &s) != CORNU_OK)
        return NULL;
    return json_pack("{s:f, s:f, s:f, s:I}", "precision", s.precision, "recall", s.recall,
                     "f1_score", s.f1, "support", (json_int_t)s.support);
}

static json_t *list_classes(const cornu_report *r)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < r->classes; i++) {
        json_t *scores = scores_of(r, i);
        json_object_set_new(scores, "name", name_json(r, i));
        json_array_append_new(list, scores);
    }
    return list;
}

static json_t *list_matrix(const cornu_report *r)
{
    if (r->classes > MATRIX_MOST)
        return json_null();
    json_t *rows = json_array();
    for (int64_t truth = 0; truth < r->classes; truth++) {
        json_t *row = json_array();
        for (int64_t predicted = 0; predicted < r->classes; predicted++)
            json_array_append_new(row, json_integer(cornu_report_count(r, truth, predicted)));
        json_array_append_new(rows, row);
    }
    return rows;
}

static json_t *list_confusions(const cornu_report *r)
{
    cornu_confusion all[CONFUSIONS_MOST];
    int64_t count = cornu_report_confusions(r, CONFUSIONS_MOST, all);
    json_t *list = json_array();
    for (int64_t i = 0; i < count; i++)
        json_array_append_new(
            list, json_pack("{s:o, s:o, s:o, s:o, s:I}", "true", index_of(all[i].truth),
                            "true_name", name_json(r, all[i].truth), "predicted",
                            index_of(all[i].predicted), "predicted_name",
                            name_json(r, all[i].predicted), "samples", (json_int_t)all[i].count));
    return list;
}

static json_t *list_errors(const cornu_report *r)
{
    json_t *list = json_array();
    for (size_t i = 0; i < r->error_count; i++) {
        const report_error *e = &r->errors[i];
        json_t *file = e->file ? json_string(e->file) : NULL;
        json_array_append_new(
            list,
            json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "sample", (json_int_t)e->sample,
                      "file", file ? file : json_null(), "true", index_of(e->truth), "true_name",
                      name_json(r, e->truth), "predicted", index_of(e->predicted), "predicted_name",
                      name_json(r, e->predicted), "value",
                      isfinite(e->value) ? json_real((double)e->value) : json_null()));
    }
    return list;
}

cornu_status cornu_report_json(const cornu_report *r, char **out)
{
    cornu_report_info info = {.size = sizeof info};
    if (!r || !out)
        return status_fail(CORNU_INVALID,
                           "cornu_report_json: found NULL; expected a report and a place for it");
    *out = NULL;
    TRY(cornu_report_info_get(r, &info));
    json_t *all = json_pack(
        "{s:I, s:I, s:f, s:{s:I, s:f}, s:I, s:O?, s:o, s:o, s:o, s:o, s:o, s:I, s:o}", "samples",
        (json_int_t)info.samples, "correct", (json_int_t)info.correct, "accuracy", info.accuracy,
        "top_k", "k", (json_int_t)info.top_k, "accuracy", info.top_k_accuracy, "undecided",
        (json_int_t)info.undecided, "scores", r->scores, "classes", list_classes(r), "macro_avg",
        scores_of(r, CORNU_MACRO_AVERAGE), "weighted_avg", scores_of(r, CORNU_WEIGHTED_AVERAGE),
        "confusion_matrix", list_matrix(r), "confusions", list_confusions(r), "errors",
        (json_int_t)(info.samples - info.correct), "misclassified", list_errors(r));
    *out = all ? json_dumps(all, JSON_REAL_PRECISION(12)) : NULL;
    json_decref(all);
    return *out ? CORNU_OK : status_fail(CORNU_OUT_OF_MEMORY, "report: not enough memory for JSON");
}
