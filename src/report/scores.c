/* Scores computed from the counts. */
#include "report/report.h"
#include <cornu/report.h>
#include <math.h>

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
    *info = (cornu_report_info){.classes = r->classes,
                                .samples = r->samples,
                                .errors = (int64_t)r->error_count,
                                .top_k = r->top_k};
    for (int64_t i = 0; i < r->classes; i++) {
        info->correct += cell(r, i, i);
        info->undecided += cell(r, i, r->classes);
    }
    info->accuracy = ratio((double)info->correct, (double)r->samples);
    info->top_k_accuracy = ratio((double)r->top_correct, (double)r->samples);
    return CORNU_OK;
}

static void score_class(const cornu_report *r, int64_t index, cornu_class_scores *s)
{
    *s = (cornu_class_scores){.name = r->names ? r->names[index] : NULL};
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
    *mean = (cornu_class_scores){.name = weighted ? "weighted avg" : "macro avg"};
    for (int64_t i = 0; i < r->classes; i++) {
        cornu_class_scores s;
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
    if (index >= 0)
        score_class(r, index, scores);
    else
        average(r, index == CORNU_WEIGHTED_AVERAGE, scores);
    return CORNU_OK;
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
    *error = (cornu_report_error){.sample = e->sample,
                                  .truth = e->truth,
                                  .predicted = e->predicted,
                                  .value = (double)e->value,
                                  .file = e->file};
    return CORNU_OK;
}
