/* Is a GPU worth it? For each device the time to the end of a recipe's training, what it takes of
   energy, money and memory, from which batch on it wins, and one sentence. */
#ifndef BENCH_ADVISE_H
#define BENCH_ADVISE_H

#include "bench/price.h"
#include "bench/report.h"

typedef struct advise_options {
    const char *what;      /* recipe, workload or model file */
    const char *device;    /* as bench_options.device; NULL: all but reference */
    const char *precision; /* as there */
    bool exact_convolution;
    int threads;
    int64_t epochs, batch; /* 0: as the recipe says */
    const char *data;
    const char *price;      /* for price_parse */
    const int64_t *batches; /* ascending, 0 at the end; NULL: 1, 2, 4, ... 512 */
    double seconds;         /* within which to measure; 0: 50 */
    void (*on_notice)(void *user, const char *line);
    bool (*should_stop)(void *user);
    void *user;
} advise_options;

/* One device. Figures that are not known are NAN. */
typedef struct advise_row {
    char device[64];
    char failed[BENCH_REASON]; /* why it could not be measured; "" */
    bool gpu;
    double seconds, error; /* to the end of the last epoch, and half of its range */
    double step_ms, step_error_ms, validation_ms;
    int64_t measured_batch; /* of step_ms: smaller than the recipe's where a step takes too long */
    double host_joules, device_joules; /* of the host's processors; of the device itself */
    double cost;
    double memory_needed, memory_free; /* bytes of weights, slots and buffers; of the device */
    int64_t wins_from, compared_up_to; /* against the first row: batches; 0: none */
} advise_row;

/* A GPU that is not here, by a figure that was published for it (published.def). */
typedef struct advise_estimate {
    const char *hardware, *workload; /* whose figure it is */
    double seconds;                  /* of all steps, without validations */
    double factor;                   /* it may be so many times as much, or so little */
} advise_estimate;
enum { ADVISE_ESTIMATES_MOST = 16 };

typedef struct advise_report {
    char name[64], data_name[64];
    bool real_data, at_most; /* early_stopping may end it earlier */
    int64_t epochs, steps, batch, samples;
    int64_t validations, validation_samples;
    int64_t pictures;       /* of a folder: that are decoded in the first epoch, */
    double picture_seconds; /* each in so many seconds of a core */
    price_list prices;
    advise_row rows[BENCH_DEVICES_MOST];
    int count;
    advise_estimate estimates[ADVISE_ESTIMATES_MOST];
    int estimate_count;
    char no_energy[256]; /* why there is none of the host's; "" */
    char advice[768];
    double measured_seconds; /* what it took to find out */
    bench_report bench;
} advise_report;

/* CORNU_NOT_FOUND where the data are not here and no workload's table says how many they are. Where
   no device could be measured, the first one's failure. Call advise_report_free also then. */
cornu_status advise_run(const advise_options *options, advise_report *report);
void advise_report_free(advise_report *report);
/* Fill in the estimates of `what`, by the figures of that workload, or else by those of the one
   whose training step takes about as many FLOPs; none where no step is of that size. */
cornu_status advise_estimate_gpus(const char *what, const cornu_model *model,
                                  advise_report *report);
/* The sentence, from the rows and estimates. */
void advise_say(advise_report *report);
/* At most 80 columns. */
void advise_print(const advise_report *report, bool utf8, FILE *out);
cornu_status advise_write_json(const advise_report *report, const char *path);
cornu_status advise_write_html(const advise_report *report, const char *path);

#endif
