/* cornu evaluate: scores, and with --report the classes and confusions as tables as wide as
   the terminal. */
#include "base/show.h"
#include "cli/cli.h"
#include <cornu/images.h>
#include <cornu/report.h>
#include <cornu/tables.h>
#include <cornu/trainer.h>
#include <stdlib.h>
#include <string.h>

/* ---- the report on standard output ---------------------------------------------------------- */

enum { NAME_MOST = 24, CONFUSIONS = 20, CLASSES_MOST = 200 };

static int64_t longer(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- names ------------------------------------------------------------------------------ */

/* "3 cat", or "3"; "none" of -1. */
static void name_class(const cornu_report *r, int64_t index, char shown[256])
{
    cornu_class_scores s = {.size = sizeof s, .name = NULL};
    char name[200] = "";
    if (index < 0) {
        snprintf(shown, 256, "none");
        return;
    }
    (void)cornu_report_class(r, index, &s);
    if (s.name)
        cornu_printable(s.name, name, sizeof name);
    snprintf(shown, 256, "%lld%s%s", (long long)index, *name ? " " : "", name);
}

/* Print in `columns` columns; a longer text ends with "..". */
static void print_padded(const char *shown, int columns)
{
    char fits[256] = "";
    int length = wrap_text_width(shown), kept = length <= columns ? length : columns - 2, used = 0;
    size_t bytes = 0;
    for (; shown[bytes] && (used < kept || (shown[bytes] & 0xc0) == 0x80); bytes++)
        used += (shown[bytes] & 0xc0) != 0x80;
    snprintf(fits, sizeof fits, "%.*s%s", (int)bytes, shown, length > columns ? ".." : "");
    print("%s%*s", fits, columns - wrap_text_width(fits), "");
}

static int name_columns(const cornu_report *r, int64_t classes)
{
    char shown[256];
    int most = 14;
    for (int64_t i = 0; i < classes; i++) {
        name_class(r, i, shown);
        most = wrap_text_width(shown) > most ? wrap_text_width(shown) : most;
    }
    return most < NAME_MOST ? most : NAME_MOST;
}

/* ---- classes ---------------------------------------------------------------------------- */

static void print_class(const cornu_report *r, int64_t index, int columns)
{
    cornu_class_scores s = {.size = sizeof s};
    char shown[256];
    if (cornu_report_class(r, index, &s) != CORNU_OK)
        return;
    if (index < 0)
        snprintf(shown, sizeof shown, "%s", s.name);
    else
        name_class(r, index, shown);
    print_padded(shown, columns);
    print("  %9.4f  %9.4f  %9.4f  %9lld\n", s.precision, s.recall, s.f1, (long long)s.support);
}

static void print_share(const char *what, double share, int64_t samples, int columns)
{
    print_padded(what, columns);
    print("  %9s  %9s  %9.4f  %9lld\n", "", "", share, (long long)samples);
}

static void print_classes(const cornu_report *r, const cornu_report_info *info, int columns)
{
    char line[64];
    const int64_t shown = info->classes < CLASSES_MOST ? info->classes : CLASSES_MOST;
    print("\n%*s  %9s  %9s  %9s  %9s\n", columns, "", "precision", "recall", "f1-score", "support");
    for (int64_t i = 0; i < shown; i++)
        print_class(r, i, columns);
    if (shown < info->classes)
        print("and %lld more classes: --report FILE.json\n", (long long)(info->classes - shown));
    print("\n");
    print_share("accuracy", info->accuracy, info->samples, columns);
    snprintf(line, sizeof line, "top-%lld", (long long)info->top_k);
    if (info->top_k < info->classes && info->top_k > 1)
        print_share(line, info->top_k_accuracy, info->samples, columns);
    print_class(r, CORNU_MACRO_AVERAGE, columns);
    print_class(r, CORNU_WEIGHTED_AVERAGE, columns);
    if (info->undecided > 0)
        print("of %lld sample%s all outputs are NaN: predicted as no class\n",
              (long long)info->undecided, info->undecided == 1 ? "" : "s");
}

/* ---- confusions ------------------------------------------------------------------------- */

static int digits_of(int64_t number)
{
    char digits[32];
    return snprintf(digits, sizeof digits, "%lld", (long long)number);
}

static int cell_columns(const cornu_report *r, int64_t classes)
{
    int64_t most = classes - 1;
    for (int64_t i = 0; i < classes; i++)
        for (int64_t k = 0; k < classes; k++)
            most = longer(most, cornu_report_count(r, i, k));
    return digits_of(most) + 2;
}

static void print_matrix(const cornu_report *r, int64_t classes, int columns, int cell)
{
    char shown[256];
    print("\nconfusion matrix (rows: true class, columns: predicted class)\n%*s", columns, "");
    for (int64_t i = 0; i < classes; i++)
        print("%*lld", cell, (long long)i);
    print("\n");
    for (int64_t truth = 0; truth < classes; truth++) {
        name_class(r, truth, shown);
        print_padded(shown, columns);
        for (int64_t i = 0; i < classes; i++)
            print("%*lld", cell, (long long)cornu_report_count(r, truth, i));
        print("\n");
    }
}

static void print_confusions(const cornu_report *r, int columns)
{
    cornu_confusion all[CONFUSIONS];
    char shown[256];
    int64_t count = cornu_report_confusions(r, CONFUSIONS, all);
    if (count == 0)
        return;
    print("\nmost frequent confusions\n");
    print_padded("true class", columns);
    print("  ");
    print_padded("predicted as", columns);
    print("  %9s  of the class\n", "samples");
    for (int64_t i = 0; i < count; i++) {
        cornu_class_scores s = {.size = sizeof s};
        if (cornu_report_class(r, all[i].truth, &s) != CORNU_OK)
            return;
        name_class(r, all[i].truth, shown);
        print_padded(shown, columns);
        print("  ");
        name_class(r, all[i].predicted, shown);
        print_padded(shown, columns);
        print("  %9lld  %10.1f %%\n", (long long)all[i].count,
              100 * (double)all[i].count / (double)s.support);
    }
}

/* Print tables on stdout: scores of each class, then the confusion matrix, or the most frequent
   confusions if the matrix would be too wide. */
static void print_scores(const cornu_report *r)
{
    cornu_report_info info = {.size = sizeof info};
    if (cornu_report_info_get(r, &info) != CORNU_OK)
        return;
    const int columns = name_columns(r, info.classes);
    print_classes(r, &info, columns);
    /* 40 classes are the most that a matrix is read of, however wide the terminal is. */
    const int cell = info.classes <= 40 ? cell_columns(r, info.classes) : 0;
    if (cell > 0 && columns + info.classes * cell <= terminal_width(stdout))
        print_matrix(r, info.classes, columns, cell);
    else
        print_confusions(r, columns);
    print("\n");
}

/* ---- the command ------------------------------------------------------------------------ */

typedef struct evaluation {
    progress progress; /* first member: the data callbacks see only it */
    cornu_progress last;
    bool given; /* the data, by the user */
} evaluation;

static void on_step(void *user, const cornu_progress *now)
{
    evaluation *e = user;
    e->last = *now;
    progress_evaluate(&e->progress, now, false);
}

/* The requested output besides the metrics. */
typedef struct told {
    output_files report;
    const char *misclassified;
} told;

static bool is_wanted(const told *t)
{
    return t->report.asked || t->misclassified;
}

static int write_report(const cornu_report *r, const cornu_data *data, const told *t)
{
    int status = STATUS_OK;
    if (t->report.asked)
        print_scores(r);
    for (int i = 0; i < t->report.count && status == STATUS_OK; i++) {
        status = exit_status(cornu_report_write(r, t->report.file[i]));
        if (status == STATUS_OK)
            print("wrote %s\n", t->report.file[i]);
    }
    if (!t->misclassified || status != STATUS_OK)
        return status;
    cornu_report_info info = {.size = sizeof info};
    status = exit_status(cornu_report_write_misclassified(r, data, 0, t->misclassified));
    if (status == STATUS_OK)
        status = exit_status(cornu_report_info_get(r, &info));
    if (status == STATUS_OK)
        print("wrote %s: of %lld misclassified samples those of the most certain predictions\n",
              t->misclassified, (long long)(info.samples - info.correct));
    return status;
}

static int evaluate(cornu_model *model, const cornu_data *data, cornu_run_options options,
                    const told *t, evaluation *e)
{
    cornu_data_info info = {.size = sizeof info};
    cornu_scores scores = {.size = sizeof scores};
    cornu_report *r = NULL;
    cornu_status status = cornu_data_info_get(data, &info);
    if (status != CORNU_OK)
        return exit_status(status);
    options.split = info.count[CORNU_TEST] > 0 ? CORNU_TEST : CORNU_TRAIN;
    options.on_step = on_step;
    options.on_notice = progress_notice;
    options.should_stop = interrupt_asked;
    options.user = e;
    if (options.split == CORNU_TRAIN && !e->given)
        progress_notice(&e->progress, "no test samples: evaluating on the training samples");
    status = is_wanted(t) ? cornu_evaluate_report(model, data, &options, &scores, &r)
                          : cornu_evaluate(model, data, &options, &scores);
    if (status == CORNU_OK) {
        e->last.scores = &scores;
        e->last.validation = NULL;
        progress_evaluate(&e->progress, &e->last, true);
    }
    progress_break(&e->progress);
    int result = exit_status(status);
    if (result == STATUS_OK && is_wanted(t))
        result = write_report(r, data, t);
    cornu_report_close(r);
    if (result == STATUS_OK) /* less what turned out unreadable */
        result = exit_status(cornu_data_info_get(data, &info));
    if (result == STATUS_OK)
        print_rate(info.count[options.split], e->last.seconds);
    return result;
}

/* Before samples are read, find outputs that could not be written at the end. */
static bool can_tell(const told *t, int *status)
{
    for (int i = 0; i < t->report.count; i++)
        if (!can_write(t->report.file[i], status))
            return false;
    return can_write(t->misclassified, status);
}

static int check_pictures(const cornu_data *data, const told *t)
{
    int64_t shape[3];
    return t->misclassified ? exit_status(cornu_data_picture_shape(data, shape)) : STATUS_OK;
}

static int run(int argc, char **argv)
{
    const char *where = NULL;
    cornu_run_options o = {.size = sizeof o};
    told t = {.misclassified = NULL};
    const option options[] = {
        DATA_OPTION(where),
        {"report", "[FILE]", "precision, recall, F1 of each class, confusions; also into FILE",
         OPTION_FILES, &t.report, 0, 0},
        {"misclassified", "FILE",
         "pictures of wrongly predicted samples, the most certain first, as PNG", OPTION_TEXT,
         &t.misclassified, 0, 0},
        {"top", "K", "report: how many are among the K likeliest classes (5)", OPTION_INT, &o.top_k,
         1, 1000000},
        WHERE_OPTIONS(o.where) /* where to run */
        {"batch", "N", "samples of a step", OPTION_INT, &o.batch, 1, INT32_MAX},
        {.name = NULL}};
    operands found;
    int status;
    if (!options_parse(&command_evaluate, options, argc, argv, 1, 1, "one MODEL", &found,
                       &status) ||
        !device_is_there(o.where.device, o.where.precision, &status) || !can_tell(&t, &status))
        return status;
    if (o.top_k && !t.report.asked)
        return fail_usage(&command_evaluate, "found --top alone; expected --report, too");
    /* Each picture is needed once: decoded when its turn comes, and kept nowhere. */
    const data_choice files = {.background = true, .cache = "off", .whole = where != NULL};
    evaluation e = {.last = {.epochs = 1}, .given = where != NULL};
    cornu_model *model = NULL;
    cornu_data *data = NULL;
    progress_open(&e.progress, false);
    interrupt_watch(&e.progress);
    status = open_model_file(&command_evaluate, found.item[0], &model);
    if (status == STATUS_OK) /* before data is read */
        status = exit_status(cornu_evaluate_check(
            model, &(cornu_run_options){.size = sizeof o, .where.device = o.where.device}));
    if (status == STATUS_OK)
        status = open_data(model, where, false, &files, &e.progress, &data);
    if (status == STATUS_OK)
        status = check_pictures(data, &t);
    if (status == STATUS_OK)
        status = evaluate(model, data, o, &t, &e);
    cornu_data_close(data);
    cornu_model_close(model);
    return status;
}

const command command_evaluate = {
    "evaluate",
    "loss and metrics of a trained model on test data",
    "MODEL [--data DIR|FILE|NAME] [--report [FILE]] [--OPTION...]",
    "MODEL is a model file: .safetensors, .keras, .h5 or .hdf5.\n"
    "The metrics as training showed them, then how long it took.\n"
    "Without --data: on what it was trained with, else its recipe's. A folder of images that is\n"
    "given is used whole (its test samples, if it has some): a validation_split is for training.\n"
    "--report may be given with FILE.json, all of it for programs, and FILE.png, the confusion\n"
    "matrix as a picture. A class that is never predicted has precision 0, one without samples\n"
    "recall 0, as scikit-learn's classification_report has them.\n",
    run,
    .alone = true};
