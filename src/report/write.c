/* The report as JSON (docs/evaluation.md) and as a file. */
#include "base/files.h"
#include "base/memory.h"
#include "format/page/page.h"
#include "report/report.h"
#include <cornu/report.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A matrix of more classes would be too large to read. */
enum { MATRIX_MOST = 1000, CONFUSIONS_MOST = 100 };

/* null where it is not known. */
static json_t *name_of(const cornu_report *r, int64_t index)
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
    cornu_class_scores s;
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
        json_object_set_new(scores, "name", name_of(r, i));
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
                            "true_name", name_of(r, all[i].truth), "predicted",
                            index_of(all[i].predicted), "predicted_name",
                            name_of(r, all[i].predicted), "samples", (json_int_t)all[i].count));
    return list;
}

static json_t *list_errors(const cornu_report *r)
{
    json_t *list = json_array();
    for (size_t i = 0; i < r->error_count; i++) {
        const report_error *e = &r->errors[i];
        json_t *file = e->file ? json_string(e->file) : NULL;
        json_array_append_new(
            list, json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "sample", (json_int_t)e->sample,
                            "file", file ? file : json_null(), "true", index_of(e->truth),
                            "true_name", name_of(r, e->truth), "predicted", index_of(e->predicted),
                            "predicted_name", name_of(r, e->predicted), "value",
                            isfinite(e->value) ? json_real((double)e->value) : json_null()));
    }
    return list;
}

cornu_status cornu_report_json(const cornu_report *r, char **out)
{
    cornu_report_info info;
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

/* ---- files ------------------------------------------------------------------------------- */

static cornu_status write_json(const cornu_report *r, const char *path)
{
    text t = {0};
    char *json;
    TRY(cornu_report_json(r, &json));
    text_add(&t, "%s\n", json);
    cornu_free(json);
    return page_write(&t, path);
}

static cornu_status write_picture(const cornu_report *r, const char *path)
{
    canvas c;
    TRY(report_draw(r, &c));
    cornu_status status = canvas_write_png(&c, path);
    canvas_close(&c);
    return status;
}

cornu_status cornu_report_write(const cornu_report *r, const char *path)
{
    if (!r || !path)
        return status_fail(CORNU_INVALID,
                           "cornu_report_write: found NULL; expected a report and a path");
    if (path_has_ending(path, ".json"))
        return write_json(r, path);
    if (path_has_ending(path, ".png"))
        return write_picture(r, path);
    return status_fail(CORNU_INVALID,
                       "%s: found another name; expected one that ends in .json or "
                       ".png",
                       path);
}
