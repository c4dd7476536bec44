/* Scores of a trained model by class, the meaning of its outputs, and pages that show them. The
 * conventions of cornu.h hold. */
#ifndef CORNU_REPORT_H
#define CORNU_REPORT_H

#include <cornu/cornu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The confusion matrix of one evaluation, and the scores computed from it. Each sample counts
   once, whatever its weight. The predicted class is the largest output (class 1 above 0.5 of a
   single probability), the true one the target's number or its largest share. */
typedef struct cornu_report cornu_report;
/* Evaluate as cornu_evaluate does, and make the report; `scores` may be NULL. CORNU_UNSUPPORTED
   if the outputs are not one row of classes; CORNU_INVALID if a target has no class, or several
   with the same share. */
CORNU_API cornu_status cornu_evaluate_report(cornu_model *model, const cornu_data *data,
                                             const cornu_run_options *options, cornu_scores *scores,
                                             cornu_report **report);
CORNU_API void cornu_report_close(cornu_report *report);
typedef struct cornu_report_info {
    size_t size;
    int64_t classes, samples;
    int64_t correct;   /* correctly classified samples: accuracy is their share */
    int64_t undecided; /* samples without predicted class: all their outputs were NaN */
    int64_t errors;    /* for cornu_report_error: misclassified samples, at most 1000 */
    int64_t top_k;     /* as requested, at most `classes` */
    double accuracy, top_k_accuracy;
} cornu_report_info;

CORNU_API cornu_status cornu_report_info_get(const cornu_report *report, cornu_report_info *info);

/* Scores of a class, or their mean over the classes, as in scikit-learn's
   classification_report(labels = range(classes), zero_division = 0): a score is 0 if its divisor
   is 0, such as the precision of a class that was never predicted, the recall of a class without
   samples, and the F1 of a class with neither. */
typedef struct cornu_class_scores {
    size_t size;
    const char *name; /* NULL if not known; lives as long as the report */
    double precision; /* share of the samples predicted as the class that belong to it */
    double recall;    /* share of the samples of the class that are predicted as it */
    double f1;        /* 2 precision recall / (precision + recall) */
    int64_t support;  /* samples of the class */
    int64_t predicted;
} cornu_class_scores;

/* `index` is a class's number or one of the means: unweighted, or weighted by support. */
enum { CORNU_MACRO_AVERAGE = -1, CORNU_WEIGHTED_AVERAGE = -2 };
CORNU_API cornu_status cornu_report_class(const cornu_report *report, int64_t index,
                                          cornu_class_scores *scores);
/* Number of samples of class `truth` predicted as `predicted` (-1: as none); 0 for classes that
   do not exist.
 */
CORNU_API int64_t cornu_report_count(const cornu_report *report, int64_t truth, int64_t predicted);
typedef struct cornu_confusion {
    int64_t truth, predicted, count;
} cornu_confusion;

/* The at most `most` pairs of different classes with the most samples, in decreasing order,
   without zeros. Returns their number. */
CORNU_API int64_t cornu_report_confusions(const cornu_report *report, int64_t most,
                                          cornu_confusion *confusions);

/* A misclassified sample. */
typedef struct cornu_report_error {
    size_t size;
    int64_t sample; /* its index as in cornu_data_batch and cornu_data_sample_file; in a stream
                       counted from the first batch */
    int64_t truth, predicted; /* -1: predicted as none */
    double
        value; /* value of the predicted class (cornu_model_class_values); NaN if there is none */
    const char *file; /* in an image folder; else NULL; lives as long as the report */
} cornu_report_error;

/* Errors are ordered by their value: the most certain wrong prediction comes first. */
CORNU_API cornu_status cornu_report_error_get(const cornu_report *report, int64_t index,
                                              cornu_report_error *error);
/* The complete report as JSON (docs/evaluation.md). */
CORNU_API cornu_status cornu_report_json(const cornu_report *report, char **json);
/* Write the report atomically: FILE.json as cornu_report_json; FILE.png as a picture of the
   confusion matrix, with true classes as rows and predicted ones as columns. */
CORNU_API cornu_status cornu_report_write(const cornu_report *report, const char *path);
/* Write the first `most` (0: 64) misclassified samples as a sheet of pictures with their
   classes; `data` must be the data of the evaluation. CORNU_UNSUPPORTED if the samples are not
   pictures or came from a stream.
 */
CORNU_API cornu_status cornu_report_write_misclassified(const cornu_report *report,
                                                        const cornu_data *data, int64_t most,
                                                        const char *path);
typedef enum cornu_output_kind {
    /* Probabilities: the last activation is softmax or sigmoid, or the loss is from_logits. */
    CORNU_OUTPUT_PROBABILITY = 0,
    CORNU_OUTPUT_LOGIT = 1, /* unknown scores; a larger one means a likelier class */
    CORNU_OUTPUT_VALUE = 2  /* plain numbers: the loss is e.g. mean_squared_error */
} cornu_output_kind;

typedef struct cornu_output_info {
    size_t size;
    cornu_output_kind kind;
    /* Outputs per sample; 2 if the single output is the probability of class 1. */
    int64_t classes;
} cornu_output_info;

CORNU_API cornu_status cornu_model_output_info(const cornu_model *model, cornu_output_info *info);
/* Convert outputs [count][output shape] of cornu_predict to values [count][classes] of the
   model's output kind: with a from_logits loss its softmax or sigmoid is applied, and a single
   probability p becomes 1 - p and p. */
CORNU_API cornu_status cornu_model_class_values(const cornu_model *model, const float *outputs,
                                                int64_t count, float *values);
typedef struct cornu_class_value {
    int64_t index;    /* of the class */
    const char *name; /* NULL if not known; lives as long as the model */
    float value;
} cornu_class_value;

/* The at most `most` classes with the largest values of one sample, values[classes], in
   decreasing order; of equal values the lower class comes first, and NaN is left out. A single
   probability means class 1 above 0.5, as in Keras's accuracy. Returns their number. */
CORNU_API int64_t cornu_model_top_classes(const cornu_model *model, const float *values,
                                          int64_t most, cornu_class_value *top);
/* Curves, table, network, data (may be NULL) and versions as one self-contained page, written
   atomically. */
CORNU_API cornu_status cornu_history_write_html(const cornu_history *history,
                                                const cornu_model *model, const cornu_data *data,
                                                const char *path);

#ifdef __cplusplus
}
#endif
#endif
