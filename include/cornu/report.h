/* What a trained model gets right and wrong, what its outputs mean, and pages that show it. The
 * conventions are those of cornu.h. */
#ifndef CORNU_REPORT_H
#define CORNU_REPORT_H

#include <cornu/cornu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which classes a model takes for which, and what follows from that; made by one evaluation.
   Samples count once each, whatever their weights. The predicted class is the largest output (class
   1 above 0.5 of a single probability), the true one the target's number or its largest share. */
typedef struct cornu_report cornu_report;
/* cornu_evaluate, and the report of it; `scores` may be NULL. CORNU_UNSUPPORTED where outputs are
   no row of classes; CORNU_INVALID where a target is of no class, or of several alike. */
CORNU_API cornu_status cornu_evaluate_report(cornu_model *model, const cornu_data *data,
                                             const cornu_run_options *options, cornu_scores *scores,
                                             cornu_report **report);
CORNU_API void cornu_report_close(cornu_report *report);
typedef struct cornu_report_info {
    int64_t classes, samples;
    int64_t correct;   /* of the samples: accuracy is their share */
    int64_t undecided; /* predicted as no class, as all their outputs were NaN */
    int64_t errors;    /* for cornu_report_error: misclassified samples, at most 1000 */
    int64_t top_k;     /* as asked for, at most `classes` */
    double accuracy, top_k_accuracy;
    uint64_t reserved[8]; /* 0 */
} cornu_report_info;

CORNU_API cornu_status cornu_report_info_get(const cornu_report *report, cornu_report_info *info);

/* Of a class or a mean over the classes: what scikit-learn's classification_report(labels =
   range(classes), zero_division = 0) has, so 0 where the divisor is 0: precision of what was never
   predicted, recall of what there is no sample of, F1 of what is neither. */
typedef struct cornu_class_scores {
    const char *name; /* NULL where it is not known; lives as long as the report */
    double precision; /* of the samples predicted as the class, the share that are */
    double recall;    /* of the samples of the class, the share predicted as such */
    double f1;        /* 2 precision recall / (precision + recall) */
    int64_t support;  /* samples of the class */
    int64_t predicted;
    uint64_t reserved[8]; /* 0 */
} cornu_class_scores;

/* By a class's number, or one of the means: of all classes alike, or by their support. */
enum { CORNU_MACRO_AVERAGE = -1, CORNU_WEIGHTED_AVERAGE = -2 };
CORNU_API cornu_status cornu_report_class(const cornu_report *report, int64_t index,
                                          cornu_class_scores *scores);
/* Samples of class `truth` predicted as `predicted` (-1: as none); 0 of classes that are not there.
 */
CORNU_API int64_t cornu_report_count(const cornu_report *report, int64_t truth, int64_t predicted);
typedef struct cornu_confusion {
    int64_t truth, predicted, count;
    uint64_t reserved[2]; /* 0 */
} cornu_confusion;

/* The `most` pairs of different classes with the most samples, the largest first, none with 0.
   Returns how many there are. */
CORNU_API int64_t cornu_report_confusions(const cornu_report *report, int64_t most,
                                          cornu_confusion *confusions);

/* A misclassified sample. */
typedef struct cornu_report_error {
    int64_t sample; /* its number, as cornu_data_batch and cornu_data_sample_file count; in a stream
                       from the first batch on */
    int64_t truth, predicted; /* -1: predicted as none */
    double
        value; /* that of the predicted class (cornu_model_class_values); NaN where there is none */
    const char *file;     /* in an image folder; else NULL; lives as long as the report */
    uint64_t reserved[4]; /* 0 */
} cornu_report_error;

/* In order: the most certain of the wrong class first. */
CORNU_API cornu_status cornu_report_error_get(const cornu_report *report, int64_t index,
                                              cornu_report_error *error);
/* All of it as JSON (docs/evaluation.md). */
CORNU_API cornu_status cornu_report_json(const cornu_report *report, char **json);
/* Write it atomically: FILE.json, the same; FILE.png, a picture of the matrix, whose rows are true
   classes and whose columns are predicted ones. */
CORNU_API cornu_status cornu_report_write(const cornu_report *report, const char *path);
/* The first `most` (0: 64) misclassified samples as a sheet of pictures with their classes; `data`
   is that of the evaluation. CORNU_UNSUPPORTED where samples are no pictures or came by a stream.
 */
CORNU_API cornu_status cornu_report_write_misclassified(const cornu_report *report,
                                                        const cornu_data *data, int64_t most,
                                                        const char *path);
typedef enum cornu_output_kind {
    /* Probabilities: the last activation is softmax or sigmoid, or the loss is from_logits. */
    CORNU_OUTPUT_PROBABILITY = 0,
    CORNU_OUTPUT_LOGIT = 1, /* nothing tells what the outputs are; the larger, the likelier */
    CORNU_OUTPUT_VALUE = 2  /* numbers that mean themselves: a loss such as mean_squared_error */
} cornu_output_kind;

typedef struct cornu_output_info {
    cornu_output_kind kind;
    /* Outputs of a sample; 2 where its one output is the probability of class 1. */
    int64_t classes;
    uint64_t reserved[8]; /* 0 */
} cornu_output_info;

CORNU_API cornu_status cornu_model_output_info(const cornu_model *model, cornu_output_info *info);
/* Outputs [count][output shape], as cornu_predict gives them, as values [count][classes] of the
   model's output kind: outputs under a loss that is from_logits go through its softmax or sigmoid,
   and one probability p becomes 1 - p and p. */
CORNU_API cornu_status cornu_model_class_values(const cornu_model *model, const float *outputs,
                                                int64_t count, float *values);
typedef struct cornu_class_value {
    int64_t index;    /* of the class */
    const char *name; /* NULL where it is not known; lives as long as the model */
    float value;
    uint64_t reserved[2]; /* 0 */
} cornu_class_value;

/* The `most` classes of the largest values of one sample, values[classes], largest first and of
   equal ones the first; NaN is none of them. A single probability is of class 1 above 0.5, as
   Keras's accuracy has it. Returns how many there are. */
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
