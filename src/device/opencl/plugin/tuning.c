/* How products and convolutions are divided among work-groups: by the kind of device, or as the
   user's tuning file says. The sums' order follows from it, so that it depends on nothing else that
   may differ from run to run. */
#include "base/files.h"
#include "device/opencl/plugin/core.h"
#include "device/opencl/plugin/kernels/conv.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct tuning_row {
    bool cpu;
    const char *vendor; /* a piece of CL_DEVICE_VENDOR; NULL: any */
    opencl_blocking blocking;
} tuning_row;

/* GPUs of NVIDIA, AMD and Intel: 64 work-items of 8 x 8 sums, which is 130 to 170 registers, and 9
   to 15 KB of local memory, so that four or more work-groups are on a compute unit at once; with
   fewer sums local memory's bandwidth is the limit (docs/opencl-gpus.md). ARM's have 64 registers.
   CPUs: one work-item after the other has vectors of 16, tiles stay in the first-level cache, and
   transforms in the last, so that Winograd's pays earlier. The first row that fits the device is
   taken. */
static const tuning_row rows[] = {
    {true, NULL, {32, 64, 64, 8, 16, 16, 16}},  {true, NULL, {32, 64, 32, 8, 16, 16, 16}},
    {false, "ARM", {32, 32, 16, 4, 4, 64, 32}}, {false, NULL, {64, 64, 16, 8, 8, 256, 32}},
    {false, NULL, {32, 32, 16, 4, 4, 128, 32}}, {false, NULL, {16, 16, 16, 4, 4, 128, 32}},
    {true, NULL, {16, 16, 16, 4, 4, 16, 16}},
};
enum { ROWS = sizeof rows / sizeof *rows };

static size_t k_groups_of(const opencl_blocking *b)
{
    return (size_t)CONV_GRADIENT_K_GROUPS(b->gemm_m, b->gemm_n, b->item_m, b->item_n);
}

/* Floats of local memory for the largest shape: kernels/gemm_body.h. */
static size_t local_floats(const opencl_blocking *b)
{
    size_t m = (size_t)b->gemm_m, n = (size_t)b->gemm_n, k = (size_t)b->gemm_k;
    size_t pad = b->item_n == 8 ? 4 : (size_t)b->item_n, most = 0; /* PIECE of kernels/gemm.h */
    for (int kind = 0; kind < 3; kind++) {
        size_t tile_m = kind == 0 ? m : kind == 1 ? m / 2 : m * 2;
        size_t tile_n = kind == 0 ? n : kind == 1 ? n * 2 : n / 2;
        size_t b_tile = k * (tile_n + pad);
        size_t by_rows = k_groups_of(b) * (tile_m * (k + pad) + b_tile) + 4 * tile_m;
        size_t by_depth = k_groups_of(b) * (k * (tile_m + pad) + b_tile + 4 * k);
        most = by_rows > most ? by_rows : most;
        most = by_depth > most ? by_depth : most;
    }
    return most;
}

static bool fits(const opencl *d, const opencl_blocking *b)
{
    size_t items =
        (size_t)(b->gemm_m / b->item_m) * (size_t)(b->gemm_n / b->item_n) * k_groups_of(b);
    return items <= d->group_most && local_floats(b) * sizeof(float) <= d->local_bytes;
}

cornu_status opencl_blocking_for(const opencl *d, opencl_blocking *out)
{
    char vendor[256] = "";
    TRY(CL(d, clGetDeviceInfo(d->id, CL_DEVICE_VENDOR, sizeof vendor, vendor, NULL)));
    for (int i = 0; i < ROWS; i++) {
        const tuning_row *r = &rows[i];
        if (r->cpu != d->is_cpu || (r->vendor && !strstr(vendor, r->vendor)) ||
            !fits(d, &r->blocking))
            continue;
        *out = r->blocking;
        return CORNU_OK;
    }
    return status_fail(CORNU_UNSUPPORTED,
                       "found work-groups of at most %zu with %zu bytes of local memory; expected "
                       "%d and %zu",
                       d->group_most, d->local_bytes, 16,
                       local_floats(&rows[ROWS - 1].blocking) * sizeof(float));
}

/* ---- as text ------------------------------------------------------------------------------ */

void opencl_blocking_text(const opencl_blocking *b, char fields[TUNING_TEXT])
{
    int used = 0;
#define FIELD(field, macro)                                                          \
    used += snprintf(fields + used, (size_t)(TUNING_TEXT - used), "%s" #field "=%d", \
                     used ? " " : "", b->field);
    OPENCL_BLOCKING(FIELD)
#undef FIELD
}

