#include "format/page/chart_draw.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Contrasts of at least 4.5 with the paper for text, of 3 for what is drawn (WCAG AA). */
#define LIGHT                                                                                   \
    ":root{--ink:#1b1f24;--soft:#57606a;--paper:#fff;--rule:#d0d7de;--c0:#0b62a4;--c1:#b3470b;" \
    "--c2:#2e7d32;--c3:#7b3fa0;--c4:#806600;--c5:#6e7781}"
#define DARK                                                                                       \
    ":root{--ink:#e6edf3;--soft:#9ea7b3;--paper:#0d1117;--rule:#30363d;--c0:#6cb6ff;--c1:#ff9e64;" \
    "--c2:#7ee787;--c3:#d2a8ff;--c4:#e3b341;--c5:#8b949e}"
#define SERIES(n) ".chart .s" #n "{fill:var(--c" #n ");stroke:var(--c" #n ")}"

const char chart_style[] =
    LIGHT "@media screen and (prefers-color-scheme:dark){" DARK "}"
          ".chart{font:12px system-ui,\"Segoe UI\",Helvetica,Arial,sans-serif}"
          ".chart text{fill:var(--ink)}.chart .soft{fill:var(--soft)}"
          ".chart .head{font-weight:600}.chart .name{font-size:14px;font-weight:600}"
          ".chart .grid{stroke:var(--rule)}.chart .base{stroke:var(--soft)}"
          ".chart .range{stroke:var(--ink);fill:none}"
          ".chart .line{fill:none;stroke-width:2}"
          ".chart .paper{fill:var(--paper)}" SERIES(0) SERIES(1) SERIES(2) SERIES(3) SERIES(4)
              SERIES(5) ".chart .line.s1{stroke-dasharray:7 3}.chart .line.s2{stroke-dasharray:2 2}"
                        ".chart .line.s3{stroke-dasharray:9 2 2 2}"
                        ".chart .line.s4{stroke-dasharray:4 4}"
                        ".chart .line.s5{stroke-dasharray:1 3}";

/* ---- text ------------------------------------------------------------------------------- */

/* As wide as in the widest of the usual fonts: capitals and m are wider than other letters, scripts
   of East Asia and pictures about twice as wide. */
static double width_of(const unsigned char *c)
{
    if ((*c & 0xC0) == 0x80)
        return 0;
    if (*c >= 0xE2 || *c == 'm' || *c == 'M' || *c == 'W' || *c == '%')
        return CHART_TEXT;
    return (*c >= 'A' && *c <= 'Z' ? 0.72 : 0.62) * CHART_TEXT;
}

double chart_text_width(const char *line)
{
    double width = 0;
    for (const unsigned char *c = (const unsigned char *)line; *c; c++)
        width += width_of(c);
    return width;
}

/* Bytes of `line` that fit `room`, whole characters. */
static size_t fitting(const char *line, double room)
{
    size_t bytes = 0;
    double width = 0;
    for (; line[bytes]; bytes++) {
        width += width_of((const unsigned char *)line + bytes);
        if (width > room)
            break;
    }
    return bytes;
}

void chart_text(text *t, double x, double y, chart_anchor anchor, const char *style,
                const char *line, double room)
{
    static const char *const anchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
    text plain = {0};
    text_add_printable(&plain, line);
    t->failed |= plain.failed;
    bool fits = plain.failed || chart_text_width(plain.data) <= room;
    text_add(t, "<text x=\"");
    markup_coordinate(t, x);
    text_add(t, "\" y=\"");
    markup_coordinate(t, y);
    text_add(t, "\"%s%s%s%s>", anchors[anchor], *style ? " class=\"" : "", style,
             *style ? "\"" : "");
    if (!fits) {
        markup_element(t, "title", "", line);
        plain.data[fitting(plain.data, room - CHART_TEXT)] = 0;
    }
    markup_text(t, plain.failed ? "" : plain.data);
    text_add(t, "%s</text>\n", fits ? "" : "\u2026");
    text_free(&plain);
}

void chart_segment(text *t, const char *style, double x1, double y1, double x2, double y2)
{
    text_add(t, "<path class=\"%s\" d=\"M", style);
    markup_coordinate(t, x1);
    text_add(t, " ");
    markup_coordinate(t, y1);
    text_add(t, "L");
    markup_coordinate(t, x2);
    text_add(t, " ");
    markup_coordinate(t, y2);
    text_add(t, "\"/>\n");
}

/* ---- axis ------------------------------------------------------------------------------- */

void chart_axis_see(chart_axis *a, double value)
{
    if (!isfinite(value) || (a->logarithmic && value <= 0))
        return;
    if (a->low > a->high)
        a->low = a->high = value;
    a->low = fmin(a->low, value);
    a->high = fmax(a->high, value);
}

