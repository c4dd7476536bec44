/* Is a GPU worth it? For each device: the time to the end of a recipe's training, its energy, money
   and memory, the batch from which it wins, and one sentence. */
#ifndef BENCH_ADVISE_H
#define BENCH_ADVISE_H

#include "bench/bench.h"
#include "bench/cost.h"
#include "bench/report.h"

typedef struct advise_options {
    const char *what;  /* recipe, workload or model file */
    int64_t epochs;    /* 0: the recipe's */
    const char *price; /* for price_parse */
    /* Where to run (device NULL: all except reference), batch (0: the recipe's), batches (NULL: 1,
       2, 4, ... 512), seconds (0: 50), data, and the callbacks. */
    bench_options bench;
} advise_options;

/* One device. Unknown figures are NAN. */
typedef struct advise_row {
    char device[64];
    char failed[BENCH_REASON]; /* the reason why it could not be measured; "" */
    bool gpu;
    double seconds, error; /* to the end of the last epoch, and half of the range */
    double step_ms, step_error_ms, validation_ms;
    int64_t measured_batch; /* of step_ms: smaller than the recipe's if a step takes too long */
    double host_joules, device_joules; /* of the host's processors; of the device itself */
    double cost;
    double memory_needed,
        memory_free; /* bytes of weights, slots and buffers; free bytes of the device */
    int64_t wins_from, compared_up_to; /* relative to the first row: batches; 0: none */
} advise_row;

/* A GPU that is not in this machine, estimated from a published figure (published.def). */
typedef struct advise_estimate {
    const char *hardware, *workload; /* the source of the figure */
    double seconds;                  /* all steps, without validations */
    double factor;                   /* the true time may be this many times longer, or shorter */
} advise_estimate;
enum { ADVISE_ESTIMATES_MOST = 16 };

typedef struct advise_report {
    char name[64], data_name[64];
    bool real_data, at_most; /* early_stopping may end it earlier */
    int64_t epochs, steps, batch, samples;
    int64_t validations, validation_samples;
    int64_t pictures;       /* for a folder: pictures that are decoded in the first epoch, */
    double picture_seconds; /* and seconds of a core for each */
    price_list prices;
    advise_row rows[BENCH_DEVICES_MOST];
    int count;
    advise_estimate estimates[ADVISE_ESTIMATES_MOST];
    int estimate_count;
    char no_energy[256]; /* the reason why there is no energy of the host; "" */
    char advice[768];
    double measured_seconds; /* the time that measuring took */
    bench_report bench;
} advise_report;

/* CORNU_NOT_FOUND if the data are not here and no workload's table has their number. If no device
   could be measured, the first one's failure. Call advise_report_free also then. */
cornu_status advise_run(const advise_options *options, advise_report *report);
void advise_report_free(advise_report *report);
/* Fill in the estimates of `what`, from the figures of that workload, or else of the workload whose
   training step takes about as many FLOPs; none if no step is of that size. */
cornu_status advise_estimate_gpus(const char *what, const cornu_model *model,
                                  advise_report *report);
/* Make the sentence from the rows and estimates. */
void advise_say(advise_report *report);
/* At most 80 columns. */
void advise_print(const advise_report *report, bool utf8, FILE *out);
cornu_status advise_write_json(const advise_report *report, const char *path);
cornu_status advise_write_html(const advise_report *report, const char *path);

#endif
