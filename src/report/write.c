/* The report as a file. */
#include "base/files.h"
#include "base/memory.h"
#include "report/report.h"
#include <stdlib.h>
#include <string.h>

static cornu_status write_json(const cornu_report *r, const char *path)
{
    file_write file = {0};
    char *json;
    cornu_status status;
    TRY(cornu_report_json(r, &json));
    TRY_GOTO(file_write_open(path, &file));
    TRY_GOTO(file_write_bytes(&file, json, strlen(json)));
    TRY_GOTO(file_write_bytes(&file, "\n", 1));
    TRY_GOTO(file_write_commit(&file));
done:
    if (status != CORNU_OK)
        file_write_abandon(&file);
    cornu_free(json);
    return status;
}

static cornu_status write_picture(const cornu_report *r, const char *path)
{
    canvas c;
    TRY(report_draw(r, &c));
    cornu_status status = canvas_write_png(&c, path);
    canvas_close(&c);
    return status;
}

cornu_status cornu_report_write(const cornu_report *r, const char *path)
{
    if (!r || !path)
        return status_fail(CORNU_INVALID,
                           "cornu_report_write: found NULL; expected a report and a path");
    if (path_has_ending(path, ".json"))
        return write_json(r, path);
    if (path_has_ending(path, ".png"))
        return write_picture(r, path);
    return status_fail(CORNU_INVALID,
                       "%s: found another name; expected one that ends in .json or "
                       ".png",
                       path);
}
