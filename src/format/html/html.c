#include "format/html/html.h"
#include "base/files.h"
#include "base/number.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Nothing scrolls sideways: charts stretch, words break, and on a telephone a row of a table
   becomes a card whose cells say their column (--hN, which html_table_begin sets). */
enum { COLUMNS_NAMED = 12 };
/* Hidden from view, present for screen readers. */
#define ASIDE "{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}"
#define NAMED(n, child) "td:nth-child(" #child "){--h:var(--h" #n ")}"

static const char style[] =
    "*{box-sizing:border-box}"
    "html{color-scheme:light dark;-webkit-text-size-adjust:100%}"
    "body{margin:0;background:var(--paper);color:var(--ink);"
    "font:16px/1.5 system-ui,\"Segoe UI\",Helvetica,Arial,sans-serif}"
    "main{margin:0 auto;padding:1.5rem clamp(1rem,4vw,3rem) 4rem;max-width:112rem}"
    "h1{font-size:1.7rem;line-height:1.2;margin:.3rem 0 .8rem}"
    "h2{font-size:1.25rem;line-height:1.3;margin:2.8rem 0 .6rem;padding-top:.6rem;"
    "border-top:1px solid var(--rule)}"
    "h3{font-size:1.05rem;margin:1.4rem 0 .3rem}"
    "h1,h2,h3,p,li,summary,figcaption{overflow-wrap:anywhere}"
    "p,ul{margin:.4rem 0;max-width:50rem}ul{padding-left:1.2rem}li{margin:.3rem 0}"
    ".answer{font-size:1.3rem;line-height:1.4;max-width:52rem;margin:0 0 .6rem}"
    ".soft,caption{color:var(--soft)}"
    ".charts{display:grid;gap:.4rem 2.5rem;align-items:start;"
    "grid-template-columns:repeat(auto-fit,minmax(min(100%,28rem),1fr))}"
    ".table{margin:.8rem 0}"
    "table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}"
    "caption{text-align:left;padding:.2rem 0;max-width:50rem}"
    "th,td{padding:.3rem 1.4rem .3rem 0;text-align:left;vertical-align:top;"
    "border-top:1px solid var(--rule);max-width:38rem;overflow-wrap:anywhere}"
    "td:not(.n){min-width:5.5rem}"
    "th:last-child,td:last-child{padding-right:0}"
    "thead th{border-top:0;vertical-align:bottom;color:var(--soft);font-weight:500;"
    "overflow-wrap:normal}"
    "tbody th{font-weight:500;min-width:7rem}"
    ".facts thead" ASIDE ".n{text-align:right;white-space:nowrap}thead .n{white-space:normal}"
    "details{margin:.8rem 0}summary{cursor:pointer;color:var(--c0)}"
    "summary:focus-visible{outline:2px solid var(--c0)}"
    "@media(max-width:50rem){table{font-size:.82rem}th,td{padding-right:.6rem}}"
    "@media(max-width:40rem){h1{font-size:1.4rem}.answer{font-size:1.15rem}"
    ".charts{grid-template-columns:minmax(0,1fr)}"
    "table,tbody,tr,th,td,caption{display:block;max-width:none}"
    "thead" ASIDE "tbody th{font-weight:600}"
    "tbody tr{border-top:1px solid var(--rule);padding:.4rem 0}"
    "tbody th,td{border:0;padding:.05rem 0;min-width:0!important}"
    "td{display:flex;justify-content:space-between;gap:1rem;text-align:right}"
    ".facts td{display:block;text-align:left}.facts td::before{content:none}"
    "td::before{color:var(--soft);text-align:left;content:var(--h)}"
    "td:empty{display:none}" NAMED(1, 2) NAMED(2, 3) NAMED(3, 4) NAMED(4, 5) NAMED(5, 6) NAMED(6, 7)
        NAMED(7, 8) NAMED(8, 9) NAMED(9, 10) NAMED(10, 11)
            NAMED(11, 12) "}"
                          "@media print{@page{size:A4;margin:15mm}body{font-size:10pt}"
                          "main{max-width:none;padding:0}h1{font-size:18pt}h2{font-size:13pt;"
                          "margin-top:1.6rem}"
                          ".answer{font-size:12.5pt}th,td{padding-right:.8rem}"
                          "h2,h2+p,h3,h4,caption,thead{break-after:avoid}"
                          "tr,caption,.facts{break-inside:avoid}"
                          ".bars{font-size:.78rem}.bars h4{margin-top:.5rem;font-size:.85rem}"
                          ".charts{grid-template-columns:1fr 1fr;gap:.4rem "
                          "1.5rem}.charts:has(.bars){grid-template-columns:1fr}"
                          "figure{margin-top:.8rem}.charts>:only-child{grid-column:1/-1}"
                          ".area{height:9rem}}";

void html_begin(text *t, const char *title, const char *answer, const char *line)
{
    text_add(t, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                "<meta name=\"color-scheme\" content=\"light dark\">\n");
    text_add(t, "<meta name=\"generator\" content=\"cornu %s\">\n", cornu_version());
    markup_element(t, "title", "", title);
    text_add(t, "\n<style>%s%s</style>\n</head>\n<body>\n<main>\n", chart_style, style);
    markup_element(t, "h1", "", title);
    text_add(t, "\n");
    if (answer) {
        markup_element(t, "p", "class=\"answer\"", answer);
        text_add(t, "\n");
    }
    if (line) {
        markup_element(t, "p", "class=\"soft\"", line);
        text_add(t, "\n");
    }
}