/* 1, 2 or 5 times a power of ten, so that at most `most` of it fit. */
static double round_step(double range, int most)
{
    double power = pow(10, floor(log10(range / most)));
    static const double steps[] = {1, 2, 5};
    for (int i = 0; i < 3; i++)
        if (range / (steps[i] * power) <= most)
            return steps[i] * power;
    return 10 * power;
}

static void add_tick(chart_axis *a, double value)
{
    if (a->ticks < (int)(sizeof a->tick / sizeof *a->tick))
        a->tick[a->ticks++] = value;
}

static void fit_logarithmic(chart_axis *a, int most)
{
    double first = floor(log10(a->low) + 1e-9), last = ceil(log10(a->high) - 1e-9);
    last = last > first ? last : first + 1;
    double step = ceil((last - first) / most);
    a->low = pow(10, first);
    a->high = pow(10, last);
    for (double p = first; p <= last; p += step)
        add_tick(a, pow(10, p));
}

void chart_axis_fit(chart_axis *a, int most, bool to_zero, double at_least)
{
    if (a->low > a->high) {
        a->low = a->logarithmic ? 1 : 0;
        a->high = a->logarithmic ? 10 : 1;
    }
    a->high = fmax(a->high, at_least);
    if (a->logarithmic) {
        fit_logarithmic(a, most);
        return;
    }
    if (to_zero)
        a->low = fmin(a->low, 0);
    if (a->high - a->low < 1e-9 * fmax(fabs(a->high), 1e-300))
        a->high = a->low + (fabs(a->low) > 0 ? fabs(a->low) : 1);
    double step = round_step(a->high - a->low, most);
    if (a->whole)
        step = fmax(step, 1);
    double first = to_zero ? ceil(a->low / step - 1e-9) : floor(a->low / step + 1e-9);
    if (!to_zero) {
        a->low = first * step;
        a->high = step * ceil(a->high / step - 1e-9);
    }
    for (double k = first; k * step <= a->high + 1e-9 * step && a->ticks <= most + 1; k++)
        add_tick(a, k * step + 0.0); /* -0 becomes 0 */
}

const char *chart_tick(double value, char *out)
{
    markup_number(value, 3, out);
    if (!strchr(out, '.') || strchr(out, 'e'))
        return out;
    size_t length = strlen(out);
    while (out[length - 1] == '0')
        length--;
    out[out[length - 1] == '.' ? length - 1 : length] = 0;
    return out;
}

double chart_axis_place(const chart_axis *a, double value)
{
    double x = a->logarithmic ? log(value / a->low) / log(a->high / a->low)
                              : (value - a->low) / (a->high - a->low);
    return a->from + x * (a->to - a->from);
}

/* ---- the frame -------------------------------------------------------------------------- */

/* The title in lines that fit; returns where they end. */
static double draw_title(text *t, const char *title, double y)
{
    double room = (CHART_WIDTH - 2 * CHART_MARGIN) * 12.0 / 14.5;
    while (*title) {
        size_t bytes = fitting(title, room), end = bytes;
        while (title[bytes] && end > 0 && title[end] != ' ')
            end--;
        end = end ? end : bytes ? bytes : strlen(title);
        char line[512];
        size_t length = end < sizeof line ? end : sizeof line - 1;
        memcpy(line, title, length);
        line[length] = 0;
        y += 18;
        chart_text(t, CHART_MARGIN, y, CHART_START, "name", line, 2 * CHART_WIDTH);
        title += end;
        title += strspn(title, " ");
    }
    return y;
}

static void draw(text *t, const chart *c, bool alone)
{
    text body = {0};
    double top = draw_title(&body, c->title, 2);
    double height =
        c->line_count ? chart_draw_lines(&body, c, top + 8) : chart_draw_bars(&body, c, top + 8);
    t->failed |= body.failed;
    text_add(t, "<svg class=\"chart\" viewBox=\"0 0 %d %.0f\"", CHART_WIDTH, ceil(height));
    if (alone)
        text_add(t, " xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\"",
                 2 * CHART_WIDTH, 2 * ceil(height));
    text_add(t, " role=\"img\" aria-label=\"");
    markup_text(t, c->title);
    if (c->description)
        text_add(t, "\" aria-describedby=\"%s", c->id);
    text_add(t, "\">\n<title>");
    markup_text(t, c->title);
    text_add(t, "</title>\n");
    if (c->description) {
        text_add(t, "<desc id=\"%s\">", c->id);
        markup_text(t, c->description);
        text_add(t, "</desc>\n");
    }
    if (alone)
        text_add(t, "<style>%s</style>\n<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n",
                 chart_style);
    text_add(t, "%s</svg>\n", body.data ? body.data : "");
    text_free(&body);
}

void chart_svg(text *t, const chart *c)
{
    draw(t, c, false);
}

void chart_svg_alone(text *t, const chart *c)
{
    draw(t, c, true);
}
