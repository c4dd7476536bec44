/* What callbacks ask of the run. */
#include "train/callbacks.h"
#include "train/shards.h"
#include <stdarg.h>

cornu_status fit_pull(fit_state *f)
{
    if (!f->pulled)
        TRY(session_pull(f->session, 0, f->model->weight_count));
    f->pulled = true;
    return CORNU_OK;
}

cornu_status fit_gather(fit_state *f)
{
    return f->shards ? shards_gather(f->shards) : CORNU_OK;
}

void fit_notice(const fit_state *f, const char *format, ...)
{
    if (!f->on_notice)
        return;
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    printable_v(line, sizeof line, format, arguments);
    va_end(arguments);
    if (f->held)
        text_add(f->held, "%s\n", line);
    else
        f->on_notice(f->user, line);
}
