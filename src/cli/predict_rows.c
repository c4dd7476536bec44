/* Predictions as lines of text, as CSV (RFC 4180) or as a JSON array: see predict.h. */
#include "base/files.h"
#include "base/show.h"
#include "cli/predict.h"
#include <cornu/report.h>
#include <cornu/tables.h>
#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *value_name(const rows *r)
{
    static const char *const names[] = {[CORNU_OUTPUT_PROBABILITY] = "probability",
                                        [CORNU_OUTPUT_LOGIT] = "logit",
                                        [CORNU_OUTPUT_VALUE] = "value"};
    return names[r->info.kind];
}

/* ---- text ------------------------------------------------------------------------------- */

/* "12  pets/cat/3.jpg  (cat)": the sample's number, its file and the class that it is. */
static void print_truth(const row *one)
{
    print("%lld", (long long)one->number);
    if (one->file)
        print("  %s", one->file);
    if (one->truth)
        print("  (%s)", one->truth);
    else if (one->label >= 0)
        print("  (%d)", one->label);
}

/* "  cat 0.9312  bird 0.0412", the largest first; numbers that are no probabilities say so. */
static void print_text(const rows *r, const row *one)
{
    const char *kind = r->info.kind == CORNU_OUTPUT_PROBABILITY ? "" : value_name(r);
    if (one->error) {
        (void)fail(STATUS_FAILURE, "%s", one->error);
        return;
    }
    if (r->labelled)
        print_truth(one);
    else
        print("%s", one->file);
    for (int64_t k = 0; k < one->count; k++) {
        const cornu_class_value *b = &one->best[k];
        if (r->info.classes == 1)
            print("  ");
        else if (b->name)
            print("  %s ", b->name);
        else
            print("  %lld ", (long long)b->index);
        print("%s%s%.4f", kind, *kind ? " " : "", (double)b->value);
    }
    print("%s\n", one->count > 0 ? "" : "  no number (NaN)");
}

/* ---- CSV -------------------------------------------------------------------------------- */

static void add_csv_class(const char *name, int64_t index, text *line)
{
    if (name)
        csv_add_cell(line, name);
    else
        text_add(line, ",%lld", (long long)index);
}

/* A line that begins with a comma, which goes. */
static void print_csv(rows *r, text *line)
{
    if (!line->failed)
        print_row(r->to, line->data + 1);
    else
        r->failures++;
    text_free(line);
}

static void write_csv_header(rows *r)
{
    char name[48];
    text line = {0};
    csv_add_cell(&line, r->labelled ? "sample" : "file");
    if (r->named)
        csv_add_cell(&line, "file");
    if (r->labelled)
        csv_add_cell(&line, "true_class");
    for (int64_t k = 1; k <= r->top; k++)
        for (int i = 0; i < 2; i++) {
            snprintf(name, sizeof name, "%s_%lld", i ? value_name(r) : "class", (long long)k);
            csv_add_cell(&line, name);
        }
    if (!r->labelled)
        csv_add_cell(&line, "error");
    print_csv(r, &line);
}

static void write_csv(rows *r, const row *one)
{
    text line = {0};
    if (!r->labelled)
        csv_add_cell(&line, one->file);
    else
        text_add(&line, ",%lld", (long long)one->number);
    if (r->named)
        csv_add_cell(&line, one->file ? one->file : "");
    if (r->labelled && one->label < 0)
        csv_add_cell(&line, one->truth ? one->truth : "");
    else if (r->labelled)
        add_csv_class(one->truth, one->label, &line);
    for (int64_t k = 0; k < r->top; k++) {
        bool there = !one->error && k < one->count;
        if (there) {
            add_csv_class(one->best[k].name, one->best[k].index, &line);
            text_add(&line, ",%.9g", (double)one->best[k].value);
        } else {
            csv_add_cell(&line, "");
            csv_add_cell(&line, "");
        }
    }
    if (!r->labelled)
        csv_add_cell(&line, one->error ? one->error : "");
    print_csv(r, &line);
}

/* ---- JSON ------------------------------------------------------------------------------- */

/* Text that is no UTF-8, which JSON cannot hold, as cornu_printable shows it. New reference. */
static json_t *json_text(const char *string)
{
    json_t *value = json_string(string);
    size_t room = value ? 0 : cornu_printable(string, NULL, 0) + 1;
    char *shown = value ? NULL : malloc(room);
    if (shown) {
        cornu_printable(string, shown, room);
        value = json_string(shown);
    }
    free(shown);
    return value;
}

/* A file's name; if it is no UTF-8 also its bytes, as hexadecimal digits. */
static void set_file(json_t *object, const char *file)
{
    json_object_set_new(object, "file", json_text(file));
    json_t *plain = json_string(file);
    char *hex = plain ? NULL : malloc(2 * strlen(file) + 1);
    for (size_t i = 0; hex && file[i]; i++)
        snprintf(hex + 2 * i, 3, "%02x", (unsigned char)file[i]);
    if (hex)
        json_object_set_new(object, "file_hex", json_string(hex));
    free(hex);
    json_decref(plain);
}

