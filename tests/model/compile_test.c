#include "make_model.h"
#include "model/traced_loss.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static optimizer read_optimizer(const char *form)
{
    doc *d = make_doc(form);
    optimizer o;
    must(optimizer_read(d, &o));
    doc_free(d);
    return o;
}

static double rate(const char *schedule_form, int64_t iteration)
{
    char form[400];
    snprintf(form, sizeof form, "{sgd: {learning_rate: %s}}", schedule_form);
    optimizer o = read_optimizer(form);
    return schedule_at(&o.learning_rate, iteration);
}

static void defaults_are_kerass(void **state)
{
    (void)state;
    optimizer sgd = read_optimizer("sgd"), adam = read_optimizer("Adam");
    optimizer adamw = read_optimizer("adamw"), rmsprop = read_optimizer("RMSprop");
    optimizer adagrad = read_optimizer("adagrad");
    assert_float_equal(schedule_at(&sgd.learning_rate, 7), 0.01, 0);
    assert_float_equal(sgd.momentum, 0, 0);
    assert_float_equal(schedule_at(&adam.learning_rate, 0), 0.001, 0);
    assert_float_equal(adam.beta_1, 0.9, 0);
    assert_float_equal(adam.beta_2, 0.999, 0);
    assert_float_equal(adam.epsilon, 1e-7, 0);
    assert_float_equal(adam.weight_decay, 0, 0);
    assert_float_equal(adamw.weight_decay, 0.004, 0);
    assert_float_equal(rmsprop.rho, 0.9, 0);
    assert_float_equal(rmsprop.epsilon, 1e-7, 0);
    assert_float_equal(adagrad.initial_accumulator_value, 0.1, 0);
    assert_float_equal(schedule_at(&adagrad.learning_rate, 0), 0.001, 0);
    assert_float_equal(adam.clipnorm + adam.global_clipnorm + adam.clipvalue, 0, 0);
}

