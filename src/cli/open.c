#include "cli/cli.h"
#include <cornu/images.h>
#include <cornu/tables.h>
#include <string.h>
#include <strings.h>

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), tail = strlen(ending);
    return length >= tail && strcasecmp(text + length - tail, ending) == 0;
}

int open_data(const cornu_model *model, const char *what, bool download, const data_choice *files,
              progress *p, cornu_data **data)
{
    static const data_choice defaults;
    const data_choice *c = files ? files : &defaults;
    char beside[4096] = ".";
    const char *slash = c->beside ? strrchr(c->beside, '/') : NULL;
    if (slash)
        snprintf(beside, sizeof beside, "%.*s", (int)(slash - c->beside + 1), c->beside);
    cornu_data_options options = {.folder = what,
                                  .allow_download = download,
                                  .strict = c->strict,
                                  .whole = c->whole,
                                  .brief = true,
                                  .fraction = c->fraction,
                                  .background = c->background,
                                  .other_data = c->other_data,
                                  .workers = (int)c->workers,
                                  .cache = c->cache,
                                  .ranks = c->ranks,
                                  .cache_folder = beside,
                                  .on_progress = progress_download,
                                  .should_stop = interrupt_asked,
                                  .on_notice = progress_notice,
                                  .user = p};
    cornu_status status = cornu_data_open_for_model(model, &options, data);
    progress_break(p);
    return report(status);
}

int adapt_model(cornu_model *model, const cornu_data *data, progress *p)
{
    char *told = NULL, line[1024];
    int status = report(cornu_model_adapt(model, data, &told));
    if (told) {
        snprintf(line, sizeof line, "%.900s (--exact: as it was published)", told);
        progress_notice(p, line);
    }
    cornu_free(told);
    return status;
}

/* Percentage of the workers' total time. */
static double percent_of(double seconds, const cornu_data_loading *l)
{
    double all = l->decode_seconds + l->resize_seconds;
    return all > 0 ? 100 * seconds / all : 0;
}

void print_loading(const cornu_data *data, const cornu_progress *epoch)
{
    cornu_data_loading l;
    if (cornu_data_loading_get(data, &l) != CORNU_OK || l.files == 0)
        return;
    print("images: %lld decoded", (long long)l.decoded);
    if (l.decoded > 0)
        print(" (%.0f/s a worker: decode %.0f %%, resize %.0f %%)",
              (double)l.decoded / (l.decode_seconds + l.resize_seconds),
              percent_of(l.decode_seconds, &l), percent_of(l.resize_seconds, &l));
    if (l.cached > 0)
        print(", %lld from the cache", (long long)l.cached);
    if (l.skipped > 0)
        print(", %lld skipped", (long long)l.skipped);
    print("; steps waited %.2f s for them", l.wait_seconds);
    double seconds = epoch->seconds - epoch->resumed_seconds;
    if (epoch->gather_seconds > 0 && seconds > 0)
        print("; taking and changing samples %.1f %% of the last epoch",
              100 * epoch->gather_seconds / seconds);
    print("\n");
}

bool is_model_name(const char *path)
{
    return ends_with(path, ".safetensors") || ends_with(path, ".keras") || ends_with(path, ".h5") ||
           ends_with(path, ".hdf5");
}

bool is_onnx_name(const char *path)
{
    return ends_with(path, ".onnx");
}

int open_model_file(const command *c, const char *path, cornu_model **model)
{
    if (!is_model_name(path) && !is_onnx_name(path))
        return fail_usage(c,
                          "%s: found another name; expected a model file (.safetensors, .keras, "
                          ".h5, .onnx), as cornu train --save, Keras or others write it",
                          path);
    return report(cornu_model_open(path, model));
}
