/* Samples that may still be decoded when they are asked for. */
#include "data/folders/loader.h"

/* The number of a split's first sample: the training samples come first. */
static int64_t first_number(const cornu_data *data, cornu_split split)
{
    return split == CORNU_TEST ? data->block[CORNU_TRAIN].count : 0;
}

void data_want(const cornu_data *data, const void *who, cornu_split split, const int64_t *index,
               int64_t count)
{
    if (data->loader)
        loader_want(data->loader, who, first_number(data, split), index, count);
}

bool data_is_wanted_by(const cornu_data *data, const void *who)
{
    return !data->loader || loader_is_wanted_by(data->loader, who);
}

cornu_status data_next(const cornu_data *data, bool *usable)
{
    *usable = true;
    return data->loader ? loader_next(data->loader, usable) : CORNU_OK;
}

void data_release(const cornu_data *data, cornu_split split, const int64_t *index, int64_t count)
{
    if (data->loader)
        loader_release(data->loader, first_number(data, split), index, count);
}

cornu_status data_finish(const cornu_data *data)
{
    return data->loader ? loader_finish(data->loader, data->folder) : CORNU_OK;
}

bool data_is_whole(const cornu_data *data)
{
    return !data->loader || loader_is_whole(data->loader);
}

int64_t data_files_left(const cornu_data *data)
{
    return data->loader ? loader_left(data->loader) : 0;
}

int64_t data_usable(const cornu_data *data, cornu_split split, int64_t first, int64_t count)
{
    int64_t begin = first_number(data, split) + first;
    return data->loader ? loader_usable(data->loader, begin, begin + count) : count;
}

cornu_status data_ready(const cornu_data *data, cornu_split split, int64_t index, int64_t *at)
{
    bool usable;
    int64_t count = data->block[split].count, begin = first_number(data, split);
    TRY(data_check_there(data));
    TRY(data_finish(data));
    int64_t found = index;
    if (data->loader && index >= 0)
        found = loader_number_of(data->loader, begin, begin + count, index) - begin;
    if (index < 0 || found < 0 || found >= count)
        return status_fail(CORNU_INVALID, "%s: sample %lld; expected 0 to %lld", data->name,
                           (long long)index, (long long)data_usable(data, split, 0, count) - 1);
    *at = found;
    data_want(data, at, split, at, 1);
    cornu_status status = data_next(data, &usable);
    data_want(data, NULL, split, NULL, 0);
    return status;
}

cornu_status cornu_data_loading_get(const cornu_data *data, cornu_data_loading *loading)
{
    if (!data || !loading)
        return status_fail(CORNU_INVALID,
                           "cornu_data_loading_get: found NULL; expected data and loading");
    *loading = (cornu_data_loading){0};
    if (data->loader)
        loader_report(data->loader, loading);
    return CORNU_OK;
}

const char *cornu_data_sample_file(const cornu_data *data, cornu_split split, int64_t index)
{
    if (!data || !data->loader || (split != CORNU_TRAIN && split != CORNU_TEST) || index < 0 ||
        index >= data->block[split].count)
        return NULL;
    return loader_file(data->loader, first_number(data, split) + index);
}