static void slots_are_those_that_the_options_need(void **state)
{
    (void)state;
    static const struct {
        const char *form;
        int count;
        const char *names[4];
    } cases[] = {
        {"sgd", 0, {0}},
        {"{sgd: {momentum: 0.9}}", 1, {"momentum"}},
        {"adam", 2, {"momentum", "velocity"}},
        {"{adamw: {amsgrad: true}}", 3, {"momentum", "velocity", "velocity_hat"}},
        {"rmsprop", 1, {"velocity"}},
        {"{rmsprop: {centered: true}}", 2, {"velocity", "average_gradient"}},
        {"{rmsprop: {centered: true, momentum: 0.5}}",
         3,
         {"velocity", "momentum", "average_gradient"}},
        {"adagrad", 1, {"accumulator"}},
        {"adadelta", 2, {"accumulated_grad", "accumulated_delta_var"}},
        {"adamax", 2, {"momentum", "norm"}},
        {"nadam", 2, {"momentum", "velocity"}},
        {"lion", 1, {"momentum"}},
        {"ftrl", 2, {"accumulator", "linear"}},
        {"lamb", 2, {"momentum", "velocity"}},
        {"adafactor", 3, {"row", "column", "velocity"}},
        {"muon", 2, {"momentum", "velocity"}},
        {"ScheduleFreeAdamW", 2, {"momentum", "velocity"}},
        {"{adam: {use_ema: true, gradient_accumulation_steps: 2}}",
         4,
         {"momentum", "velocity", "average", "gradient_accumulator"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        optimizer_slot slots[OPTIMIZER_SLOTS_ALL];
        optimizer o = read_optimizer(cases[i].form);
        int needed = 0;
        optimizer_slots(&o, slots);
        for (int j = 0; j < OPTIMIZER_SLOTS_ALL; j++)
            if (slots[j].needed)
                assert_string_equal(slots[j].name, cases[i].names[needed++]);
        assert_int_equal(needed, cases[i].count);
    }
}

static void parts_of_names_exclude_weights_from_decay(void **state)
{
    (void)state;
    cornu_model m = {.undecayed = json_pack("[s, s, s]", "bias", "^dense/k", "_1/gamma$")};
    assert_true(model_excludes_from_decay(&m, "dense/bias"));
    assert_true(model_excludes_from_decay(&m, "dense/kernel"));
    assert_true(model_excludes_from_decay(&m, "norm_1/gamma"));
    assert_false(model_excludes_from_decay(&m, "my_dense/kernel"));
    assert_false(model_excludes_from_decay(&m, "norm_1/gamma_2"));
    assert_false(model_excludes_from_decay(&m, "a"));
    json_decref(m.undecayed);
    m.undecayed = NULL;
    assert_false(model_excludes_from_decay(&m, "dense/bias"));
}

/* Values computed with Keras 3.15's own schedules. */
static void schedules_have_kerass_values(void **state)
{
    (void)state;
    const char *e = "{exponential: {initial_learning_rate: 0.1, decay_steps: 10, decay_rate: 0.5}}";
    const char *stairs = "{class_name: ExponentialDecay, config: {initial_learning_rate: 0.1, "
                         "decay_steps: 10, decay_rate: 0.5, staircase: true, name: x}}";
    const char *inverse = "{inverse_time: {initial_learning_rate: 0.1, decay_steps: 10, "
                          "decay_rate: 0.5}}";
    const char *inverse_stairs = "{InverseTimeDecay: {initial_learning_rate: 0.1, "
                                 "decay_steps: 10, decay_rate: 0.5, staircase: true}}";
    const char *c = "{cosine: {initial_learning_rate: 0.1, decay_steps: 100, alpha: 0.1}}";
    const char *warm = "{cosine: {initial_learning_rate: 0, decay_steps: 100, warmup_target: 0.2, "
                       "warmup_steps: 10}}";
    const char *s = "{step: {boundaries: [3, 6], values: [1, 0.5, 0.25]}}";
    assert_float_equal(rate(e, 0), 0.1, 1e-12);
    assert_float_equal(rate(e, 15), 0.1 * pow(0.5, 1.5), 1e-12);
    assert_float_equal(rate(stairs, 15), 0.05, 1e-12);
    assert_float_equal(rate(inverse, 0), 0.1, 1e-12);
    assert_float_equal(rate(inverse, 15), 0.1 / 1.75, 1e-12);
    assert_float_equal(rate(inverse_stairs, 15), 0.1 / 1.5, 1e-12);
    assert_float_equal(rate(c, 0), 0.1, 1e-12);
    assert_float_equal(rate(c, 50), 0.055, 1e-12);
    assert_float_equal(rate(c, 100), 0.01, 1e-12);
    assert_float_equal(rate(c, 5000), 0.01, 1e-12);
    assert_float_equal(rate(warm, 0), 0, 1e-12);
    assert_float_equal(rate(warm, 5), 0.1, 1e-12);
    assert_float_equal(rate(warm, 10), 0.2, 1e-12);
    assert_float_equal(rate(warm, 60), 0.1, 1e-12);
    assert_float_equal(rate(warm, 110), 0, 1e-12);
    assert_float_equal(rate(s, 0), 1, 0);
    assert_float_equal(rate(s, 3), 1, 0);
    assert_float_equal(rate(s, 4), 0.5, 0);
    assert_float_equal(rate(s, 6), 0.5, 0);
    assert_float_equal(rate(s, 7), 0.25, 0);
}

static void expect_rates(const char *schedule, int count, const double expected[][2])
{
    for (int i = 0; i < count; i++)
        if (!(fabs(rate(schedule, (int64_t)expected[i][0]) - expected[i][1]) < 1e-7))
            fail_msg("%s at step %g: found %.9g; expected %.9g", schedule, expected[i][0],
                     rate(schedule, (int64_t)expected[i][0]), expected[i][1]);
}

/* The same. */
static void polynomials_and_restarts_have_kerass_values(void **state)
{
    (void)state;
#define POLYNOMIAL \
    "{polynomial: {initial_learning_rate: 0.1, decay_steps: 10, end_learning_rate: 0.02, power: 2"
    expect_rates(POLYNOMIAL "}}", 4, (double[][2]){{0, 0.1}, {5, 0.04}, {10, 0.02}, {15, 0.02}});
    expect_rates(
        POLYNOMIAL ", cycle: true}}", 6,
        (double[][2]){{0, 0.1}, {5, 0.04}, {10, 0.02}, {15, 0.025}, {20, 0.02}, {21, 0.0272}});
    expect_rates("{CosineDecayRestarts: {initial_learning_rate: 0.1, first_decay_steps: 10, "
                 "m_mul: 0.5, alpha: 0.1}}",
                 7,
                 (double[][2]){{0, 0.1},
                               {5, 0.055},
                               {10, 0.055},
                               {20, 0.0325},
                               {30, 0.0325},
                               {40, 0.029204953},
                               {70, 0.02125}});
    expect_rates("{cosine_restarts: {initial_learning_rate: 0.1, first_decay_steps: 10, t_mul: 1}}",
                 5, (double[][2]){{0, 0.1}, {5, 0.05}, {10, 0.1}, {15, 0.05}, {30, 0.1}});
}

/* "lr / (1 + decay * iterations)" of tf.keras 2's optimizers, in files and recipes of theirs. */
static void keras_2s_decay_divides_the_rate(void **state)
{
    (void)state;
    optimizer o = read_optimizer("{class_name: SGD, config: {name: SGD, learning_rate: 0.1, "
                                 "decay: 0.25, momentum: 0.9, nesterov: true}}");
    assert_float_equal(schedule_at(&o.learning_rate, 0), 0.1, 1e-12);
    assert_float_equal(schedule_at(&o.learning_rate, 6), 0.04, 1e-12);
    optimizer usual = read_optimizer("{adagrad: {decay: 1}}");
    assert_float_equal(schedule_at(&usual.learning_rate, 1), 0.0005, 1e-12);
    optimizer none = read_optimizer("{adam: {decay: 0, learning_rate: 0.1}}");
    assert_int_equal(none.learning_rate.id, SCHEDULE_CONSTANT);
    static const struct {
        const char *form, *message;
    } bad[] = {
        {"{sgd: {decay: -1}}", "decay: found -1; expected a number of at least 0"},
        {"{sgd: {decay: fast}}", "decay: found \"fast\"; expected a number"},
        {"{sgd: {decay: 0.5, learning_rate: {inverse_time: {initial_learning_rate: 1, "
         "decay_steps: 1, decay_rate: 1}}}}",
         "decay: found 0.5 beside a schedule as learning_rate; expected one of the two"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        doc *d = make_doc(bad[i].form);
        assert_int_equal(optimizer_read(d, &o), CORNU_INVALID);
        assert_non_null(strstr(cornu_last_error(), bad[i].message));
        doc_free(d);
    }
}

static void optimizers_are_written_so_that_they_are_read_back(void **state)
{
    (void)state;
    static const char *const forms[] = {
        "{sgd: {momentum: 0.9, nesterov: true, weight_decay: 0.01, clipvalue: 0.5}}",
        "{adam: {beta_1: 0.8, amsgrad: true, global_clipnorm: 2}}",
        "{adamw: {learning_rate: {cosine: {initial_learning_rate: 0.1, decay_steps: 9, "
        "warmup_target: 0.3, warmup_steps: 4}}}}",
        "{rmsprop: {centered: true, momentum: 0.5, clipnorm: 1}}",
        "{sgd: {learning_rate: {step: {boundaries: [3, 6], values: [1, 0.5, 0.25]}}}}",
        "{sgd: {learning_rate: {exponential: {initial_learning_rate: 1, decay_steps: 2, "
        "decay_rate: 0.5, staircase: true}}}}",
        "{adam: {learning_rate: {inverse_time: {initial_learning_rate: 1, decay_steps: 2, "
        "decay_rate: 0.5, staircase: true}}}}",
        "{rmsprop: {decay: 0.01}}",
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        optimizer o = read_optimizer(forms[i]);
        json_t *first = optimizer_to_json(&o);
        char *shown = json_dumps(first, JSON_SORT_KEYS);
        optimizer same = read_optimizer(shown);
        json_t *second = optimizer_to_json(&same);
        assert_true(json_equal(first, second));
        assert_int_equal(same.id, o.id);
        assert_float_equal(same.clipnorm, o.clipnorm, 0);
        assert_float_equal(same.weight_decay, o.weight_decay, 0);
        for (int64_t step = 0; step < 12; step++)
            assert_float_equal(schedule_at(&same.learning_rate, step),
                               schedule_at(&o.learning_rate, step), 0);
        free(shown);
        json_decref(first);
        json_decref(second);
    }
}

static void compiling_again_replaces_the_slots(void **state)
{
    (void)state;
    cornu_model *m = make_model("model: {input: [4], layers: [Dense: {units: 3}]}\n"
                                "compile: {optimizer: adam, loss: mse}\n");
    assert_int_equal(m->variable_count, 6);
    must(cornu_model_initialize(m, 3));
    must(cornu_model_compile(m, "{optimizer: {sgd: {momentum: 0.9}}, loss: mse}"));
    assert_int_equal(m->variable_count, 4);
    assert_string_equal(m->variables[2].name, "optimizer/momentum/dense/kernel");
    assert_true(m->variables[2].is_slot);
    assert_int_equal(m->variables[3].of, 1);
    assert_non_null(m->variables[3].value);
    /* An invalid section changes nothing. */
    assert_int_equal(cornu_model_compile(m, "{optimizer: none, loss: mse}"), CORNU_INVALID);
    assert_true(m->compiled);
    assert_int_equal(m->variable_count, 4);
    cornu_model_close(m);
}

/* Also if the weights existed before, from a file, say. */
static void slots_begin_with_their_start_values_whenever_the_model_is_compiled(void **state)
{
    (void)state;
    cornu_model *m;
    int slots = 0;
    must(cornu_model_new((int64_t[]){4}, 1, &m));
    must(cornu_model_add(m, "Dense", "{units: 3}"));
    must(cornu_model_initialize(m, 1));
    must(cornu_model_compile(
        m, "{optimizer: {adagrad: {initial_accumulator_value: 0.25}}, loss: mse}"));
    for (int i = m->weight_count; i < m->variable_count; i++)
        for (int64_t k = 0; k < m->variables[i].count; k++, slots++)
            assert_float_equal(m->variables[i].value[k], 0.25, 0);
    assert_int_equal(slots, 15);
    cornu_model_close(m);
}

static void losses_are_read_in_every_form_and_written_back(void **state)
{
    (void)state;
    static const char *const forms[] = {
        "binary_crossentropy", "BinaryCrossentropy", "{binary_crossentropy: {from_logits: true}}",
        "{class_name: BinaryCrossentropy, config: {from_logits: true, name: b, reduction: "
        "sum_over_batch_size, label_smoothing: 0.0, axis: -1}, module: keras.losses, "
        "registered_name: null}"};
    for (int i = 0; i < 4; i++) {
        doc *d = make_doc(forms[i]), *again;
        loss l, same;
        must(loss_read(d, &l));
        assert_int_equal(l.id, LOSS_BINARY_CROSSENTROPY);
        assert_int_equal(l.from_logits, i >= 2);
        json_t *json = loss_to_json(&l);
        char *shown = json_dumps(json, 0);
        again = make_doc(shown);
        must(loss_read(again, &same));
        assert_int_equal(same.id, l.id);
        assert_int_equal(same.from_logits, l.from_logits);
        free(shown);
        json_decref(json);
        doc_free(d);
        doc_free(again);
    }
}

static void losses_go_by_keras_other_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        loss_id id;
    } cases[] = {{"mse", LOSS_MEAN_SQUARED_ERROR},
                 {"MSE", LOSS_MEAN_SQUARED_ERROR},
                 {"mae", LOSS_MEAN_ABSOLUTE_ERROR},
                 {"MAE", LOSS_MEAN_ABSOLUTE_ERROR},
                 {"MeanAbsoluteError", LOSS_MEAN_ABSOLUTE_ERROR},
                 {"mape", LOSS_MEAN_ABSOLUTE_PERCENTAGE_ERROR},
                 {"MSLE", LOSS_MEAN_SQUARED_LOGARITHMIC_ERROR},
                 {"kld", LOSS_KL_DIVERGENCE},
                 {"logcosh", LOSS_LOG_COSH},
                 {"bce", LOSS_BINARY_CROSSENTROPY}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        doc *d = make_doc(cases[i].name);
        loss l;
        must(loss_read(d, &l));
        assert_int_equal(l.id, cases[i].id);
        doc_free(d);
    }
}

static void check_options_of_loss(const char *form, const float *reals, double smoothing,
                                  loss_reduction reduction)
{
    doc *d = make_doc(form);
    loss l;
    float found[ROW_REALS];
    must(loss_read(d, &l));
    for (int again = 0; again < 2; again++) { /* as it is read, and as it is written */
        loss_reals(&l, found);
        assert_memory_equal(found, reals, sizeof found);
        assert_float_equal(l.label_smoothing, smoothing, 0);
        assert_int_equal(l.reduction, reduction);
        json_t *json = loss_to_json(&l);
        char *shown = json_dumps(json, 0);
        doc_free(d);
        d = make_doc(shown);
        must(loss_read(d, &l));
        free(shown);
        json_decref(json);
    }
    doc_free(d);
}

static void options_of_losses_are_read_and_written_back(void **state)
{
    (void)state;
    const float none[ROW_REALS] = {0}, delta[] = {0.4f, 0, 0}, q[] = {0.7f, 0, 0};
    const float usual[] = {0.25f, 2, 0}, balanced[] = {0.3f, 1.5f, 1};
    const loss_reduction mean = LOSS_REDUCTION_SUM_OVER_BATCH_SIZE;
    check_options_of_loss("mse", none, 0, mean);
    check_options_of_loss("{mse: {reduction: sum}}", none, 0, LOSS_REDUCTION_SUM);
    check_options_of_loss("{mse: {reduction: mean}}", none, 0, LOSS_REDUCTION_MEAN);
    check_options_of_loss("{mse: {reduction: auto}}", none, 0, mean);
    check_options_of_loss("{categorical_crossentropy: {label_smoothing: 0.1}}", none, 0.1, mean);
    check_options_of_loss("{huber: {delta: 0.4}}", delta, 0, mean);
    check_options_of_loss("{CategoricalGeneralizedCrossEntropy: {q: 0.7}}", q, 0, mean);
    check_options_of_loss("categorical_focal_crossentropy", usual, 0, mean);
    check_options_of_loss("{binary_focal_crossentropy: {alpha: 0.3, gamma: 1.5, "
                          "apply_class_balancing: true, label_smoothing: 0.2}}",
                          balanced, 0.2, mean);
}

/* Of one output, and of several: a map by their names is not mistaken for one. */
static void traced_losses_are_kept_as_they_were_written(void **state)
{
    (void)state;
    static const char *const losses[] = {
        "{class_name: function, config: mine, traced: {reduction: sum, model: {name: mine, inputs: "
        "{t: [3], p: [3]}, layers: [{Subtract: {inputs: [t, p]}}, Square]}}}",
        "{class_name: Mine, config: {a: 1}, registered_name: My>Mine, traced: {targets: classes, "
        "model: {name: mine, inputs: {t: [1], p: [3]}, layers: [{Multiply: {inputs: [t, p]}}]}}}",
    };
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        char yaml[1024], *first, *second;
        snprintf(yaml, sizeof yaml,
                 "model: {input: [4], layers: [{Dense: {units: 3}}]}\n"
                 "compile: {optimizer: sgd, loss: %s}\n",
                 losses[i]);
        cornu_model *m = make_model(yaml);
        assert_string_equal(traced_loss_name(m->outputs[0].traced), "mine");
        assert_int_equal(m->outputs[0].loss.reduction,
                         i ? LOSS_REDUCTION_SUM_OVER_BATCH_SIZE : LOSS_REDUCTION_SUM);
        assert_int_equal(m->outputs[0].target, i ? TARGET_CLASSES : TARGET_VALUES);
        must(cornu_model_compile_config(m, &first));
        must(cornu_model_compile(m, first));
        must(cornu_model_compile_config(m, &second));
        assert_string_equal(first, second);
        assert_non_null(strstr(first, i ? "My>Mine" : "\"config\": \"mine\""));
        must(cornu_model_change_loss(m, "{loss: mse}"));
        assert_null(m->outputs[0].traced);
        cornu_free(first);
        cornu_free(second);
        cornu_model_close(m);
    }
}

