#include "format/page/page.h"
#include "base/files.h"
#include "base/number.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char style[] =
    "*{box-sizing:border-box}"
    "html{color-scheme:light dark;-webkit-text-size-adjust:100%}"
    "body{margin:0 auto;padding:1rem;max-width:88rem;background:var(--paper);color:var(--ink);"
    "font:16px/1.5 system-ui,\"Segoe UI\",Helvetica,Arial,sans-serif}"
    "h1{font-size:1.6rem;line-height:1.2;margin:.5rem 0}"
    "h2{font-size:1.25rem;margin:2rem 0 .5rem;border-bottom:1px solid var(--rule)}"
    "h3{font-size:1.05rem;margin:1.2rem 0 .3rem}"
    "h1,h2,h3,p,li{overflow-wrap:anywhere}p,ul{margin:.4rem 0;max-width:48rem}"
    ".soft,caption{color:var(--soft)}"
    ".charts{display:grid;gap:1.5rem 2rem;align-items:start;"
    "grid-template-columns:repeat(auto-fill,minmax(min(100%,25rem),1fr))}"
    "figure{margin:0;max-width:32rem;break-inside:avoid}.chart{display:block;width:100%;height:"
    "auto}"
    ".wide{overflow-x:auto;margin:.6rem 0}"
    ".wide:focus-visible{outline:2px solid var(--c0)}"
    "table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}"
    "caption{text-align:left;padding:.2rem 0}"
    "th,td{padding:.2rem .7rem .2rem 0;text-align:left;vertical-align:top;"
    "border-top:1px solid var(--rule);max-width:32rem}"
    "thead th{border-top:0;vertical-align:bottom}tbody th{font-weight:500}"
    ".n{text-align:right;white-space:nowrap}"
    "@media print{body{max-width:none;padding:0;font-size:11pt}.wide{overflow:visible}"
    "h2,h3,caption{break-after:avoid}tr{break-inside:avoid}"
    "figure{max-width:9cm}.charts{grid-template-columns:1fr 1fr}}";

void page_begin(text *t, const char *title, const char *line)
{
    text_add(t, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                "<meta name=\"color-scheme\" content=\"light dark\">\n");
    text_add(t, "<meta name=\"generator\" content=\"cornu %s\">\n", cornu_version());
    markup_element(t, "title", "", title);
    text_add(t, "\n<style>%s%s</style>\n</head>\n<body>\n<main>\n", chart_style, style);
    markup_element(t, "h1", "", title);
    text_add(t, "\n");
    if (line) {
        markup_element(t, "p", "class=\"soft\"", line);
        text_add(t, "\n");
    }
}

void page_end(text *t)
{
    text_add(t, "</main>\n</body>\n</html>\n");
}

void page_heading(text *t, int level, const char *line)
{
    markup_element(t, level <= 2 ? "h2" : "h3", "", line);
    text_add(t, "\n");
}

void page_paragraph(text *t, const char *line)
{
    markup_element(t, "p", "", line);
    text_add(t, "\n");
}

void page_list_begin(text *t)
{
    text_add(t, "<ul>\n");
}

void page_list_item(text *t, const char *line)
{
    markup_element(t, "li", "", line);
    text_add(t, "\n");
}

void page_list_end(text *t)
{
    text_add(t, "</ul>\n");
}

/* ---- tables ----------------------------------------------------------------------------- */

/* What scrolls can be reached by keyboard, too, and has a name. */
void page_table_begin(text *t, const char *caption, const page_column *columns, int count)
{
    text_add(t, "<div class=\"wide\" role=\"group\" tabindex=\"0\" aria-label=\"");
    markup_text(t, caption);
    text_add(t, "\">\n<table>\n");
    markup_element(t, "caption", "", caption);
    text_add(t, "\n<thead><tr>");
    for (int i = 0; i < count; i++)
        markup_element(t, "th",
                       columns[i].is_number ? "scope=\"col\" class=\"n\"" : "scope=\"col\"",
                       columns[i].name);
    text_add(t, "</tr></thead>\n<tbody>\n");
}

void page_row_begin(text *t, const char *head)
{
    text_add(t, "<tr>");
    markup_element(t, "th", "scope=\"row\"", head);
}

void page_cell(text *t, const char *line)
{
    markup_element(t, "td", "", line);
}

/* The whole number for programs, a short one for people. */
void page_number_cell(text *t, double value, int significant)
{
    char exact[NUMBER_SIZE], shown[MARKUP_NUMBER];
    if (!isfinite(value)) {
        text_add(t, "<td class=\"n\">-</td>");
        return;
    }
    text_add(t, "<td class=\"n\"><data value=\"%s\">%s</data></td>",
             number_print(exact, "%.9g", value), markup_number(value, significant, shown));
}

void page_row_end(text *t)
{
    text_add(t, "</tr>\n");
}

void page_table_end(text *t)
{
    text_add(t, "</tbody>\n</table>\n</div>\n");
}

/* ---- figures ---------------------------------------------------------------------------- */

void page_figures_begin(text *t)
{
    text_add(t, "<div class=\"charts\">\n");
}

void page_figure(text *t, const chart *c)
{
    text_add(t, "<figure>\n");
    chart_svg(t, c);
    text_add(t, "</figure>\n");
}

void page_figures_end(text *t)
{
    text_add(t, "</div>\n");
}

cornu_status page_write(text *t, const char *path)
{
    file_write w;
    char *data;
    TRY(text_take(t, &data));
    cornu_status status = file_write_open(path, &w);
    if (status == CORNU_OK) {
        status = file_write_bytes(&w, data, strlen(data));
        if (status == CORNU_OK)
            status = file_write_commit(&w);
        else
            file_write_abandon(&w);
    }
    free(data);
    return status;
}
