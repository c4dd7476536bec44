/* Keras's CSVLogger: a row an epoch, the epoch counted from 0, then the values in alphabetical
 * order. */
#include "base/memory.h"
#include "base/number.h"
#include "base/show.h"
#include "report/csv.h"
#include "train/callbacks.h"
#include <stdlib.h>
#include <string.h>

typedef struct csv_logger {
    const doc *options;
    const char *path;
    bool append;
    csv *csv;
    int order[HISTORY_COLUMNS_MAX]; /* columns of the logs */
} csv_logger;

static const char *const keys[] = {"path", "filename", "append", NULL};

static cornu_status read(void *self, const doc *options)
{
    csv_logger *c = self;
    const char *filename = NULL; /* Keras's word */
    c->options = options;
    TRY(doc_read_string(options, "path", &c->path));
    TRY(doc_read_string(options, "filename", &filename));
    TRY(doc_read_bool(options, "append", &c->append));
    if (!c->path == !filename)
        return doc_fail(options, "csv_logger: found %s path%s; expected path: FILE.csv",
                        filename ? "filename and" : "no", filename ? "" : " and no filename");
    c->path = c->path ? c->path : filename;
    return CORNU_OK;
}

static cornu_status on_fit_begin(void *self, fit_state *f)
{
    csv_logger *c = self;
    for (int i = 0; i < f->logs.count; i++) {
        int j = i;
        for (; j > 0 && strcmp(f->logs.name[c->order[j - 1]], f->logs.name[i]) > 0; j--)
            c->order[j] = c->order[j - 1];
        c->order[j] = i;
    }
    cornu_status status = csv_check(&(csv_location){c->path, f->output, f->confined});
    return status == CORNU_INVALID ? doc_fail(c->options, "%s", cornu_last_error()) : status;
}

static cornu_status open_table(csv_logger *c, const fit_state *f)
{
    text header = {0};
    char *line;
    text_add(&header, "epoch");
    for (int i = 0; i < f->logs.count; i++)
        csv_add_name(&header, f->logs.name[c->order[i]]);
    TRY(text_take(&header, &line));
    /* `append` keeps the rows of earlier runs; a resumed run drops those that it writes again. */
    double last = f->resumed ? (double)f->epoch - 1 : 1e300;
    cornu_status status = csv_open(&(csv_location){c->path, f->output, f->confined}, line,
                                   c->append || f->resumed, last, &c->csv);
    free(line);
    return status;
}

static cornu_status on_epoch_begin(void *self, fit_state *f)
{
    csv_logger *c = self;
    return c->csv ? CORNU_OK : open_table(c, f);
}

static cornu_status on_epoch_end(void *self, fit_state *f)
{
    csv_logger *c = self;
    text row = {0};
    char *line, number[NUMBER_SIZE];
    text_add(&row, "%jd", (intmax_t)f->epoch);
    for (int i = 0; i < f->logs.count; i++)
        text_add(&row, ",%s", number_print(number, "%.17g", f->logs.value[c->order[i]]));
    TRY(text_take(&row, &line));
    cornu_status status = csv_add(c->csv, line);
    free(line);
    return status;
}

static cornu_status sync_table(void *self)
{
    const csv_logger *c = self;
    return csv_sync(c->csv);
}

static void close(void *self)
{
    csv_logger *c = self;
    (void)csv_close(c->csv); /* each row was flushed when it was written */
}

const callback_kind callback_csv_logger = {.size = sizeof(csv_logger),
                                           .keys = keys,
                                           .writes = true,
                                           .read = read,
                                           .on_fit_begin = on_fit_begin,
                                           .on_epoch_begin = on_epoch_begin,
                                           .on_epoch_end = on_epoch_end,
                                           .sync = sync_table,
                                           .close = close};