static bool is_power(int value, int least, int most)
{
    return value >= least && value <= most && (value & (value - 1)) == 0;
}

/* True if kernels/gemm_body.h supports it, also for tiles of half and of double the size. */
static bool is_possible(const opencl_blocking *b)
{
    int item = b->item_m > b->item_n ? b->item_m : b->item_n;
    return is_power(b->item_m, 2, 16) && is_power(b->item_n, 4, 16) &&
           is_power(b->gemm_m, 2 * item, 256) && is_power(b->gemm_n, 2 * b->item_n, 256) &&
           is_power(b->gemm_k, b->item_n, 256) && b->split_groups >= 1 && b->winograd_channels >= 1;
}

/* The value of "NAME=123" in the text, each word of which must be a field; -1 if it is missing. */
static int field_of(const char *fields, const char *name)
{
    size_t length = strlen(name);
    for (const char *word = fields; word; word = strchr(word, ' ')) {
        word += *word == ' ';
        if (strncmp(word, name, length) != 0 || word[length] != '=')
            continue;
        char *end;
        long value = strtol(word + length + 1, &end, 10);
        return end != word + length + 1 && (*end == ' ' || !*end) && value >= 0 && value < 1 << 30
                   ? (int)value
                   : -1;
    }
    return -1;
}

/* `file`: that it is from; or NULL. */
static cornu_status parse(const opencl *d, const char *file, const char *fields,
                          opencl_blocking *out)
{
    char again[TUNING_TEXT];
    const char *where = file ? file : "tuning";
    cornu_status failure = file ? CORNU_BAD_FILE : CORNU_INVALID;
#define FIELD(field, macro) out->field = field_of(fields, #field);
    OPENCL_BLOCKING(FIELD)
#undef FIELD
    opencl_blocking_text(out, again);
    if (strcmp(fields, again) != 0 || !is_possible(out))
        return status_fail(
            failure,
            "%s: found \"%.200s\" for device %s; expected what cornu tune writes: each "
            "field once, sizes powers of two",
            where, fields, d->g.name);
    if (!fits(d, out))
        return status_fail(
            failure,
            "%s: found \"%.200s\", which does not fit device %s; expected work-groups of "
            "at most %zu and %zu bytes of local memory",
            where, fields, d->g.name, d->group_most, d->local_bytes);
    return CORNU_OK;
}

cornu_status opencl_tuning_choose(opencl *d, const char *asked)
{
    char *fields = NULL;
    if (asked)
        return parse(d, NULL, asked, &d->blocking);
    TRY(opencl_tuning_file_read(d, &d->tuning_source, &fields));
    cornu_status status = fields ? parse(d, d->tuning_source, fields, &d->blocking)
                                 : opencl_blocking_for(d, &d->blocking);
    if (!fields) {
        free(d->tuning_source);
        d->tuning_source = NULL;
    }
    free(fields);
    return status;
}

/* ---- what can be tuned -------------------------------------------------------------------- */

cornu_status opencl_tuning(gpu *g, device_tuning *out)
{
    const opencl *d = opencl_of(g);
    opencl_blocking_text(&d->blocking, out->text);
    snprintf(out->source, sizeof out->source, "%s",
             d->tuning_source ? d->tuning_source : "built in");
    return CORNU_OK;
}

/* Sizes of tiles, those that are likely to win first. */
typedef struct tile_row {
    bool cpu;
    int gemm_m, gemm_n, gemm_k, item_m, item_n;
} tile_row;

static const tile_row tiles[] = {
    {true, 32, 64, 64, 8, 16},  {true, 32, 64, 128, 8, 16}, {true, 64, 64, 64, 8, 16},
    {true, 32, 128, 64, 8, 16}, {true, 32, 32, 64, 8, 8},   {true, 32, 64, 64, 4, 16},
    {true, 64, 128, 64, 8, 16}, {true, 32, 64, 64, 16, 16}, {true, 64, 64, 128, 8, 16},
    {true, 32, 32, 64, 4, 8},   {true, 32, 32, 32, 8, 4},   {false, 64, 64, 16, 8, 8},
    {false, 64, 64, 16, 8, 4},  {false, 64, 64, 16, 4, 4},  {false, 64, 128, 16, 8, 8},
    {false, 128, 64, 16, 8, 8}, {false, 32, 64, 16, 4, 4},  {false, 128, 128, 16, 8, 8},
    {false, 64, 64, 8, 8, 4},   {false, 64, 64, 32, 8, 4},  {false, 64, 128, 8, 8, 8},
    {false, 32, 32, 16, 4, 4},  {false, 128, 128, 8, 8, 8}, {false, 32, 32, 32, 4, 4},
};
enum { TILES = sizeof tiles / sizeof *tiles };

