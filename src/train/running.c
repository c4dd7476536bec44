#include "train/running.h"
#include <math.h>

void scores_open(const cornu_model *model, cornu_scores *scores)
{
    *scores = (cornu_scores){.count = model->metric_count + 1, .name[0] = "loss"};
    for (int i = 0; i < model->metric_count; i++)
        scores->name[i + 1] = metric_name(&model->metrics[i]);
    for (int i = 0; i < scores->count; i++)
        scores->value[i] = NAN;
}

void scores_from_sums(const double *sums, int64_t samples, cornu_scores *scores)
{
    for (int i = 0; i < scores->count; i++)
        scores->value[i] = samples > 0 ? sums[i] / (double)samples : NAN;
}

void results_sums(const step_results *results, int metric_count, double *sums)
{
    sums[0] = results->loss;
    for (int i = 0; i < metric_count; i++)
        sums[i + 1] = results->metrics[i];
}

cornu_status model_default_seed(const cornu_model *model, uint64_t *seed)
{
    fit_spec spec;
    TRY(fit_spec_read(model->fit, &spec));
    *seed = spec.seed ? spec.seed : 1;
    return CORNU_OK;
}

cornu_status session_take(session *s, feed *f, int64_t from, int64_t batch, const int64_t **index,
                          int64_t *got)
{
    device *d = session_device(s);
    if (!f->pass.data->stream)
        return feed_take(f, from, batch, index, got);
    if (d->ops->upload) /* it may still read the batch that the next one replaces */
        TRY(d->ops->synchronize(d));
    TRY(feed_take(f, from, batch, index, got));
    return *got > 0 ? session_check_data(session_model(s), &f->samples, "a batch of the stream")
                    : CORNU_OK;
}
