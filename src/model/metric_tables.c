/* Metrics that are made of a table: what is counted for them, and their values. */
#include "model/compile.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double EPSILON = 1e-7; /* Keras's */

/* Complete the specification by the row of its kind. */
static tally_spec with_row(tally_spec t)
{
    enum { ELEMENT, ROW };
    static const struct {
        int planes;
        bool of_rows;
    } rows[] = {
#define TALLY(id, rule, of, planes) {planes, of == ROW},
#include "model/tallies.def"
    };
    t.planes = rows[t.kind].planes;
    t.of_rows = rows[t.kind].of_rows;
    return t;
}

static metric_value_kind value_of(const metric *m)
{
    return metric_kind_of(m->id)->value;
}

/* Precision, recall and counts at one threshold are sums. */
static bool has_thresholds(const metric *m)
{
    const metric_value_kind value = value_of(m);
    return (value == METRIC_VALUE_SHARE || value == METRIC_VALUE_COUNT) &&
           (m->k > 0 || m->thresholds.count > 1);
}

bool metric_has_table(const metric *m)
{
    return !m->of_loss && (value_of(m) >= METRIC_VALUE_AUC || has_thresholds(m));
}

/* ---- thresholds --------------------------------------------------------------------------- */

static bool is_auc(const metric *m)
{
    return m->id == METRIC_AUC;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The thresholds that the user gave, with AUC's ends: in rising order, or as they were given. */
static int given_thresholds(const metric *m, bool sorted, double out[METRIC_LIMITS_MAX])
{
    const number_list *given = &m->thresholds;
    const int first = is_auc(m), count = given->count < 0 ? 0 : given->count;
    memcpy(out + first, given->value, (size_t)count * sizeof *out);
    if (sorted)
        qsort(out + first, (size_t)count, sizeof *out, ascending);
    if (!is_auc(m))
        return count;
    out[0] = -EPSILON;
    out[count + 1] = 1 + EPSILON;
    return count + 2;
}

/* The number of points, each a threshold. */
static int64_t points(const metric *m)
{
    if (m->thresholds.count >= 0)
        return m->thresholds.count + (is_auc(m) ? 2 : 0);
    return has_thresholds(m) ? 1 : m->num_thresholds;
}

/* As Keras finds out: are they 0, 1 / (n - 1), ... 1? */
static bool are_even(const metric *m)
{
    double given[METRIC_LIMITS_MAX];
    if (m->thresholds.count < 0)
        return points(m) > 1;
    const int count = given_thresholds(m, is_auc(m), given);
    for (int i = 0; i < count; i++) {
        const double even = i / (double)(count - 1);
        if (fabs(given[i] - even) > EPSILON + 1e-5 * even)
            return false;
    }
    return count >= 3;
}

int metric_limits(const metric *m, float limits[METRIC_LIMITS_MAX])
{
    double given[METRIC_LIMITS_MAX];
    int count = given_thresholds(m, true, given);
    if (m->thresholds.count < 0) { /* the k largest, or one threshold in the middle */
        given[0] = has_thresholds(m) ? -1e10 : 0.5;
        count = 1;
    }
    for (int i = 0; i < count; i++)
        limits[i] = (float)given[i];
    return count;
}

static tally_spec thresholds_tally(const metric *m)
{
    const bool by_column = m->multi_label || m->label_weights.count >= 0;
    return (tally_spec){.kind = are_even(m) ? TALLY_EVEN : TALLY_LIMITS,
                        .buckets = (points(m) + 1) * (by_column ? m->columns : 1),
                        .k = m->k,
                        .column = m->class_id,
                        .by_column = by_column,
                        .reals = {(float)(points(m) - 1), is_auc(m)}};
}

/* ---- what is counted ---------------------------------------------------------------------- */

static tally_spec iou_tally(const metric *m)
{
    const tally_kind kind = m->id == METRIC_BINARY_IOU ? TALLY_HALVES
                            : m->sparse_found          ? TALLY_CLASSES
                            : m->sparse_true           ? TALLY_SPARSE_BEST
                                                       : TALLY_BEST;
    return (tally_spec){.kind = kind,
                        .buckets = m->class_count * m->class_count,
                        .k = m->class_count,
                        .column = -1,
                        .whole_weights = true,
                        .reals = {(float)m->threshold, (float)m->ignore_class}};
}

static tally_spec labels_tally(const metric *m)
{
    return (tally_spec){.kind = TALLY_LABELS,
                        .buckets = 2 * m->columns,
                        .k = isinf(m->threshold) != 0,
                        .column = -1,
                        .reals = {(float)m->threshold}};
}

tally_spec metric_tally(const metric *m)
{
    switch (value_of(m)) {
    case METRIC_VALUE_F_BETA:
        return with_row(labels_tally(m));
    case METRIC_VALUE_IOU:
        return with_row(iou_tally(m));
    case METRIC_VALUE_R2:
        return with_row((tally_spec){.kind = TALLY_MOMENTS, .buckets = m->columns, .column = -1});
    default:
        return with_row(thresholds_tally(m));
    }
}

int64_t metric_table_count(const metric *m)
{
    const tally_spec t = metric_tally(m);
    return metric_has_table(m) ? t.planes * t.buckets : 0;
}

/* ---- checks ------------------------------------------------------------------------------- */

static cornu_status check_auc(const doc *at, const shape *output, metric *m)
{
    if (m->multi_label && output->rank != 1)
        return doc_fail(at, "multi_label: found an output of %d dimensions; expected one",
                        output->rank);
    if (m->num_labels && (!m->multi_label || m->num_labels != m->columns))
        return doc_fail(at,
                        "num_labels: found %lld; expected null or, with multi_label, %lld, the "
                        "number of outputs",
                        (long long)m->num_labels, (long long)m->columns);
    if (m->label_weights.count >= 0 && m->label_weights.count != m->columns)
        return doc_fail(at, "label_weights: found %d; expected %lld, one for each output",
                        m->label_weights.count, (long long)m->columns);
    return CORNU_OK;
}

static cornu_status check_iou(const doc *at, metric *m)
{
    if (m->id == METRIC_BINARY_IOU) {
        m->class_count = 2;
        m->ignore_class = -1;
        m->sparse_true = m->sparse_found = true;
    }
    if (!m->sparse_true && m->sparse_found)
        return doc_fail(at, "sparse_y_pred: found true with one-hot targets; expected false");
    for (int i = 0; i < m->classes.count; i++)
        if (m->classes.value[i] >= (double)m->class_count)
            return doc_fail(at, "target_class_ids: found %g; expected at most %lld",
                            m->classes.value[i], (long long)m->class_count - 1);
    return CORNU_OK;
}

static cornu_status check_columns(const doc *at, const shape *output, const metric *m)
{
    if (output->rank == 1)
        return CORNU_OK;
    return doc_fail(at, "%s: found an output of %d dimensions; expected one",
                    metric_kind_of(m->id)->name, output->rank);
}

static cornu_status check_kind(const doc *at, const shape *output, metric *m)
{
    switch (value_of(m)) {
    case METRIC_VALUE_AUC:
        return check_auc(at, output, m);
    case METRIC_VALUE_IOU:
        return check_iou(at, m);
    case METRIC_VALUE_F_BETA:
    case METRIC_VALUE_R2:
        return check_columns(at, output, m);
    default:
        if (m->k > m->columns)
            return doc_fail(at, "top_k: found %lld; expected at most %lld, the number of outputs",
                            (long long)m->k, (long long)m->columns);
        return CORNU_OK;
    }
}

cornu_status metric_check_table(const doc *at, const shape *output, metric *m)
{
    m->value_count = 1;
    if (!metric_has_table(m))
        return CORNU_OK;
    TRY(check_kind(at, output, m));
    if (has_thresholds(m))
        m->value_count = (int)points(m);
    else if (value_of(m) != METRIC_VALUE_AUC && m->average == METRIC_EACH &&
             m->columns <= TALLY_NUMBERS_MAX)
        m->value_count = (int)m->columns;
    if (metric_table_count(m) > TALLY_NUMBERS_MAX)
        return doc_fail(at, "%s: found a table of %lld numbers; expected at most %d",
                        metric_kind_of(m->id)->name, (long long)metric_table_count(m),
                        TALLY_NUMBERS_MAX);
    return CORNU_OK;
}

/* ---- values of thresholds ----------------------------------------------------------------- */

static double share(double a, double b)
{
    return b > 0 || b < 0 ? a / b : 0;
}

/* The positives and negatives of a table: of one label or of all, each times its weight. */
typedef struct sides {
    const double *table;
    int64_t plane, per;    /* numbers of a plane, buckets of a label */
    int64_t first, end;    /* labels */
    const double *weights; /* NULL: 1 each */
    double positives, negatives;
} sides;

static double bucket(const sides *s, int side, int64_t b)
{
    double sum = 0;
    for (int64_t i = s->first; i < s->end; i++)
        sum += (s->weights ? s->weights[i] : 1) * s->table[side * s->plane + i * s->per + b];
    return sum;
}

/* first < 0: all labels */
static sides sides_of(const metric *m, const double *table, int64_t first)
{
    const tally_spec t = metric_tally(m);
    sides s = {.table = table, .plane = t.buckets, .per = points(m) + 1};
    const int64_t labels = t.buckets / s.per;
    s.first = first < 0 ? 0 : first;
    s.end = first < 0 ? labels : first + 1;
    s.weights = first < 0 && m->label_weights.count >= 0 ? m->label_weights.value : NULL;
    for (int64_t b = 0; b < s.per; b++) {
        s.positives += bucket(&s, 0, b);
        s.negatives += bucket(&s, 1, b);
    }
    return s;
}

/* The weights of true and of false positives above a threshold. */
typedef struct point {
    double tp, fp;
} point;

static point add_bucket(const sides *s, point p, int64_t b)
{
    return (point){p.tp + bucket(s, 0, b), p.fp + bucket(s, 1, b)};
}

static void curve_at(const metric *m, const sides *s, point p, double *x, double *y)
{
    const double fn = s->positives - p.tp, scale = share(s->positives, s->negatives);
    const double recall = share(p.tp, s->positives);
    switch (m->curve) {
    case METRIC_ROC:
        *x = share(p.fp, s->negatives);
        *y = recall;
        break;
    case METRIC_PR:
        *x = recall;
        *y = share(p.tp, p.tp + p.fp);
        break;
    default:
        *x = p.tp > 0 ? fmax(1 - scale * fn / p.tp, 0) : 0;
        *y = p.tp > 0 ? 1 - scale * p.fp / p.tp : 1;
    }
}

/* Davis and Goadrich, "The relationship between precision-recall and ROC curves", 2006: between two
   thresholds positives are interpolated, not precision. */
static double interpolated_precision(const sides *s, point p, point next)
{
    const double more = p.tp - next.tp, found = p.tp + p.fp, found_next = next.tp + next.fp;
    const double slope = share(more, fmax(found - found_next, 0));
    const double intercept = next.tp - slope * found_next;
    const double ratio = found > 0 && found_next > 0 ? found / found_next : 1;
    return share(slope * (more + intercept * log(ratio)), s->positives);
}

static double area(const metric *m, const sides *s, point p, point next)
{
    double x, y, next_x, next_y;
    if (m->curve == METRIC_PR && m->summation == METRIC_INTERPOLATION)
        return interpolated_precision(s, p, next);
    curve_at(m, s, p, &x, &y);
    curve_at(m, s, next, &next_x, &next_y);
    const double height = m->summation == METRIC_INTERPOLATION ? (y + next_y) / 2
                          : m->summation == METRIC_MINORING    ? fmin(y, next_y)
                                                               : fmax(y, next_y);
    return (x - next_x) * height;
}

static double auc_of(const metric *m, const sides *s)
{
    point next = add_bucket(s, (point){0}, s->per - 1);
    double sum = 0;
    for (int64_t b = s->per - 2; b > 0; b--) {
        const point p = add_bucket(s, next, b);
        sum += area(m, s, p, next);
        next = p;
    }
    return sum;
}

static double auc(const metric *m, const double *table)
{
    const double *weights = m->label_weights.count >= 0 ? m->label_weights.value : NULL;
    double sum = 0, of = 0;
    if (!m->multi_label) {
        const sides all = sides_of(m, table, -1);
        return auc_of(m, &all);
    }
    for (int64_t i = 0; i < m->columns; i++) {
        const sides s = sides_of(m, table, i);
        sum += (weights ? weights[i] : 1) * auc_of(m, &s);
        of += weights ? weights[i] : 1;
    }
    return share(sum, of);
}

/* The largest of one figure where another is at least m->at. */
static double best_at(const metric *m, const double *table)
{
    const sides s = sides_of(m, table, -1);
    point p = {0};
    double best = 0;
    for (int64_t b = s.per - 1; b > 0; b--) {
        p = add_bucket(&s, p, b);
        const double sensitivity = share(p.tp, s.positives), precision = share(p.tp, p.tp + p.fp),
                     specificity = share(s.negatives - p.fp, s.negatives);
        const metric_value_kind value = value_of(m);
        const double bound = value == METRIC_VALUE_SENSITIVITY_AT_SPECIFICITY ? specificity
                             : value == METRIC_VALUE_RECALL_AT_PRECISION      ? precision
                                                                              : sensitivity;
        const double wanted = value == METRIC_VALUE_SPECIFICITY_AT_SENSITIVITY ? specificity
                              : value == METRIC_VALUE_PRECISION_AT_RECALL      ? precision
                                                                               : sensitivity;
        if ((float)bound >= (float)m->at)
            best = fmax(best, wanted);
    }
    return best;
}

/* Precision, recall or a count at the threshold of its index. */
static double at_threshold(const metric *m, const double *table)
{
    const sides s = sides_of(m, table, -1);
    float limits[METRIC_LIMITS_MAX];
    const int count = metric_limits(m, limits);
    const float own = m->thresholds.count < 0 ? limits[0] : (float)m->thresholds.value[m->index];
    int64_t begin = 0; /* outputs above so many thresholds are above this one */
    while (begin < count && limits[begin] <= own)
        begin++;
    point p = {0};
    for (int64_t b = begin; b < s.per; b++)
        p = add_bucket(&s, p, b);
    switch (m->id) {
    case METRIC_PRECISION:
        return share(p.tp, p.tp + p.fp);
    case METRIC_RECALL:
        return share(p.tp, s.positives);
    case METRIC_TRUE_POSITIVES:
        return p.tp;
    case METRIC_FALSE_POSITIVES:
        return p.fp;
    case METRIC_TRUE_NEGATIVES:
        return s.negatives - p.fp;
    default:
        return s.positives - p.tp;
    }
}

/* ---- F-scores ----------------------------------------------------------------------------- */

/* As Keras's, a small number keeps quotients finite. */
static double f_beta(const metric *m, double tp, double fp, double fn)
{
    const double precision = tp / (tp + fp + EPSILON), recall = tp / (tp + fn + EPSILON);
    const double square = m->beta * m->beta;
    return precision * recall / (square * precision + recall + EPSILON) * (1 + square);
}

static double f_score(const metric *m, const double *table)
{
    const double *labels = table, *others = table + 2 * m->columns;
    double tp = 0, fp = 0, fn = 0, sum = 0, weighted = 0;
    for (int64_t c = 0; c < m->columns; c++) {
        const double score = f_beta(m, labels[2 * c + 1], others[2 * c + 1], labels[2 * c]);
        if (m->average == METRIC_EACH && c == m->index)
            return score;
        tp += labels[2 * c + 1];
        fp += others[2 * c + 1];
        fn += labels[2 * c];
        sum += score;
        weighted += score * (labels[2 * c] + labels[2 * c + 1]);
    }
    return m->average == METRIC_MICRO   ? f_beta(m, tp, fp, fn)
           : m->average == METRIC_MACRO ? sum / (double)m->columns
                                        : weighted / (tp + fn + EPSILON);
}

/* ---- intersection over union -------------------------------------------------------------- */

/* False where neither targets nor outputs have the class. */
static bool iou_of(const metric *m, const double *table, int64_t class, double *value)
{
    double all = 0;
    for (int64_t i = 0; i < m->class_count; i++)
        all += table[i * m->class_count + class] + table[class * m->class_count + i];
    const double both = table[class * m->class_count + class];
    *value = both / (all - both + EPSILON);
    return all - both > 1e-9;
}

static double iou(const metric *m, const double *table)
{
    const bool each = m->id == METRIC_MEAN_IOU || m->id == METRIC_ONE_HOT_MEAN_IOU;
    const int64_t count = each ? m->class_count : m->classes.count;
    double sum = 0, found = 0, value;
    for (int64_t i = 0; i < count; i++)
        if (iou_of(m, table, each ? i : (int64_t)m->classes.value[i], &value)) {
            sum += value;
            found++;
        }
    return sum / (found + EPSILON);
}

/* ---- R2 ----------------------------------------------------------------------------------- */

static double adjusted(const metric *m, double r2, int64_t samples)
{
    const double n = (double)(samples * m->columns), p = (double)m->regressors;
    return p > 0 && p < n - 1 ? 1 - (1 - r2) * (n - 1) / (n - p - 1) : r2;
}

static double r2_score(const metric *m, const double *table, int64_t samples)
{
    const double *count = table, *sum = count + m->columns, *squares = sum + m->columns,
                 *errors = squares + m->columns;
    double mean = 0, weighted = 0, totals = 0;
    for (int64_t c = 0; c < m->columns; c++) {
        const double total = squares[c] - sum[c] * (sum[c] / count[c]);
        double score = 1 - errors[c] / total;
        score = isinf(score) ? 0 : score;
        if (m->average == METRIC_EACH && c == m->index)
            return adjusted(m, score, samples);
        mean += score / (double)m->columns;
        weighted += total * score;
        totals += total;
    }
    return adjusted(m, m->average == METRIC_UNIFORM ? mean : weighted / totals, samples);
}

double metric_table_value(const metric *m, const double *table, int64_t samples)
{
    switch (value_of(m)) {
    case METRIC_VALUE_AUC:
        return auc(m, table);
    case METRIC_VALUE_F_BETA:
        return f_score(m, table);
    case METRIC_VALUE_IOU:
        return iou(m, table);
    case METRIC_VALUE_R2:
        return r2_score(m, table, samples);
    case METRIC_VALUE_SHARE:
    case METRIC_VALUE_COUNT:
        return at_threshold(m, table);
    default:
        return best_at(m, table);
    }
}