static const int splits_percent[] = {50, 200, 25, 400, 1000};
static const int winograd_least[] = {16, 32, 64, 8, 1 << 20}; /* the last: never */

static bool tile_candidate(const opencl *d, int index, opencl_blocking *b)
{
    for (int i = 0; i < TILES; i++) {
        const tile_row *t = &tiles[i];
        b->gemm_m = t->gemm_m;
        b->gemm_n = t->gemm_n;
        b->gemm_k = t->gemm_k;
        b->item_m = t->item_m;
        b->item_n = t->item_n;
        if (t->cpu == d->is_cpu && fits(d, b) && index-- == 0)
            return true;
    }
    return false;
}

bool opencl_tuning_candidate(gpu *g, const char *from, int stage, int index,
                             char fields[TUNING_TEXT])
{
    opencl *d = opencl_of(g);
    opencl_blocking b;
    bool there = false;
    if (parse(d, NULL, from, &b) != CORNU_OK)
        return false;
    if (stage == 0) {
        there = tile_candidate(d, index, &b);
    } else if (stage == 1 && index < (int)(sizeof splits_percent / sizeof *splits_percent)) {
        b.split_groups = (int)((int64_t)b.split_groups * splits_percent[index] / 100);
        b.split_groups += b.split_groups == 0;
        there = true;
    } else if (stage == 2 && index < (int)(sizeof winograd_least / sizeof *winograd_least)) {
        b.winograd_channels = winograd_least[index];
        there = true;
    }
    opencl_blocking_text(&b, fields);
    return there;
}

cornu_status opencl_tuning_keep(gpu *g, const char *fields, device_tuning *kept)
{
    opencl *d = opencl_of(g);
    opencl_blocking b;
    char *path = NULL;
    TRY(parse(d, NULL, fields, &b));
    TRY(opencl_tuning_file_write(d, fields, &path));
    opencl_blocking_text(&b, kept->text);
    snprintf(kept->source, sizeof kept->source, "%s", path);
    free(path);
    return CORNU_OK;
}

/* ---- what is simpler ---------------------------------------------------------------------- */

bool opencl_blocking_simpler(const opencl *d, opencl_blocking *b)
{
    const opencl_blocking *next = NULL;
    for (int i = 0; i < ROWS; i++) {
        const opencl_blocking *row = &rows[i].blocking;
        if (rows[i].cpu == d->is_cpu && fits(d, row) && local_floats(row) < local_floats(b) &&
            (!next || local_floats(row) > local_floats(next)))
            next = row;
    }
    if (next)
        *b = *next;
    return next != NULL;
}

/* ---- the user's file --------------------------------------------------------------------- */

/* The user's tuning file: what cornu tune found to be the fastest, a line a device. It decides in
   which order sums are added, and so the bits of results: what cannot be read is an error, and is
   never as good as none. */

enum { FILE_MOST = 1 << 20, COLUMNS = 5 };
static const char magic[] = "cornu tuning 1\n";
static const char about[] = "# Written by cornu tune. How a device's kernels divide their work: "
                            "kind | platform | device | driver | fields\n";
static const char between[] = " | ";

/* A name in a column: nothing that would end it. */
static void add_column(const opencl *d, text *t, bool platform, cl_uint what)
{
    char value[256] = "";
    cl_int error = platform
                       ? d->lib->clGetPlatformInfo(d->platform, what, sizeof value, value, NULL)
                       : d->lib->clGetDeviceInfo(d->id, what, sizeof value, value, NULL);
    for (char *c = value; *c; c++)
        if ((unsigned char)*c < ' ' || *c == '|' || *c == 127)
            *c = ' ';
    text_add(t, "%s%s", error == CL_SUCCESS && *value ? value : "?", between);
}

/* The beginning of this device's line. */
static cornu_status key_of(const opencl *d, char **out)
{
    text t = {0};
    text_add(&t, "opencl%s", between);
    add_column(d, &t, true, CL_PLATFORM_NAME);
    add_column(d, &t, false, CL_DEVICE_NAME);
    add_column(d, &t, false, CL_DRIVER_VERSION);
    return text_take(&t, out);
}

/* NULL where the user has no home. */
static cornu_status path_of(char **out)
{
    char *folder = NULL;
    *out = NULL;
    TRY(config_folder(&folder));
    cornu_status status = folder ? path_join(folder, "tuning", out) : CORNU_OK;
    free(folder);
    return status;
}

static int columns_of(const char *line)
{
    int count = 1;
    for (; (line = strstr(line, between)); line += sizeof between - 1)
        count++;
    return count;
}

