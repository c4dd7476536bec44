#include "cli/cli.h"

typedef struct evaluation {
    progress progress; /* first member: the data callbacks see only it */
    cornu_progress last;
} evaluation;

static void on_step(void *user, const cornu_progress *now)
{
    evaluation *e = user;
    e->last = *now;
    progress_evaluate(&e->progress, now, false);
}

static int evaluate(cornu_model *model, const cornu_data *data, const device_choice *on,
                    int64_t batch, evaluation *e)
{
    cornu_data_info info;
    cornu_scores scores = {0};
    cornu_status status = cornu_data_info_get(data, &info);
    if (status != CORNU_OK)
        return report(status);
    cornu_run_options options = {.device = on->device,
                                 .precision = on->precision,
                                 .exact_convolution = on->exact_convolution,
                                 .threads = (int)on->threads,
                                 .batch = batch,
                                 .split = info.count[CORNU_TEST] > 0 ? CORNU_TEST : CORNU_TRAIN,
                                 .on_step = on_step,
                                 .should_stop = interrupt_asked,
                                 .user = e};
    if (options.split == CORNU_TRAIN)
        progress_notice(&e->progress, "no test samples: evaluating on the training samples");
    status = cornu_evaluate(model, data, &options, &scores);
    if (status == CORNU_OK) {
        e->last.scores = &scores;
        e->last.validation = NULL;
        progress_evaluate(&e->progress, &e->last, true);
    }
    progress_break(&e->progress);
    if (status == CORNU_OK) /* less what turned out unreadable */
        status = cornu_data_info_get(data, &info);
    if (status == CORNU_OK)
        print_rate(info.count[options.split], e->last.seconds);
    return report(status);
}

static int run(int argc, char **argv)
{
    const char *where = NULL;
    device_choice on = {.device = NULL};
    int64_t batch = 0;
    const option options[] = {DATA_OPTION(where),
                              DEVICE_OPTIONS(on),
                              {"batch", "N", "samples of a step", OPTION_INT, &batch, 1, INT32_MAX},
                              {.name = NULL}};
    operands found;
    int status;
    if (!options_parse(&command_evaluate, options, argc, argv, 1, 1, "one MODEL", &found,
                       &status) ||
        !device_is_there(&on, &status))
        return status;
    /* Each picture is needed once: decoded when its turn comes, and kept nowhere. */
    const data_choice files = {.background = true, .cache = "off"};
    evaluation e = {.last = {.epochs = 1}};
    cornu_model *model = NULL;
    cornu_data *data = NULL;
    progress_open(&e.progress, false);
    interrupt_watch(&e.progress);
    status = open_model_file(&command_evaluate, found.item[0], &model);
    if (status == STATUS_OK) /* before data is read */
        status = report(cornu_evaluate_check(model, &(cornu_run_options){.device = on.device}));
    if (status == STATUS_OK)
        status = open_data(model, where, false, &files, &e.progress, &data);
    if (status == STATUS_OK)
        compare_classes(model, data, &e.progress);
    if (status == STATUS_OK)
        status = evaluate(model, data, &on, batch, &e);
    cornu_data_close(data);
    cornu_model_close(model);
    return status;
}

const command command_evaluate = {
    "evaluate", "loss and metrics of a trained model on test data",
    "MODEL [--data DIR|FILE|NAME] [--OPTION...]",
    "MODEL is a model file: .safetensors, .keras, .h5 or .hdf5.\n"
    "The metrics as training showed them, then how long it took.\n"
    "Without --data: on what it was trained with, else its recipe's.\n",
    run};
