#include "format/html/html.h"
#include <math.h>
#include <stdio.h>
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
    /* lines and their axes: SVG */
    ".grid{stroke:var(--rule);fill:none}.base{stroke:var(--soft);fill:none}"
    ".line{fill:none;stroke:var(--c);stroke-width:2;stroke-linejoin:round}"
    ".mark{fill:var(--c);stroke:none}"
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

/* ---- axis ------------------------------------------------------------------------------- */

enum { TEXT_HEIGHT = 12 }; /* height of a letter, in the units of text_width */

/* As wide as in the widest of the usual fonts: capitals and m are wider than other letters, East
   Asian scripts and emoji about twice as wide. */
static double width_of(const unsigned char *c)
{
    if ((*c & 0xC0) == 0x80)
        return 0;
    if (*c >= 0xE2 || *c == 'm' || *c == 'M' || *c == 'W' || *c == '%')
        return TEXT_HEIGHT;
    return (*c >= 'A' && *c <= 'Z' ? 0.72 : 0.62) * TEXT_HEIGHT;
}

static double text_width(const char *line)
{
    double width = 0;
    for (const unsigned char *c = (const unsigned char *)line; *c; c++)
        width += width_of(c);
    return width;
}

/* Maps values to positions. */
typedef struct axis {
    double low, high; /* values at both ends */
    double from, to;  /* positions of the ends */
    bool logarithmic;
    double tick[16];
    int ticks;
    bool whole; /* values are whole numbers, and so are the ticks */
} axis;

/* Include a value in the range; begin with an axis of zeros and low > high. */
static void axis_see(axis *a, double value)
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

static void add_tick(axis *a, double value)
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
static void fit_logarithmic(axis *a, int most)
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

/* Choose ends and round ticks (at most `most`) once all values are seen. `to_zero`: a linear axis
   includes 0. */
static void axis_fit(axis *a, int most, bool to_zero, double at_least)
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

/* A tick's number without trailing zeros; `out` [MARKUP_NUMBER]. */
static const char *tick_text(double value, char *out)
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

static double axis_place(const axis *a, double value)
{
    double x = a->logarithmic ? log(value / a->low) / log(a->high / a->low)
                              : (value - a->low) / (a->high - a->low);
    return a->from + x * (a->to - a->from);
}

/* ---- pieces of both kinds --------------------------------------------------------------- */

/* style="PROPERTY:VALUE%", or two of them. */
static void add_place(text *t, const char *property, double percent)
{
    text_add(t, "%s:", property);
    markup_coordinate(t, fmin(fmax(percent, 0), 100));
    text_add(t, "%%;");
}

/* A legend entry: a sample of the line with its mark, and its name. */
static void draw_key(text *t, const char *sample, const char *name)
{
    text_add(t, "<li>%s", sample);
    markup_text(t, name);
    text_add(t, "</li>\n");
}

/* The shape of a series' mark around the origin, for a <path>. */
static const char *mark_shape(int series)
{
    static const char *const shapes[] = {"M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0",
                                         "M-3 -3h6v6h-6z", "M0 -4.5l4.5 4.5l-4.5 4.5l-4.5 -4.5z",
                                         "M0 -4l4 7h-8z"};
    return shapes[series % CHART_SERIES % (int)(sizeof shapes / sizeof *shapes)];
}

/* True where the tick's number does not touch the number before it; each of them is `unit` percent
   wide. */
static bool tick_has_room(const axis *a, int tick, double unit, double *free_from)
{
    char number[MARKUP_NUMBER];
    double at = axis_place(a, a->tick[tick]) * unit;
    double half = text_width(tick_text(a->tick[tick], number)) / 2;
    if (at - half < *free_from)
        return false;
    *free_from = at + half + TEXT_HEIGHT / 2.0;
    return true;
}

/* ---- bars ------------------------------------------------------------------------------- */

/* The text after a bar; `room` [MARKUP_NUMBER]. */
static const char *bar_number(const chart_bar *b, char *room)
{
    return b->text ? b->text : markup_number(b->value, 3, room);
}

static bool has_value(const chart *c, const chart_bar *b)
{
    return isfinite(b->value) && (!c->log_x || b->value > 0);
}

static bool has_range(const chart *c, const chart_bar *b)
{
    return has_value(c, b) && isfinite(b->low) && isfinite(b->high) && b->low < b->high &&
           (!c->log_x || b->low > 0);
}

/* A row has a name and a track. Positions in a track are percentages, so that it is
   as wide as the page allows while letters keep their size. */