/* Divide the text into lines, in place, and call each that says something: its number from 1. */
typedef cornu_status line_reader(void *user, const char *line);

static cornu_status read_lines(const char *path, char *data, line_reader *read, void *user)
{
    char *rest = data + sizeof magic - 1;
    int number = 1;
    for (char *line; (line = strsep(&rest, "\n"));) {
        number++;
        if (*line == 0 || *line == '#')
            continue;
        if (columns_of(line) != COLUMNS)
            return status_fail(CORNU_BAD_FILE,
                               "%s:%d: found \"%.60s\"; expected %d columns, as cornu tune writes "
                               "them (without the file, built-in values are used)",
                               path, number, line, COLUMNS);
        TRY(read(user, line));
    }
    return CORNU_OK;
}

/* Read the file's text; NULL if there is no file. */
static cornu_status read_file(const char *path, char **data)
{
    size_t size;
    *data = NULL;
    if (!path || !file_exists(path))
        return CORNU_OK;
    TRY(file_read(path, FILE_MOST, data, &size));
    if (strncmp(*data, magic, sizeof magic - 1) == 0 && strlen(*data) == size)
        return CORNU_OK;
    free(*data);
    *data = NULL;
    return status_fail(
        CORNU_BAD_FILE,
        "%s: found another kind of file, or a damaged one; expected \"%.*s\" at its "
        "begin, as cornu tune writes it (without the file, built-in values are used)",
        path, (int)sizeof magic - 2, magic);
}

/* ---- the user's file: reading ------------------------------------------------------------ */

typedef struct wanted {
    const char *key;
    char *fields; /* fields of the first line that begins with it */
} wanted;

static cornu_status find(void *user, const char *line)
{
    wanted *w = user;
    size_t length = strlen(w->key);
    if (w->fields || strncmp(line, w->key, length) != 0)
        return CORNU_OK;
    return memory_copy_string(line + length, &w->fields);
}

cornu_status opencl_tuning_file_read(const opencl *d, char **path, char **fields)
{
    char *key = NULL, *data = NULL;
    wanted w = {0};
    cornu_status status = CORNU_OK;
    *path = *fields = NULL;
    TRY_GOTO(path_of(path));
    TRY_GOTO(read_file(*path, &data));
    if (!data)
        goto done;
    TRY_GOTO(key_of(d, &key));
    w.key = key;
    TRY_GOTO(read_lines(*path, data, find, &w));
    *fields = w.fields;
    w.fields = NULL;
done:
    free(w.fields);
    free(key);
    free(data);
    return status;
}

/* ---- the user's file: writing ------------------------------------------------------------ */

typedef struct rewriting {
    const char *key;
    text lines;
} rewriting;

static cornu_status keep(void *user, const char *line)
{
    rewriting *r = user;
    if (strncmp(line, r->key, strlen(r->key)) != 0)
        text_add(&r->lines, "%s\n", line);
    return CORNU_OK;
}

static cornu_status write_text(const char *path, const char *content)
{
    file_write w;
    TRY(file_write_open_regular(path, &w));
    cornu_status status = file_write_bytes(&w, content, strlen(content));
    if (status == CORNU_OK)
        return file_write_commit(&w);
    file_write_abandon(&w);
    return status;
}

/* Make the path; NULL if there is no folder for it. */
static cornu_status make_path(char **path)
{
    char *folder = NULL;
    TRY(path_of(path));
    if (!*path)
        return status_fail(CORNU_NOT_FOUND, "tuning file: found no home folder ($HOME); expected "
                                            "one, or XDG_CONFIG_HOME");
    TRY(config_folder(&folder));
    cornu_status status = folder_make(folder);
    free(folder);
    return status;
}

cornu_status opencl_tuning_file_write(const opencl *d, const char *fields, char **path)
{
    char *key = NULL, *data = NULL, *content = NULL;
    rewriting r = {0};
    cornu_status status;
    *path = NULL;
    TRY_GOTO(key_of(d, &key));
    TRY_GOTO(make_path(path));
    TRY_GOTO(read_file(*path, &data));
    r.key = key;
    text_add(&r.lines, "%s%s", magic, about);
    if (data)
        TRY_GOTO(read_lines(*path, data, keep, &r));
    text_add(&r.lines, "%s%s\n", key, fields);
    TRY_GOTO(text_take(&r.lines, &content));
    status = write_text(*path, content);
done:
    if (status != CORNU_OK) {
        free(*path);
        *path = NULL;
    }
    text_free(&r.lines);
    free(content);
    free(key);
    free(data);
    return status;
}