static void values_of_metrics_come_from_their_sums(void **state)
{
    (void)state;
    const double sums[] = {12, 4}, none[] = {0, 0};
    const struct {
        metric_id id;
        double value;
    } cases[] = {{METRIC_MEAN_SQUARED_ERROR, 4},   {METRIC_ROOT_MEAN_SQUARED_ERROR, 2},
                 {METRIC_COSINE_SIMILARITY, -4},   {METRIC_TRUE_NEGATIVES, 12},
                 {METRIC_CATEGORICAL_ACCURACY, 4}, {METRIC_PRECISION, 0.75}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_float_equal(metric_value(&(metric){.id = cases[i].id}, sums, NULL, 3),
                           cases[i].value, 0);
    assert_float_equal(metric_value(&(metric){.id = METRIC_RECALL}, none, NULL, 3), 0, 0);
    assert_float_equal(metric_value(&(metric){.of_loss = true}, sums, NULL, 3), 4, 0);
}

static metric read_metric(const char *form, int64_t outputs, bool sparse)
{
    doc *d = make_doc(form);
    metric m;
    must(metric_read(d, &(shape){1, {outputs}}, sparse, &m));
    doc_free(d);
    return m;
}

/* The examples of Keras's documentation, counted by hand. */
static void values_of_metrics_come_from_their_tables(void **state)
{
    (void)state;
    static const struct {
        const char *form;
        double table[12], value;
    } cases[] = {
        {"{AUC: {num_thresholds: 3}}", {0, 1, 1, 0, 0, 2, 0, 0}, 0.75},
        {"{AUC: {num_thresholds: 3, summation_method: minoring}}", {0, 1, 1, 0, 0, 2, 0, 0}, 0.5},
        {"{AUC: {thresholds: [0.5], summation_method: majoring}}", {0, 1, 1, 0, 0, 2, 0, 0}, 1},
        {"{AUC: {num_thresholds: 3, curve: PR, summation_method: minoring}}",
         {0, 1, 1, 0, 0, 2, 0, 0},
         0.25},
        {"{SensitivityAtSpecificity: {specificity: 0.5, num_thresholds: 3}}",
         {0, 1, 1, 0, 1, 1, 0, 0},
         1},
        {"{F1Score: {average: macro, threshold: 0.5}}", {0, 2, 1, 1, 3, 1, 2, 0}, 11.0 / 15},
        {"{F1Score: {average: micro, threshold: 0.5}}", {0, 2, 1, 1, 3, 1, 2, 0}, 0.75},
        {"{FBetaScore: {average: weighted, beta: 2.0, threshold: 0.5}}",
         {0, 2, 1, 1, 3, 1, 2, 0},
         0.5 * 10 / 11 + 0.5 * 5 / 9},
        {"{MeanIoU: {num_classes: 2}}", {1, 1, 1, 1}, 1.0 / 3},
        {"{IoU: {num_classes: 2, target_class_ids: [0]}}", {2, 1, 0, 0}, 2.0 / 3},
        {"R2Score", {2, 2, 4, 0, 10, 2, 0, 1}, 0.75},
        {"{R2Score: {num_regressors: 1}}", {2, 2, 4, 0, 10, 2, 0, 1}, 0.625},
        {"{R2Score: {class_aggregation: variance_weighted_average}}",
         {2, 2, 4, 0, 10, 2, 0, 1},
         0.75},
        {"{Precision: {thresholds: [0.7, 0.3]}}", {0, 1, 3, 1, 1, 2}, 0.6},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        metric m = read_metric(cases[i].form, 2, false);
        m.table = 0;
        assert_true(metric_table_count(&m) <= 12);
        const double found = metric_value(&m, NULL, cases[i].table, 2);
        if (fabs(found - cases[i].value) > 1e-6)
            fail_msg("%s: found %.9g; expected %.9g", cases[i].form, found, cases[i].value);
    }
}

static void a_metric_of_several_values_is_as_many_of_one_table(void **state)
{
    (void)state;
    cornu_model *m = make_model("model: {input: [3], layers: [{Dense: {units: 2}}]}\n"
                                "compile: {optimizer: sgd, loss: mse, metrics: [f1_score, mae, "
                                "{Recall: {thresholds: [0.1, 0.5, 0.9]}}, f1_score]}");
    const char *names[] = {"f1_score[0]", "f1_score[1]", "mae",           "recall[0]",
                           "recall[1]",   "recall[2]",   "f1_score_1[0]", "f1_score_1[1]"};
    const int tables[] = {0, 0, -1, 8, 8, 8, 16, 16};
    assert_int_equal(m->metric_count, 8);
    for (int i = 0; i < 8; i++) {
        assert_string_equal(metric_name(&m->metrics[i]), names[i]);
        if (tables[i] >= 0)
            assert_int_equal(m->metrics[i].table, tables[i]);
    }
    assert_int_equal(m->sum_count, 1);
    assert_int_equal(m->table_count, 24);
    char *json;
    must(cornu_model_compile_config(m, &json));
    must(cornu_model_compile(m, json));
    assert_int_equal(m->metric_count, 8);
    cornu_free(json);
    cornu_model_close(m);
}

static void weighted_metrics_are_divided_by_their_weights(void **state)
{
    (void)state;
    cornu_model *m = make_model("model: {input: [3], layers: [{Dense: {units: 2}}]}\n"
                                "compile: {optimizer: sgd, loss: mse, metrics: [mae, auc], "
                                "weighted_metrics: [mae, RootMeanSquaredError, recall]}");
    const char *names[] = {"mae", "auc", "weighted_mae", "RootMeanSquaredError", "recall"};
    const double sums[] = {0, 6, 4, 18, 2, 1, 3}, none[] = {0, 0, 0, 0, 0, 0, 0};
    assert_int_equal(m->metric_count, 5);
    assert_int_equal(m->sum_count, 7);
    for (int i = 0; i < 5; i++)
        assert_string_equal(metric_name(&m->metrics[i]), names[i]);
    assert_float_equal(metric_value(&m->metrics[2], sums, NULL, 100), 1.5, 1e-12);
    assert_float_equal(metric_value(&m->metrics[3], sums, NULL, 100), 3, 1e-12);
    assert_float_equal(metric_value(&m->metrics[4], sums, NULL, 100), 0.25, 1e-12);
    assert_float_equal(metric_value(&m->metrics[2], none, NULL, 100), 0, 0);
    char *json;
    must(cornu_model_compile_config(m, &json));
    must(cornu_model_compile(m, json));
    assert_int_equal(m->metric_count, 5);
    assert_true(!m->metrics[1].weighted && m->metrics[2].weighted);
    cornu_free(json);
    cornu_model_close(m);
}

static void each_sum_of_a_metric_has_a_slot(void **state)
{
    (void)state;
    cornu_model *m = make_model("model: {input: [4], layers: [Dense: {units: 3}]}\n"
                                "compile: {optimizer: sgd, loss: mse, metrics: [precision, mae, "
                                "recall, true_negatives]}");
    const int slots[] = {0, 2, 3, 5};
    for (int i = 0; i < 4; i++)
        assert_int_equal(m->metrics[i].slot, slots[i]);
    assert_int_equal(m->sum_count, 6);
    cornu_model_close(m);
}

static void accuracy_means_what_keras_makes_of_it(void **state)
{
    (void)state;
    assert_int_equal(read_metric("accuracy", 1, false).id, METRIC_BINARY_ACCURACY);
    assert_int_equal(read_metric("accuracy", 2, false).id, METRIC_CATEGORICAL_ACCURACY);
    assert_int_equal(read_metric("acc", 10, true).id, METRIC_SPARSE_CATEGORICAL_ACCURACY);
    metric a = read_metric("accuracy", 10, true);
    assert_string_equal(metric_name(&a), "accuracy");
    a = read_metric("SparseCategoricalAccuracy", 10, true);
    assert_string_equal(metric_name(&a), "SparseCategoricalAccuracy");
    assert_int_equal(read_metric("Accuracy", 2, false).id, METRIC_CATEGORICAL_ACCURACY);
    a = read_metric("{class_name: Accuracy, config: {}}", 2, false);
    assert_int_equal(a.id, METRIC_ACCURACY);
    assert_string_equal(metric_name(&a), "accuracy");
}

static void top_k_takes_k(void **state)
{
    (void)state;
    assert_int_equal(read_metric("top_k_categorical_accuracy", 9, false).k, 5);
    metric m = read_metric("{top_k_categorical_accuracy: {k: 3}}", 9, false);
    assert_int_equal(m.k, 3);
    json_t *json = metric_to_json(&m);
    char *shown = json_dumps(json, 0);
    assert_int_equal(read_metric(shown, 9, false).k, 3);
    free(shown);
    json_decref(json);
}

static void a_name_of_its_own_is_kept(void **state)
{
    (void)state;
    static const char *const forms[] = {
        "{class_name: SparseCategoricalAccuracy, config: {name: acc, dtype: float32}}",
        "{sparse_top_k_categorical_accuracy: {k: 2, name: acc}}",
        "{accuracy: {name: acc}}",
        "acc",
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        metric m = read_metric(forms[i], 10, true), again;
        assert_string_equal(metric_name(&m), "acc");
        json_t *json = metric_to_json(&m);
        char *shown = json_dumps(json, JSON_ENCODE_ANY);
        again = read_metric(shown, 10, true);
        assert_string_equal(metric_name(&again), "acc");
        assert_int_equal(again.id, m.id);
        assert_int_equal(again.k, m.k);
        free(shown);
        json_decref(json);
    }
    metric plain = read_metric("{SparseCategoricalAccuracy: {name: null}}", 10, true);
    assert_string_equal(metric_name(&plain), "sparse_categorical_accuracy");
}

static void metrics_of_the_same_name_are_numbered(void **state)
{
    (void)state;
    cornu_model *m = make_model(
        "model: {input: [4], layers: [{Dense: {units: 3}}]}\ncompile: {optimizer: sgd, loss: mse, "
        "metrics: [mae, [mse, mae], {MeanSquaredError: {name: mae}}, {mse: {name: mae_1}}]}\n");
    static const char *const names[] = {"mae", "mse", "mae_1", "mae_2", "mae_1_1"};
    for (int again = 0; again < 2; again++) {
        assert_int_equal(m->metric_count, 5);
        for (int i = 0; i < 5; i++)
            assert_string_equal(metric_name(&m->metrics[i]), names[i]);
        char *json;
        must(cornu_model_compile_config(m, &json));
        must(cornu_model_compile(m, json));
        cornu_free(json);
    }
    cornu_model_close(m);
}

static void a_loss_is_a_metric_by_each_of_its_names(void **state)
{
    (void)state;
    static const struct {
        const char *form, *name;
        metric_id id;
    } cases[] = {
        {"mae", "mae", METRIC_MEAN_ABSOLUTE_ERROR},
        {"RootMeanSquaredError", "RootMeanSquaredError", METRIC_ROOT_MEAN_SQUARED_ERROR},
        {"log_cosh_error", "log_cosh_error", METRIC_LOG_COSH_ERROR},
        {"LogCoshError", "LogCoshError", METRIC_LOG_COSH_ERROR},
        {"kld", "kld", METRIC_KL_DIVERGENCE},
        {"{Precision: {thresholds: 0.3, class_id: 2}}", "precision", METRIC_PRECISION},
        {"MSE", "MSE", METRIC_MEAN_SQUARED_ERROR},
        {"{AUC: {curve: pr, multi_label: true, label_weights: [1, 2, 3, 4, 5, 6, 7, 8, 9, 0]}}",
         "auc", METRIC_AUC},
        {"{BinaryIoU: {target_class_ids: [1]}}", "binary_io_u", METRIC_BINARY_IOU},
        {"{class_name: F1Score, config: {average: null, threshold: 0.5}}", "f1_score",
         METRIC_F1_SCORE},
        {"{recall_at_precision: {precision: 0.5, class_id: 2}}", "recall_at_precision",
         METRIC_RECALL_AT_PRECISION},
        {"mean_io_u: {num_classes: 4}", "mean_io_u", METRIC_MEAN_IOU},
        {"r2_score", "r2_score", METRIC_R2_SCORE},
        {"mean_absolute_error", "mean_absolute_error", METRIC_MEAN_ABSOLUTE_ERROR},
        {"MeanSquaredError", "MeanSquaredError", METRIC_MEAN_SQUARED_ERROR},
        {"{MeanSquaredError: {name: error}}", "error", METRIC_MEAN_SQUARED_ERROR},
        {"{class_name: MeanAbsoluteError, config: {}}", "mean_absolute_error",
         METRIC_MEAN_ABSOLUTE_ERROR},
        {"categorical_crossentropy", "categorical_crossentropy", METRIC_CATEGORICAL_CROSSENTROPY},
        {"{BinaryCrossentropy: {label_smoothing: 0}}", "binary_crossentropy",
         METRIC_BINARY_CROSSENTROPY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        metric m = read_metric(cases[i].form, 10, false), again;
        assert_int_equal(m.id, cases[i].id);
        assert_string_equal(metric_name(&m), cases[i].name);
        json_t *json = metric_to_json(&m);
        char *shown = json_dumps(json, JSON_ENCODE_ANY);
        again = read_metric(shown, 10, false);
        assert_int_equal(again.id, m.id);
        assert_string_equal(metric_name(&again), cases[i].name);
        assert_true(again.k == m.k && again.threshold == m.threshold);
        assert_true(again.curve == m.curve && again.average == m.average && again.at == m.at);
        assert_true(again.class_id == m.class_id && again.thresholds.count == m.thresholds.count);
        assert_memory_equal(&again.classes, &m.classes, sizeof m.classes);
        assert_memory_equal(&again.label_weights, &m.label_weights, sizeof m.label_weights);
        free(shown);
        json_decref(json);
    }
    metric m;
    doc *d;
    must(doc_parse("mea", 3, "test", &d));
    assert_int_equal(metric_read(d, &(shape){1, {10}}, false, &m), CORNU_INVALID);
    doc_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_kerass),
        cmocka_unit_test(parts_of_names_exclude_weights_from_decay),
        cmocka_unit_test(slots_are_those_that_the_options_need),
        cmocka_unit_test(schedules_have_kerass_values),
        cmocka_unit_test(polynomials_and_restarts_have_kerass_values),
        cmocka_unit_test(keras_2s_decay_divides_the_rate),
        cmocka_unit_test(optimizers_are_written_so_that_they_are_read_back),
        cmocka_unit_test(compiling_again_replaces_the_slots),
        cmocka_unit_test(slots_begin_with_their_start_values_whenever_the_model_is_compiled),
        cmocka_unit_test(losses_are_read_in_every_form_and_written_back),
        cmocka_unit_test(losses_go_by_keras_other_names),
        cmocka_unit_test(options_of_losses_are_read_and_written_back),
        cmocka_unit_test(traced_losses_are_kept_as_they_were_written),
        cmocka_unit_test(values_of_metrics_come_from_their_sums),
        cmocka_unit_test(values_of_metrics_come_from_their_tables),
        cmocka_unit_test(a_metric_of_several_values_is_as_many_of_one_table),
        cmocka_unit_test(weighted_metrics_are_divided_by_their_weights),
        cmocka_unit_test(each_sum_of_a_metric_has_a_slot),
        cmocka_unit_test(accuracy_means_what_keras_makes_of_it),
        cmocka_unit_test(top_k_takes_k),
        cmocka_unit_test(a_name_of_its_own_is_kept),
        cmocka_unit_test(metrics_of_the_same_name_are_numbered),
        cmocka_unit_test(a_loss_is_a_metric_by_each_of_its_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