/* Minimum width of a track in pixels, approximately. */
enum { TRACK_LEAST = 230 };

typedef struct bars_layout {
    const chart *chart;
    axis axis;
    double room; /* width of the longest number, in letter heights */
} bars_layout;

static void see_bar(bars_layout *r, const chart_bar *b)
{
    char number[MARKUP_NUMBER];
    if (!has_value(r->chart, b))
        return;
    r->room = fmax(r->room, text_width(bar_number(b, number)) / TEXT_HEIGHT);
    axis_see(&r->axis, b->value);
    if (has_range(r->chart, b)) {
        axis_see(&r->axis, b->low);
        axis_see(&r->axis, b->high);
    }
}

static bars_layout layout_bars(const chart *c)
{
    bars_layout r = {.chart = c, .axis = {.low = 1, .high = 0, .logarithmic = c->log_x, .to = 100}};
    for (int g = 0; g < c->group_count; g++)
        for (int i = 0; i < c->group[g].count; i++)
            see_bar(&r, &c->group[g].bar[i]);
    axis_fit(&r.axis, 6, true, c->most);
    return r;
}

/* <i class="NAME" style="...">, from `left` (percent; NAN: the style sets it) */
static void draw_mark(text *t, const char *name, int series, double left, double width)
{
    text_add(t, "<i class=\"%s", name);
    if (series >= 0)
        text_add(t, " s%d", series % CHART_SERIES);
    text_add(t, "\" style=\"");
    if (isfinite(left))
        add_place(t, "left", left);
    if (isfinite(width))
        add_place(t, "width", width);
    text_add(t, "\"></i>");
}

static void draw_bar_number(text *t, const char *style, double left, const char *line)
{
    text_add(t, "<b class=\"%s\" style=\"", style);
    add_place(t, "left", left);
    text_add(t, "\">");
    markup_text(t, line);
    text_add(t, "</b>");
}

static void draw_track(text *t, const bars_layout *r, const chart_bar *b)
{
    char number[MARKUP_NUMBER];
    text_add(t, "<div class=\"track\">");
    for (int i = 0; i < r->axis.ticks; i++) {
        double place = axis_place(&r->axis, r->axis.tick[i]);
        draw_mark(t, place > 0 ? "g" : "g z", -1, place, NAN);
    }
    if (!has_value(r->chart, b)) {
        draw_bar_number(t, "v none", 0, b->text ? b->text : "-");
        text_add(t, "</div>\n");
        return;
    }
    double end = axis_place(&r->axis, b->value);
    draw_mark(t, r->chart->log_x ? "t" : "b", b->series, NAN, end);
    if (r->chart->log_x)
        draw_mark(t, "d", b->series, end, NAN);
    if (has_range(r->chart, b)) {
        double low = axis_place(&r->axis, b->low), high = axis_place(&r->axis, b->high);
        draw_mark(t, "w", -1, low, high - low);
        end = fmax(end, high);
    }
    draw_bar_number(t, "v", end, bar_number(b, number));
    text_add(t, "</div>\n");
}

static void draw_bar_ticks(text *t, const bars_layout *r)
{
    double free_from = -TEXT_HEIGHT;
    text_add(t, "<div class=\"of\"></div><div class=\"ticks\" aria-hidden=\"true\">");
    for (int i = 0; i < r->axis.ticks; i++) {
        char number[MARKUP_NUMBER];
        if (!tick_has_room(&r->axis, i, TRACK_LEAST / 100.0, &free_from))
            continue;
        text_add(t, "<b style=\"");
        add_place(t, "left", axis_place(&r->axis, r->axis.tick[i]));
        text_add(t, "\">%s</b>", tick_text(r->axis.tick[i], number));
    }
    text_add(t, "</div>\n");
}

static void draw_bar_keys(text *t, const chart *c)
{
    char sample[64];
    bool any = c->value_name || c->range_name;
    for (int s = 0; s < CHART_SERIES; s++)
        any |= c->series_name[s] != NULL;
    if (!any)
        return;
    text_add(t, "<ul class=\"keys\">\n");
    for (int s = 0; s < CHART_SERIES; s++) {
        snprintf(sample, sizeof sample, "<i class=\"%s s%d\"></i>", c->log_x ? "d" : "b", s);
        if (c->series_name[s])
            draw_key(t, sample, c->series_name[s]);
    }
    snprintf(sample, sizeof sample, "<i class=\"%s s0\"></i>", c->log_x ? "d" : "b");
    if (c->value_name)
        draw_key(t, sample, c->value_name);
    if (c->range_name)
        draw_key(t, "<i class=\"w\"></i>", c->range_name);
    text_add(t, "</ul>\n");
}