static void set_class(json_t *object, const char *prefix, const char *name, int64_t index)
{
    char key[32];
    snprintf(key, sizeof key, "%sindex", prefix);
    if (index >= 0)
        json_object_set_new(object, key, json_integer(index));
    snprintf(key, sizeof key, "%sclass", prefix);
    if (name)
        json_object_set_new(object, key, json_text(name));
}

static json_t *row_json(const rows *r, const row *one)
{
    json_t *object = json_object(), *list = json_array();
    if (!r->labelled)
        set_file(object, one->file);
    else
        json_object_set_new(object, "sample", json_integer(one->number));
    if (r->named && one->file)
        set_file(object, one->file);
    if (r->labelled && (one->label >= 0 || one->truth))
        set_class(object, "true_", one->truth, one->label);
    for (int64_t k = 0; k < one->count && !one->error; k++) {
        json_t *item = json_object();
        set_class(item, "", one->best[k].name, one->best[k].index);
        json_object_set_new(item, value_name(r), json_real((double)one->best[k].value));
        json_array_append_new(list, item);
    }
    if (one->error)
        json_object_set_new(object, "error", json_text(one->error));
    else
        json_object_set(object, "predictions", list);
    json_decref(list);
    return object;
}

/* On a terminal everything except ASCII is escaped. */
static void write_json(rows *r, const row *one)
{
    size_t ascii = isatty(r->fd) ? JSON_ENSURE_ASCII : 0;
    json_t *object = row_json(r, one);
    char *line = object ? json_dumps(object, JSON_REAL_PRECISION(9) | ascii) : NULL;
    json_decref(object);
    print_to(r->to, r->count > 0 ? ",\n" : "[\n");
    if (line)
        print_raw(r->to, line);
    else
        r->failures++;
    free(line);
}

/* ---- all -------------------------------------------------------------------------------- */

static const char *where(const rows *r)
{
    return r->to == stdout ? "standard output" : r->path;
}

int rows_open(rows *r)
{
    r->to = stdout;
    r->fd = STDOUT_FILENO;
    if (r->path && strcmp(r->path, "-") != 0)
        r->to = file_stream_open(r->path, 0, &r->fd);
    if (!r->to)
        return fail(STATUS_FAILURE, "%s: cannot write: %s", r->path, strerror(errno));
    if (r->format == ROWS_CSV)
        write_csv_header(r);
    return STATUS_OK;
}

void rows_write(rows *r, const row *one)
{
    if (r->format == ROWS_TEXT)
        print_text(r, one);
    else if (r->format == ROWS_CSV)
        write_csv(r, one);
    else
        write_json(r, one);
    r->count++;
    if (ferror(r->to) && !r->problem)
        r->problem = errno;
}

static bool is_read(int fd)
{
    struct pollfd reader = {.fd = fd, .events = POLLOUT};
    return poll(&reader, 1, 0) != 1 || !(reader.revents & POLLERR);
}

/* Reported here, so that the end of the program does not report it again. */
static int fail_write(rows *r)
{
    __fpurge(r->to);
    clearerr(r->to);
    r->over = true;
    if (r->problem != EPIPE && is_read(r->fd))
        return fail(STATUS_FAILURE, "%s: cannot write: %s; stopped after %lld row%s", where(r),
                    strerror(r->problem ? r->problem : EIO), (long long)r->count,
                    r->count == 1 ? "" : "s");
    if (r->to != stdout)
        (void)fail(STATUS_OK, "%s: nobody reads it any more; stopped after %lld row%s", where(r),
                   (long long)r->count, r->count == 1 ? "" : "s");
    return STATUS_OK; /* a closed standard output (| head) is not an error */
}

int rows_flush(rows *r)
{
    if (r->failures > 0)
        return fail(STATUS_FAILURE, "predict: not enough memory");
    if (fflush(r->to) == 0 && !ferror(r->to))
        return STATUS_OK;
    r->problem = r->problem ? r->problem : errno;
    return fail_write(r);
}

int rows_close(rows *r, int status)
{
    int own = STATUS_OK;
    if (!r->to)
        return status;
    if (r->format == ROWS_JSON && !r->over)
        print_to(r->to, r->count > 0 ? "\n]\n" : "[]\n");
    if (!r->over)
        own = rows_flush(r);
    if (r->to != stdout && fclose(r->to) != 0 && own == STATUS_OK)
        own = fail(STATUS_FAILURE, "%s: cannot write: %s", r->path, strerror(errno));
    r->to = NULL;
    return status == STATUS_OK ? own : status;
}
