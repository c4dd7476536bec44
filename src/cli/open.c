#include "cli/cli.h"
#include <string.h>
#include <strings.h>

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), tail = strlen(ending);
    return length >= tail && strcasecmp(text + length - tail, ending) == 0;
}

int open_data(const cornu_model *model, const char *what, bool download, bool strict, progress *p,
              cornu_data **data)
{
    cornu_data_options options = {.folder = what,
                                  .allow_download = download,
                                  .strict = strict,
                                  .on_progress = progress_download,
                                  .on_notice = progress_notice,
                                  .user = p};
    cornu_status status = cornu_data_open_for_model(model, &options, data);
    progress_break(p);
    return report(status);
}
int open_model_file(const command *c, const char *path, cornu_model **model)
{
    if (!ends_with(path, ".safetensors"))
        return fail_usage(c,
                          "%s: found another name; expected a model file (.safetensors), as cornu "
                          "train --save writes it",
                          path);
    return report(cornu_model_open(path, model));
}