static void draw_bars(text *t, const chart *c)
{
    bars_layout r = layout_bars(c);
    draw_bar_keys(t, c);
    text_add(t, "<div class=\"bars\" style=\"--r:");
    markup_coordinate(t, r.room + 0.8);
    text_add(t, "em\">\n");
    for (int g = 0; g < c->group_count; g++) {
        if (c->group[g].name)
            markup_element(t, "h4", "", c->group[g].name);
        for (int i = 0; i < c->group[g].count; i++) {
            markup_element(t, "div", "class=\"of\"", c->group[g].bar[i].name);
            draw_track(t, &r, &c->group[g].bar[i]);
        }
    }
    draw_bar_ticks(t, &r);
    text_add(t, "</div>\n");
}

/* ---- lines ------------------------------------------------------------------------------ */

/* Lines through points over two axes, with a legend above. The area stretches with the page:
   positions are percentages, and paths are in their own drawing of 1000 by 1000, which is stretched
   while its stroke width is not. */
enum {
    AREA_LEAST = 250,  /* pixels, about */
    MARKS_MOST = 40,   /* per line; more would hide it */
    POINTS_MOST = 400, /* more cannot be seen */
};

typedef struct lines_layout {
    axis x, y; /* percent from the left, from the top */
} lines_layout;

static bool is_shown(const lines_layout *p, double x, double y)
{
    return isfinite(x) && isfinite(y) && (!p->x.logarithmic || x > 0) &&
           (!p->y.logarithmic || y > 0);
}

/* A mark at every n-th point of a long line, and at the last. */
static int stride_of(const chart_line *l)
{
    return l->count > POINTS_MOST ? (l->count + POINTS_MOST - 1) / POINTS_MOST : 1;
}

static int next_point(const chart_line *l, int i)
{
    int next = i + stride_of(l);
    return next >= l->count && i < l->count - 1 ? l->count - 1 : next;
}

static lines_layout layout_lines(const chart *c)
{
    lines_layout p = {.x = {.low = 1, .high = 0, .logarithmic = c->log_x, .whole = true, .to = 100},
                      .y = {.low = 1, .high = 0, .logarithmic = c->log_y, .from = 100}};
    for (int s = 0; s < c->line_count; s++)
        for (int i = 0; i < c->line[s].count; i++)
            if (is_shown(&p, c->line[s].x[i], c->line[s].y[i])) {
                axis_see(&p.x, c->line[s].x[i]);
                p.x.whole = p.x.whole && fabs(remainder(c->line[s].x[i], 1)) <= 0;
                axis_see(&p.y, c->line[s].y[i]);
            }
    axis_fit(&p.x, 6, false, 0);
    axis_fit(&p.y, 5, c->from_zero, c->most);
    return p;
}

static void draw_rule(text *t, const char *style, double x1, double y1, double x2, double y2)
{
    const double at[] = {x1, y1, x2, y2};
    static const char *const names[] = {"x1", "y1", "x2", "y2"};
    text_add(t, "<line class=\"%s\"", style);
    for (int i = 0; i < 4; i++) {
        text_add(t, " %s=\"", names[i]);
        markup_coordinate(t, at[i]);
        text_add(t, "%%\"");
    }
    text_add(t, "/>\n");
}

/* A number beside a point of the area, moved by dx and dy (in letter heights). */
static void draw_axis_number(text *t, double x, double y, const char *moved, const char *number)
{
    text_add(t, "<text x=\"");
    markup_coordinate(t, x);
    text_add(t, "%%\" y=\"");
    markup_coordinate(t, y);
    text_add(t, "%%\" %s>%s</text>\n", moved, number);
}

static void draw_axes(text *t, const lines_layout *p)
{
    char number[MARKUP_NUMBER];
    double free_from = -TEXT_HEIGHT;
    for (int i = 0; i < p->y.ticks; i++) {
        double y = axis_place(&p->y, p->y.tick[i]);
        draw_rule(t, y < 100 ? "grid" : "base", 0, y, 100, y);
        draw_axis_number(t, 0, y, "dx=\"-.5em\" dy=\".35em\" text-anchor=\"end\"",
                         tick_text(p->y.tick[i], number));
    }
    for (int i = 0; i < p->x.ticks; i++) {
        double x = axis_place(&p->x, p->x.tick[i]);
        draw_rule(t, "grid", x, 0, x, 100);
        if (tick_has_room(&p->x, i, AREA_LEAST / 100.0, &free_from))
            draw_axis_number(t, x, 100, "dy=\"1.4em\" text-anchor=\"middle\"",
                             tick_text(p->x.tick[i], number));
    }
}

