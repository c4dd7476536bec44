#include "cli/cli.h"
#include <cornu/images.h>
#include <cornu/report.h>
#include <cornu/trainer.h>

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
        report_print(r);
    for (int i = 0; i < t->report.count && status == STATUS_OK; i++) {
        status = report(cornu_report_write(r, t->report.file[i]));
        if (status == STATUS_OK)
            print("wrote %s\n", t->report.file[i]);
    }
    if (!t->misclassified || status != STATUS_OK)
        return status;
    cornu_report_info info;
    status = report(cornu_report_write_misclassified(r, data, 0, t->misclassified));
    if (status == STATUS_OK)
        status = report(cornu_report_info_get(r, &info));
    if (status == STATUS_OK)
        print("wrote %s: of %lld misclassified samples those of the most certain predictions\n",
              t->misclassified, (long long)(info.samples - info.correct));
    return status;
}

static int evaluate(cornu_model *model, const cornu_data *data, cornu_run_options options,
                    const told *t, evaluation *e)
{
    cornu_data_info info;
    cornu_scores scores = {0};
    cornu_report *r = NULL;
    cornu_status status = cornu_data_info_get(data, &info);
    if (status != CORNU_OK)
        return report(status);
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
    int result = report(status);
    if (result == STATUS_OK && is_wanted(t))
        result = write_report(r, data, t);
    cornu_report_close(r);
    if (result == STATUS_OK) /* less what turned out unreadable */
        result = report(cornu_data_info_get(data, &info));
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
    return t->misclassified ? report(cornu_data_picture_shape(data, shape)) : STATUS_OK;
}

static int run(int argc, char **argv)
{
    const char *where = NULL;
    cornu_run_options o = {.device = NULL};
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
        WHERE_OPTIONS(o) /* where to run */
        {"batch", "N", "samples of a step", OPTION_INT, &o.batch, 1, INT32_MAX},
        {.name = NULL}};
    operands found;
    int status;
    if (!options_parse(&command_evaluate, options, argc, argv, 1, 1, "one MODEL", &found,
                       &status) ||
        !device_is_there(o.device, o.precision, &status) || !can_tell(&t, &status))
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
        status = report(cornu_evaluate_check(model, &(cornu_run_options){.device = o.device}));
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
