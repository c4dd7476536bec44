#include "format/page/chart_draw.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Contrasts of at least 4.5 to the background for text, and of 3 for shapes (WCAG AA). */
#define LIGHT                                                                                   \
    ":root{--ink:#1b1f24;--soft:#57606a;--paper:#fff;--rule:#d0d7de;--c0:#0b62a4;--c1:#b3470b;" \
    "--c2:#2e7d32;--c3:#7b3fa0;--c4:#806600;--c5:#6e7781}"
#define DARK                                                                                       \
    ":root{--ink:#e6edf3;--soft:#9ea7b3;--paper:#0d1117;--rule:#30363d;--c0:#6cb6ff;--c1:#ff9e64;" \
    "--c2:#7ee787;--c3:#d2a8ff;--c4:#e3b341;--c5:#8b949e}"
/* A series sets its colour and nothing else; fill and stroke are set by the shape. */
#define SERIES(n) ".s" #n "{--c:var(--c" #n ")}"

const char chart_style[] = LIGHT "@media screen and (prefers-color-scheme:dark){" DARK "}" SERIES(0)
    SERIES(1) SERIES(2) SERIES(3) SERIES(4) SERIES(5)
    /* SVG: bars in a file of its own, and the rules that lines share with them */
    ".chart{font:12px system-ui,\"Segoe UI\",Helvetica,Arial,sans-serif}"
    ".chart text{fill:var(--ink)}.chart .soft{fill:var(--soft)}"
    ".chart .head{font-weight:600}.chart .name{font-size:14px;font-weight:600}"
    ".grid{stroke:var(--rule);fill:none}.base{stroke:var(--soft);fill:none}"
    ".range{stroke:var(--ink);fill:none}"
    ".line{fill:none;stroke:var(--c);stroke-width:2;stroke-linejoin:round}"
    ".mark{fill:var(--c);stroke:none}.paper{fill:var(--paper)}"
    ".line.s1{stroke-dasharray:7 3}.line.s2{stroke-dasharray:2 2}"
    ".line.s3{stroke-dasharray:9 2 2 2}.line.s4{stroke-dasharray:4 4}"
    ".line.s5{stroke-dasharray:1 3}"
    /* HTML: the figure around both */
    "figure{margin:1.2rem 0 1rem;min-width:0;break-inside:avoid}"
    "figcaption{font-weight:600}"
    "figcaption small{display:block;font-size:.85rem;font-weight:400;color:var(--soft)}"
    ".keys{display:flex;flex-wrap:wrap;gap:.1rem 1.2rem;margin:.2rem 0;padding:0;font-size:.85rem;"
    "list-style:none}.keys svg{width:26px;height:10px;margin-right:.4rem;overflow:visible}"
    ".keys li{display:flex;align-items:center;margin:0}"
    ".axis{font-size:.8rem;color:var(--soft);text-align:right;margin:0;max-width:none}"
    /* rows: a name, then a track whose right margin holds the number */
    ".bars{display:grid;grid-template-columns:fit-content(45%) minmax(0,1fr);column-gap:.7rem;"
    "margin:.4rem 0 0;font-size:.9rem;line-height:1.35}"
    ".bars h4{grid-column:1/-1;margin:.8rem 0 .1rem;font-size:.9rem}"
    ".bars .of{align-self:center;overflow-wrap:anywhere;padding:.1rem 0}"
    ".track{position:relative;min-height:1.7em;margin-right:min(var(--r),50%)}"
    ".track>*,.ticks>*{position:absolute;print-color-adjust:exact;"
    "-webkit-print-color-adjust:exact}"
    ".track .g{top:0;bottom:0;border-left:1px solid var(--rule)}.track .z{border-color:var(--soft)}"
    ".track .b{top:50%;height:.9em;margin-top:-.45em;left:0;background:var(--c);border-radius:0 "
    "2px 2px 0}"
    ".track .t{top:50%;left:0;border-top:1px dotted var(--soft)}"
    ".track .d{top:50%;width:.75em;height:.75em;margin:-.375em;background:var(--c);"
    "border-radius:50%}"
    ".track .w,.keys .w{height:.6em;border:solid var(--ink);border-width:0 1.5px;background:"
    "linear-gradient(var(--ink),var(--ink)) center/100% 1.5px no-repeat}"
    ".track .w{top:calc(50% - .3em)}"
    ".track "
    ".v{top:50%;transform:translateY(-50%);padding-left:.5em;white-space:nowrap;font-weight:400}"
    ".track .none{color:var(--soft);white-space:normal;line-height:1.1}"
    ".keys i{display:inline-block;width:1.6em;height:.7em;margin-right:.4rem;print-color-adjust:"
    "exact;-webkit-print-color-adjust:exact}.keys .b{background:var(--c)}"
    ".keys .d{width:.75em;height:.75em;border-radius:50%;background:var(--c)}"
    ".ticks{position:relative;height:1.5em;margin-right:min(var(--r),50%);font-size:.8rem;"
    "color:var(--soft)}.ticks>*{transform:translateX(-50%);font-weight:400}"
    "@media(max-width:40rem){.bars{grid-template-columns:minmax(0,1fr)}"
    ".bars .of{padding:.3rem 0 0}.bars .of:empty{display:none}}"
    /* lines: space for the axes' numbers around an area that stretches */
    ".plot{padding:.7em 1.2em 1.6em var(--l)}"
    ".area{position:relative;height:13rem}.area svg{position:absolute;inset:0;width:100%;"
    "height:100%;overflow:visible}"
    ".plot text{font-size:.8rem;fill:var(--soft)}"
    ".plot .mark{transform-box:view-box}";

