/* The confusion matrix of a model: counted sample by sample, then reported as numbers, JSON and
   pictures. And the history of a training. */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "data/data.h"
#include "data/images/canvas.h"
#include <cornu/data.h>
#include <cornu/report.h>

/* The matrix for this number of classes takes 128 MB. */
enum { REPORT_CLASSES_MOST = 4096, REPORT_ERRORS_MOST = 1000 };

typedef struct report_error {
    int64_t sample, truth, predicted;
    float value;
    char *file; /* or NULL */
} report_error;

struct cornu_report {
    int64_t classes, top_k;
    char **names;    /* [classes], or NULL */
    int64_t *matrix; /* [classes][classes + 1] by true and predicted class; the last: none */
    int64_t samples, top_correct;
    report_error *errors; /* the most certain ones, in order once report_finish has been called */
    size_t error_count, error_capacity;
    cornu_split split;
    bool streamed;  /* samples are not there to be looked at */
    json_t *scores; /* {"loss": ...}, or NULL */
    float *values;  /* [batch][classes] of a step */
    size_t value_capacity;
};

/* Check that outputs of the model and targets of the data are classes. */
cornu_status report_check(const cornu_model *model, const cornu_data *data);
/* An empty one. */
cornu_status report_new(int64_t classes, int64_t top_k, cornu_report **out);
/* The same for an evaluation, after report_check; `top_k` 0: 5. */
cornu_status report_open(const cornu_model *model, const cornu_data *data, cornu_split split,
                         int64_t top_k, cornu_report **out);
/* Empty it again. */
void report_reset(cornu_report *r);
/* Add one sample: its class, and the model's value for each class, values[classes]. */
cornu_status report_add(cornu_report *r, int64_t sample, int64_t truth, const float *values);
/* Add the `count` samples of an evaluation step with the model's outputs[count][outputs]. */
cornu_status report_add_batch(cornu_report *r, const cornu_model *model, const float *outputs,
                              const sample_block *samples, const int64_t *index, int64_t count);
/* Call after the last step. */
cornu_status report_finish(cornu_report *r, const cornu_data *data, const cornu_scores *scores);

/* One sample for canvas_picture: floats [height][width][channels] of cornu_data_picture_shape,
   which are 0 at range->black and 1 at range->white. */
cornu_status sample_picture(const cornu_data *data, cornu_split split, int64_t index,
                            const cornu_data_values *range, float *values, int64_t count);

/* The matrix as a picture, to be closed. */
cornu_status report_draw(const cornu_report *r, canvas *out);

/* ---- the history of a training, one row an epoch (history.c) ---- */

/* Loss and metrics, the same of the validation, learning_rate, seconds. */
#define HISTORY_COLUMNS_MAX (2 * (CORNU_ALL_METRICS_MAX + 1) + 2)

/* Copies the names. */
cornu_status history_open(const char *const *names, int columns, cornu_history **out);
cornu_status history_add(cornu_history *h, const double *row);
/* The place of cornu_history_callbacks's text, which the history frees. */
char **history_callbacks(cornu_history *h);
/* Keep how long the run took in all. */
void history_took(cornu_history *h, double seconds);

#endif