void html_end(text *t)
{
    text_add(t, "</main>\n</body>\n</html>\n");
}

void html_heading(text *t, int level, const char *line)
{
    markup_element(t, level <= 2 ? "h2" : "h3", "", line);
    text_add(t, "\n");
}

void html_paragraph(text *t, const char *line)
{
    markup_element(t, "p", "", line);
    text_add(t, "\n");
}

void html_list_begin(text *t)
{
    text_add(t, "<ul>\n");
}

void html_list_item(text *t, const char *line)
{
    markup_element(t, "li", "", line);
    text_add(t, "\n");
}

void html_list_end(text *t)
{
    text_add(t, "</ul>\n");
}

/* ---- tables ----------------------------------------------------------------------------- */

/* A text as a CSS string within an attribute: all characters but letters and digits by their
   numbers. */
static void add_css_string(text *t, const char *line)
{
    text plain = {0};
    text_add_printable(&plain, line);
    t->failed |= plain.failed;
    text_add(t, "'");
    for (const unsigned char *c = (const unsigned char *)(plain.data ? plain.data : ""); *c; c++)
        if ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c >= 0x80 || *c == ' ')
            text_add(t, "%c", *c);
        else
            text_add(t, "\\%x ", *c);
    text_add(t, "'");
    text_free(&plain);
}

void html_table_begin(text *t, const char *caption, const html_column *columns, int count)
{
    text_add(t, "<div class=\"table\">\n<table%s", count == 2 ? " class=\"facts\"" : "");
    for (int i = 1; i < count && i < COLUMNS_NAMED; i++) {
        text_add(t, "%s--h%d:", i == 1 ? " style=\"" : ";", i);
        add_css_string(t, columns[i].name);
    }
    text_add(t, "%s>\n", count > 1 ? "\"" : "");
    if (caption)
        markup_element(t, "caption", "", caption);
    text_add(t, "\n<thead><tr>");
    for (int i = 0; i < count; i++)
        markup_element(t, "th",
                       columns[i].is_number ? "scope=\"col\" class=\"n\"" : "scope=\"col\"",
                       columns[i].name);
    text_add(t, "</tr></thead>\n<tbody>\n");
}

void html_row_begin(text *t, const char *head)
{
    text_add(t, "<tr>");
    markup_element(t, "th", "scope=\"row\"", head);
}

void html_cell(text *t, const char *line)
{
    markup_element(t, "td", "", line);
}

/* The exact number for programs, a short one for people. */
void html_number_cell(text *t, double value, int significant)
{
    char exact[NUMBER_SIZE], shown[MARKUP_NUMBER];
    if (!isfinite(value)) {
        text_add(t, "<td class=\"n\">-</td>");
        return;
    }
    text_add(t, "<td class=\"n\" data-value=\"%s\">%s</td>", number_print(exact, "%.9g", value),
             markup_number(value, significant, shown));
}

void html_count_cell(text *t, const char *digits)
{
    markup_element(t, "td", "class=\"n\"", digits);
}

void html_row_end(text *t)
{
    text_add(t, "</tr>\n");
}

void html_table_end(text *t)
{
    text_add(t, "</tbody>\n</table>\n</div>\n");
}

/* ---- facts ------------------------------------------------------------------------------ */

/* A cell of a line in columns: two spaces end it, and a colon also ends the first. Returns the text
   after it. */
static const char *take_cell(const char *line, bool first, size_t *length)
{
    const char *end = line + strcspn(line, "\n"), *two = strstr(line, "  ");
    const char *colon = first ? strstr(line, ": ") : NULL;
    end = two && two < end ? two : end;
    end = colon && colon < end ? colon : end;
    *length = (size_t)(end - line);
    return end + (*end == ':') + strspn(end + (*end == ':'), " ");
}

void html_facts(text *t, const char *caption, const char *lines)
{
    static const html_column columns[] = {{"what", false}, {"value", false}};
    enum { INDENT = 8 }; /* a line indented by more has no first cell */
    html_table_begin(t, caption, columns, 2);
    while (*lines) {
        size_t indent = strspn(lines, " "), length = 0;
        text head = {0}, value = {0};
        lines += indent;
        if (indent <= INDENT) {
            const char *rest = take_cell(lines, true, &length);
            text_add(&head, "%.*s", (int)length, lines);
            lines = rest;
        }
        while (*lines && *lines != '\n') {
            const char *rest = take_cell(lines, false, &length);
            text_add(&value, "%s%.*s", value.data ? " \u00b7 " : "", (int)length, lines);
            lines = rest;
        }
        html_row_begin(t, head.data ? head.data : "");
        html_cell(t, value.data ? value.data : "");
        html_row_end(t);
        t->failed |= head.failed || value.failed;
        text_free(&head);
        text_free(&value);
        lines += *lines == '\n';
    }
    html_table_end(t);
}

void html_details_begin(text *t, const char *summary)
{
    text_add(t, "<details>\n");
    markup_element(t, "summary", "", summary);
    text_add(t, "\n");
}

void html_details_end(text *t)
{
    text_add(t, "</details>\n");
}

/* ---- figures ---------------------------------------------------------------------------- */

void html_figures_begin(text *t)
{
    text_add(t, "<div class=\"charts\">\n");
}

void html_figures_end(text *t)
{
    text_add(t, "</div>\n");
}

cornu_status html_write(text *t, const char *path)
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