/* ---- text ------------------------------------------------------------------------------- */

/* As wide as in the widest of the usual fonts: capitals and m are wider than other letters, East
   Asian scripts and emoji about twice as wide. */
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

/* Bytes of `line` that fit into `room`, whole characters only. */
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

/* The smallest 1, 2 or 5 times a power of ten of which at most `most` fit into the range. */
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

/* The nearest 1, 2 or 5 times a power of ten: `up` above it, else below. */
static double round_end(double value, bool up)
{
    static const double steps[] = {1, 2, 5, 10};
    double power = pow(10, floor(log10(value) + 1e-9)), share = value / power;
    int i = up ? 0 : 3;
    while (up ? i < 3 && steps[i] < share - 1e-9 : i > 0 && steps[i] > share + 1e-9)
        i += up ? 1 : -1;
    return steps[i] * power;
}

/* Powers of ten, and where these are few also steps between them. */
static void fit_logarithmic(chart_axis *a, int most)
{
    static const double steps[] = {1, 2, 5};
    a->low = round_end(a->low, false);
    a->high = round_end(a->high, true);
    if (a->high < 1.5 * a->low)
        a->high = round_end(1.5 * a->low, true);
    double first = floor(log10(a->low) + 1e-9), last = floor(log10(a->high) + 1e-9);
    double stride = fmax(ceil((last - first + 1) / most), 1);
    int fine = 3 * (last - first) <= most ? 3 : 1;
    for (double p = first; p <= last; p += stride)
        for (int i = 0; i < fine; i++) {
            double tick = steps[i] * pow(10, p);
            if (tick >= a->low * (1 - 1e-9) && tick <= a->high * (1 + 1e-9))
                add_tick(a, tick);
        }
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
    if (a->high - a->low <
        1e-9 * fmax(fabs(a->high), 1e-300)) { /* a single value: 0 becomes the other end */
        a->low = fmin(a->low, 0);
        a->high = a->high > 0 ? 1.25 * a->high : a->low < 0 ? 0 : 1;
    }
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

/* The title, broken into lines; returns the y below them. */
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

void chart_svg_alone(text *t, const chart *c)
{
    text body = {0};
    double top = draw_title(&body, c->title, 2), height = chart_draw_bars(&body, c, top + 8);
    t->failed |= body.failed;
    text_add(t,
             "<svg class=\"chart\" viewBox=\"0 0 %d %.0f\" xmlns=\"http://www.w3.org/2000/svg\" "
             "width=\"%d\" height=\"%.0f\" role=\"img\" aria-label=\"",
             CHART_WIDTH, ceil(height), 2 * CHART_WIDTH, 2 * ceil(height));
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
    text_add(t, "<style>%s</style>\n<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n",
             chart_style);
    text_add(t, "%s</svg>\n", body.data ? body.data : "");
    text_free(&body);
}

/* ---- the figure ------------------------------------------------------------------------- */

void chart_place(text *t, const char *property, double percent)
{
    text_add(t, "%s:", property);
    markup_coordinate(t, fmin(fmax(percent, 0), 100));
    text_add(t, "%%;");
}

void chart_key(text *t, const char *sample, const char *name)
{
    text_add(t, "<li>%s", sample);
    markup_text(t, name);
    text_add(t, "</li>\n");
}

const char *chart_mark(int series)
{
    static const char *const shapes[] = {"M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0",
                                         "M-3 -3h6v6h-6z", "M0 -4.5l4.5 4.5l-4.5 4.5l-4.5 -4.5z",
                                         "M0 -4l4 7h-8z"};
    return shapes[series % CHART_SERIES % (int)(sizeof shapes / sizeof *shapes)];
}

bool chart_tick_has_room(const chart_axis *a, int tick, double unit, double *free_from)
{
    char number[MARKUP_NUMBER];
    double at = chart_axis_place(a, a->tick[tick]) * unit;
    double half = chart_text_width(chart_tick(a->tick[tick], number)) / 2;
    if (at - half < *free_from)
        return false;
    *free_from = at + half + CHART_TEXT / 2.0;
    return true;
}

void chart_html(text *t, const chart *c)
{
    text_add(t, "<figure>\n<figcaption>");
    markup_text(t, c->title);
    if (c->description)
        markup_element(t, "small", "", c->description);
    text_add(t, "</figcaption>\n");
    if (c->line_count)
        chart_plot(t, c);
    else
        chart_rows(t, c);
    if (c->x_title)
        markup_element(t, "p", "class=\"axis\"", c->x_title);
    text_add(t, "</figure>\n");
}
