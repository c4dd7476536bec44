/* The user's tuning file: what cornu tune found to be the fastest, a line a device. It decides in
   which order sums are added, and so the bits of results: what cannot be read is an error, and is
   never as good as none. */
#include "base/files.h"
#include "device/opencl/plugin/core.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- reading ------------------------------------------------------------------------------ */

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

/* ---- writing ------------------------------------------------------------------------------ */

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