static void draw_path(text *t, const lines_layout *p, const chart_line *l)
{
    bool pen_down = false;
    text_add(t, "<path class=\"line s%d\" vector-effect=\"non-scaling-stroke\" d=\"",
             l->series % CHART_SERIES);
    for (int i = 0; i < l->count; i = next_point(l, i)) {
        bool shown = is_shown(p, l->x[i], l->y[i]);
        if (shown) {
            text_add(t, "%s", pen_down ? "L" : "M");
            markup_coordinate(t, 10 * axis_place(&p->x, l->x[i]));
            text_add(t, " ");
            markup_coordinate(t, 10 * axis_place(&p->y, l->y[i]));
        }
        pen_down = shown;
    }
    text_add(t, "\"/>\n");
}

static void draw_marks(text *t, const lines_layout *p, const chart_line *l)
{
    for (int i = 0; i < l->count && l->count <= MARKS_MOST; i++) {
        if (!is_shown(p, l->x[i], l->y[i]))
            continue;
        text_add(t, "<path class=\"mark s%d\" style=\"transform:translate(",
                 l->series % CHART_SERIES);
        markup_coordinate(t, axis_place(&p->x, l->x[i]));
        text_add(t, "%%,");
        markup_coordinate(t, axis_place(&p->y, l->y[i]));
        text_add(t, "%%)\" d=\"%s\"/>\n", mark_shape(l->series));
    }
}

static void draw_line_keys(text *t, const chart *c)
{
    if (!c->line[0].name)
        return;
    text_add(t, "<ul class=\"keys\">\n");
    for (int s = 0; s < c->line_count; s++) {
        const chart_line *l = &c->line[s];
        text sample = {0};
        const int series = l->series % CHART_SERIES;
        text_add(&sample,
                 "<svg viewBox=\"-13 -5 26 10\" aria-hidden=\"true\"><path class=\"line s%d\" "
                 "d=\"M-13 0H13\"/><path class=\"mark s%d\" d=\"%s\"/>",
                 series, series, mark_shape(series));
        text_add(&sample, "</svg>");
        t->failed |= sample.failed;
        draw_key(t, sample.data ? sample.data : "", l->name);
        text_free(&sample);
    }
    text_add(t, "</ul>\n");
}

static double number_room(const lines_layout *p)
{
    double room = 0;
    for (int i = 0; i < p->y.ticks; i++) {
        char number[MARKUP_NUMBER];
        room = fmax(room, text_width(tick_text(p->y.tick[i], number)));
    }
    return room / TEXT_HEIGHT;
}

static void draw_lines(text *t, const chart *c)
{
    lines_layout p = layout_lines(c);
    draw_line_keys(t, c);
    text_add(t, "<div class=\"plot\" style=\"--l:");
    markup_coordinate(t, number_room(&p) + 0.4);
    text_add(t, "em\"><div class=\"area\">\n<svg role=\"img\" aria-label=\"");
    markup_text(t, c->title);
    text_add(t, "\">\n");
    draw_axes(t, &p);
    text_add(t, "</svg>\n<svg aria-hidden=\"true\" viewBox=\"0 0 1000 1000\" "
                "preserveAspectRatio=\"none\">\n");
    for (int s = 0; s < c->line_count; s++)
        draw_path(t, &p, &c->line[s]);
    text_add(t, "</svg>\n<svg aria-hidden=\"true\">\n");
    for (int s = 0; s < c->line_count; s++)
        draw_marks(t, &p, &c->line[s]);
    text_add(t, "</svg>\n</div></div>\n");
}

/* ---- the figure ------------------------------------------------------------------------- */

void chart_html(text *t, const chart *c)
{
    text_add(t, "<figure>\n<figcaption>");
    markup_text(t, c->title);
    if (c->description)
        markup_element(t, "small", "", c->description);
    text_add(t, "</figcaption>\n");
    if (c->line_count)
        draw_lines(t, c);
    else
        draw_bars(t, c);
    if (c->x_title)
        markup_element(t, "p", "class=\"axis\"", c->x_title);
    text_add(t, "</figure>\n");
}
