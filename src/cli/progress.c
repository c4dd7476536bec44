/* Progress lines in Keras's form. */
#include "base/clock.h"
#include "base/memory.h"
#include "base/show.h"
#include "cli/cli.h"
#include <cornu/tables.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 20, BAR_LEAST = 5 };
/* A line has room for the longest names of all values of the training and of the validation. */
enum { SCORE = 320, LINE = 1024 + 2 * (CORNU_ALL_METRICS_MAX + 1) * SCORE, ANSWER = 5120 };
static const double REDRAW_SECONDS = 0.1;
/* A run of less than this says nothing of its end, and none does so at its end. */
static const double LONG_SECONDS = 60, LEFT_LEAST_SECONDS = 10;

/* ---- pieces of a line ------------------------------------------------------------------- */

/* Text and the columns that it takes; they differ by the bar's characters. */
typedef struct line {
    char text[LINE];
    int columns;
} line;

static void add(line *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(line *l, const char *format, ...)
{
    size_t length = strlen(l->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(l->text + length, LINE - length, format, arguments);
    va_end(arguments);
    l->columns += (int)strlen(l->text + length);
}

static void add_bar(line *l, double fraction, int width)
{
    bool utf8 = terminal_has_utf8();
    int done = (int)(fraction * width + 0.5);
    for (int i = 0; i < width; i++) {
        const char *mark = i < done ? (utf8 ? "━" : "=") : (utf8 ? "─" : ".");
        size_t length = strlen(l->text);
        snprintf(l->text + length, LINE - length, "%s", mark);
    }
    l->columns += width;
}

static void add_score(line *l, const char *prefix, const char *name, double value)
{
    bool small = value != 0 && fabs(value) < 1e-3;
    add(l, small ? " - %s%s: %.4e" : " - %s%s: %.4f", prefix, name, value);
}

static void add_scores(line *l, const cornu_scores *s, const char *prefix, bool loss_last)
{
    if (!s)
        return;
    for (int i = 0; i < s->all_count; i++)
        if (i > 0 || !loss_last)
            add_score(l, prefix, s->all_name[i], s->all_value[i]);
    if (loss_last && s->all_count > 0)
        add_score(l, prefix, s->all_name[0], s->all_value[0]);
}

static void add_seconds(line *l, double seconds)
{
    long whole = lround(seconds);
    if (whole >= 3600)
        add(l, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
    else if (whole >= 60)
        add(l, "%ld:%02ld", whole / 60, whole % 60);
    else
        add(l, "%lds", whole);
}

static void add_step_time(line *l, double seconds)
{
    if (seconds >= 1 || seconds <= 0)
        add(l, "%.0fs/step", seconds);
    else if (seconds >= 1e-3)
        add(l, "%.0fms/step", seconds * 1e3);
    else
        add(l, "%.0fus/step", seconds * 1e6);
}

static int digits(int64_t number)
{
    int count = 1;
    for (; number >= 10; number /= 10)
        count++;
    return count;
}

/* The time of a step: of those that this run has done, so that it is this machine's. */
static double step_seconds(const cornu_progress *now)
{
    int64_t since = now->step - now->resumed_step;
    if (since > 0)
        return (now->seconds - now->resumed_seconds) / (double)since;
    return now->step > 0 ? now->seconds / (double)now->step : 0;
}

/* The form of the remaining time of the run, by the available room. */
typedef enum left_form { LEFT_NOTHING, LEFT_SHORT, LEFT_ABOUT, LEFT_WITH_ERROR } left_form;

/* " - about 3 h 20 min ±10 min left" */
static void add_left(line *l, const cornu_progress *now, left_form form)
{
    char string[DURATION_TEXT];
    bool utf8 = terminal_has_utf8() && form == LEFT_WITH_ERROR;
    if (form == LEFT_WITH_ERROR)
        duration_show_about(now->left_seconds, now->left_error, utf8, string);
    else
        duration_show(now->left_seconds, string);
    const char *how = now->left_at_most ? "at most " : form == LEFT_SHORT ? "" : "about ";
    add(l, " - %s%s left", how, string);
    l->columns -= utf8; /* the sign has two bytes */
}

/* "412/1000 ━━━━━━━━──── 1:23 141ms/step - loss: 1.0006 ..."; before the end the time is what is
 * left of the epoch. */
static void make_line(line *l, const cornu_progress *now, int bar, left_form left, bool loss_last)
{
    double done = now->steps > 0 ? (double)now->step / (double)now->steps : 0;
    double each = step_seconds(now);
    bool at_end = now->step >= now->steps;
    *l = (line){.columns = 0};
    add(l, "%*lld/%lld ", digits(now->steps), (long long)now->step, (long long)now->steps);
    if (bar > 0) {
        add_bar(l, done, bar);
        add(l, " ");
    }
    if (at_end)
        add(l, "%.0fs ", now->seconds);
    else {
        add_seconds(l, each * (double)(now->steps - now->step));
        add(l, " ");
    }
    add_step_time(l, each);
    if (left != LEFT_NOTHING)
        add_left(l, now, left);
    add_scores(l, now->scores, "", loss_last);
    add_scores(l, now->validation, "val_", loss_last);
}

/* The begin of the last " - NAME: VALUE", or NULL. */
static char *last_figure(char *string)
{
    char *last = NULL;
    for (char *found = strstr(string, " - "); found; found = strstr(found + 1, " - "))
        last = found;
    return last;
}

/* The line for a terminal of `width` columns: a shorter bar, then less of what is left of the run,
   then fewer figures. */
static void fit_line(line *l, const cornu_progress *now, int width, bool left, bool loss_last)
{
    int form = left ? LEFT_WITH_ERROR : LEFT_NOTHING;
    make_line(l, now, BAR, form, loss_last);
    if (l->columns <= width)
        return;
    int bar = BAR - (l->columns - width);
    make_line(l, now, bar >= BAR_LEAST ? bar : 0, form, loss_last);
    for (; l->columns > width && form > LEFT_NOTHING; form--)
        make_line(l, now, 0, form - 1, loss_last);
    if (l->columns <= width)
        return;
    make_line(l, now, 0, LEFT_NOTHING, loss_last); /* one byte a column now */
    for (char *figure; (int)strlen(l->text) > width && (figure = last_figure(l->text));)
        *figure = 0;
    if ((int)strlen(l->text) > width)
        l->text[width > 0 ? width : 0] = 0;
}

/* ---- training --------------------------------------------------------------------------- */

void progress_open(progress *p, bool quiet)
{
    *p = (progress){
        .quiet = quiet, .terminal = terminal_is(stdout), .epoch = -1, .began = clock_seconds()};
}

/* True if the remaining time of the run is worth printing. */
static bool tells_left(const progress *p, const cornu_progress *now)
{
    return now->left_seconds >= LEFT_LEAST_SECONDS &&
           clock_seconds() - p->began + now->left_seconds >= LONG_SECONDS;
}

/* Held by whoever draws; progress_answer comes from another thread. */
static pthread_mutex_t drawing = PTHREAD_MUTEX_INITIALIZER;

static void break_line(progress *p)
{
    if (p->line_open)
        print("\n");
    p->line_open = false;
    fflush(stdout);
}

void progress_break(progress *p)
{
    pthread_mutex_lock(&drawing);
    break_line(p);
    p->plotted = 0; /* something else will be printed below it */
    pthread_mutex_unlock(&drawing);
}

static void draw(progress *p, const cornu_progress *now, bool loss_last)
{
    line l;
    if (p->answered)
        return;
    if (now->step < now->steps && p->line_open && now->seconds - p->last_draw < REDRAW_SECONDS)
        return;
    fit_line(&l, now, terminal_width(stdout) - 1, tells_left(p, now), loss_last);
    p->line_open =
        true; /* set before the write: an answer waits for this thread only for a limited time */
    print("\r%s\033[K", l.text);
    fflush(stdout);
    p->last_draw = now->seconds;
}

static void print_epoch_heading(progress *p, const cornu_progress *now)
{
    print("Epoch %lld/%lld\n", (long long)now->epoch + 1, (long long)now->epochs);
    if (p->plotted) {
        p->plotted++;
        p->heading = true;
    }
}

/* The plot moves down: away with it and what stands below, and the epoch's heading again. */
static void erase_plot(progress *p, const cornu_progress *now)
{
    bool heading = p->heading;
    if (p->plotted == 0)
        return;
    print("\r\033[%dA\033[J", p->plotted);
    p->plotted = 0;
    p->heading = false;
    if (heading)
        print_epoch_heading(p, now);
}

static void draw_plot(progress *p, const cornu_progress *now)
{
    if (!p->plot)
        return;
    plot_add(p->plot, now);
    p->heading = false;
    p->plotted = plot_print(p->plot, terminal_width(stdout) - 1, terminal_height(stdout),
                            terminal_has_utf8(), stdout);
}

void progress_step(progress *p, const cornu_progress *now)
{
    if (p->quiet || !p->terminal || p->answered)
        return;
    pthread_mutex_lock(&drawing);
    if (p->epoch != now->epoch) {
        break_line(p);
        print_epoch_heading(p, now);
        p->epoch = now->epoch;
    }
    draw(p, now, false);
    pthread_mutex_unlock(&drawing);
}

void progress_epoch(progress *p, const cornu_progress *now)
{
    line l;
    if (p->quiet)
        return;
    pthread_mutex_lock(&drawing);
    if (p->terminal) { /* whole, even where the terminal has to wrap it */
        make_line(&l, now, BAR, LEFT_NOTHING, false);
        erase_plot(p, now);
        print("\r%s\033[K\n", l.text);
        draw_plot(p, now);
    } else {
        make_line(&l, now, 0, LEFT_NOTHING, false);
        if (tells_left(p, now))
            add_left(&l, now, LEFT_WITH_ERROR);
        print("Epoch %lld/%lld - %s\n", (long long)now->epoch + 1, (long long)now->epochs, l.text);
    }
    fflush(stdout);
    p->line_open = false;
    pthread_mutex_unlock(&drawing);
}

void progress_evaluate(progress *p, const cornu_progress *now, bool final)
{
    line l;
    if (p->quiet)
        return;
    pthread_mutex_lock(&drawing);
    if (final) {
        make_line(&l, now, BAR, LEFT_NOTHING, true);
        print(p->terminal ? "\r%s\033[K\n" : "%s\n", l.text);
        fflush(stdout);
        p->line_open = false;
    } else if (p->terminal) {
        draw(p, now, true);
    }
    pthread_mutex_unlock(&drawing);
}

/* ---- downloads and other lines ---------------------------------------------------------- */

static void draw_download(progress *p, const char *file, int64_t done, int64_t total)
{
    char have[16], all[16];
    line l = {.columns = 0};
    add(&l, "%.30s ", file);
    if (total > 0)
        add_bar(&l, (double)done / (double)total, BAR);
    add(&l, " %s", memory_human((double)done, have));
    if (total > 0)
        add(&l, " of %s", memory_human((double)total, all));
    p->line_open = true;
    print("\r%s\033[K", l.text);
    if (total > 0 && done >= total)
        break_line(p);
    fflush(stdout);
}

void progress_download(void *user, const char *file, int64_t done, int64_t total)
{
    progress *p = user;
    char all[16];
    if (p->quiet || p->answered)
        return;
    pthread_mutex_lock(&drawing);
    if (p->terminal)
        draw_download(p, file, done, total);
    else if (done == 0)
        print("downloading %s (%s)\n", file, memory_human((double)total, all));
    pthread_mutex_unlock(&drawing);
}

void progress_notice(void *user, const char *notice)
{
    progress *p = user;
    if (p->quiet)
        return;
    progress_break(p);
    print_to(p->rows ? stderr : stdout, "%s\n", notice);
}

/* Write without blocking or not at all: a stopped terminal (Ctrl-S) or a full pipe must not
   block the caller. */
static void write_now(int fd, const char *string)
{
    struct pollfd writer = {.fd = fd, .events = POLLOUT};
    if (poll(&writer, 1, 50) == 1 && (writer.revents & POLLOUT))
        (void)!write(fd, string, strlen(string));
}

void progress_answer(progress *p, const char *string)
{
    char shown[ANSWER], out[sizeof shown + 16];
    struct timespec until;
    if (p && p->silent)
        return;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (until.tv_nsec + 50000000) / 1000000000;
    until.tv_nsec = (until.tv_nsec + 50000000) % 1000000000;
    bool locked = pthread_mutex_clocklock(&drawing, CLOCK_MONOTONIC, &until) == 0;
    if (p && p->line_open)
        write_now(STDOUT_FILENO, "\n");
    if (p) {
        p->line_open = false;
        p->answered = true;
        p->plotted = 0;
    }
    /* The terminal has shown "^C" where the cursor stood. */
    cornu_printable(string, shown, sizeof shown);
    snprintf(out, sizeof out, "%s%s\n", terminal_is(stderr) ? "\r\033[K" : "", shown);
    write_now(STDERR_FILENO, out);
    if (locked)
        pthread_mutex_unlock(&drawing);
}
