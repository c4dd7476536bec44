/* One sentence of advice, with its reason. */
#include "bench/advise.h"
#include "bench/duration.h"
#include "bench/sentence.h"
#include <math.h>
#include <string.h>

/* "4.1 times" or "twice": more than two digits would exceed a forecast's accuracy. */
static void say_times(const sentence *s, double ratio)
{
    sentence_add(s, "%.*f times", ratio < 9.95 ? 1 : 0, ratio);
}

static const advise_row *fastest(const advise_report *r, const advise_row *but)
{
    const advise_row *best = NULL;
    for (int i = 0; i < r->count; i++) {
        const advise_row *row = &r->rows[i];
        bool measured = !*row->failed && row->seconds > 0 && row != but;
        if (measured && (!best || row->seconds < best->seconds))
            best = row;
    }
    return best;
}

/* The row that the fastest is compared with: the first device, which is the cpu if it is among
   them, or the best of the others. */
static const advise_row *rival_of(const advise_report *r, const advise_row *best)
{
    const advise_row *first = &r->rows[0];
    return first != best && !*first->failed && first->seconds > 0 ? first : fastest(r, best);
}

static void say_alone(const sentence *s, const advise_report *r, const advise_row *best)
{
    int failed = 0;
    sentence_add(s, "Train on %s: ", best->device);
    for (int i = 0; i < r->count; i++)
        if (*r->rows[i].failed)
            sentence_add(s, "%s%s could not be measured (%.200s)", failed++ ? ", " : "",
                         r->rows[i].device, r->rows[i].failed);
    if (!failed)
        sentence_add(s, "no other device was there to be measured");
}

/* Their costs, if both are known; `than` is the text after the better one's time. */
static void say_cost(const sentence *s, const advise_report *r, const advise_row *best,
                     const advise_row *rival)
{
    char mine[48], theirs[48];
    if (!isfinite(best->cost) || !isfinite(rival->cost))
        return;
    price_show(&r->prices, best->cost, mine);
    price_show(&r->prices, rival->cost, theirs);
    if (best->cost <= rival->cost)
        sentence_add(s, ", and costs %s in place of %s", mine, theirs);
    else
        sentence_add(s, ", but costs %s in place of %s: worth it where time counts for more", mine,
                     theirs);
}

static void say_same(const sentence *s, const advise_report *r, const advise_row *best,
                     const advise_row *rival)
{
    char times[2][DURATION_TEXT], costs[2][48];
    const advise_row *first = rival < best ? rival : best, *second = rival < best ? best : rival;
    bool priced = isfinite(first->cost) && isfinite(second->cost);
    const advise_row *cheap = second->cost < first->cost ? second : first;
    const advise_row *dear = cheap == first ? second : first;
    sentence_add(s, "Train on %s", priced ? cheap->device : first->device);
    if (!priced)
        sentence_add(s, " or %s", second->device);
    sentence_add(s, ": %s and %s cannot be told apart", duration_show(first->seconds, times[0]),
                 duration_show(second->seconds, times[1]));
    if (priced)
        sentence_add(s, ", and it costs %s in place of %s",
                     price_show(&r->prices, cheap->cost, costs[0]),
                     price_show(&r->prices, dear->cost, costs[1]));
}

/* The first device is the fastest: how far behind are the others, and does another batch change
   that? */
static void say_stay(const sentence *s, const advise_report *r, const advise_row *best,
                     const advise_row *rival)
{
    sentence_add(s, "Train on %s: %s takes ", best->device, rival->device);
    say_times(s, rival->seconds / best->seconds);
    sentence_add(s, " as long at batch %lld", (long long)r->batch);
    if (rival->wins_from > 0)
        sentence_add(s, " and wins from batch %lld on", (long long)rival->wins_from);
    else if (rival->compared_up_to >= r->batch) /* nothing can be said from smaller batches alone */
        sentence_add(s, ", and wins at no batch up to %lld", (long long)rival->compared_up_to);
    if (isfinite(best->cost) && isfinite(rival->cost) && rival->cost < best->cost) {
        char mine[48], theirs[48];
        sentence_add(s, ", but costs %s in place of %s",
                     price_show(&r->prices, rival->cost, theirs),
                     price_show(&r->prices, best->cost, mine));
    }
}

static void say_move(const sentence *s, const advise_report *r, const advise_row *best,
                     const advise_row *rival)
{
    char mine[DURATION_TEXT], theirs[DURATION_TEXT];
    if (best->gpu)
        sentence_add(s, "A GPU is worth it: %s takes ", best->device);
    else
        sentence_add(s, "Train on %s: it takes ", best->device);
    sentence_add(s, "%s in place of %s on %s (", duration_show(best->seconds, mine),
                 duration_show(rival->seconds, theirs), rival->device);
    say_times(s, rival->seconds / best->seconds);
    sentence_add(s, " as fast)");
    say_cost(s, r, best, rival);
}

/* Without a GPU here: the fastest of the published ones, if it is faster. */
static void say_estimate(const sentence *s, const advise_report *r, const advise_row *measured)
{
    const advise_estimate *best = NULL;
    char time[DURATION_TEXT];
    for (int i = 0; i < r->count; i++)
        if (r->rows[i].gpu && !*r->rows[i].failed)
            return;
    for (int i = 0; i < r->estimate_count; i++)
        if (!best || r->estimates[i].seconds < best->seconds)
            best = &r->estimates[i];
    if (best && best->seconds < measured->seconds)
        sentence_add(s, " By estimate the GPU of the published figures (%s) would take about %s.",
                     best->hardware, duration_show(best->seconds, time));
}

void advise_say(advise_report *report)
{
    const sentence s = {report->advice, sizeof report->advice};
    const advise_row *best = fastest(report, NULL);
    *report->advice = 0;
    if (!best)
        return;
    const advise_row *rival = rival_of(report, best);
    if (!rival)
        say_alone(&s, report, best);
    else if (fabs(best->seconds - rival->seconds) <= hypot(best->error, rival->error))
        say_same(&s, report, best, rival);
    else if (best == &report->rows[0])
        say_stay(&s, report, best, rival);
    else
        say_move(&s, report, best, rival);
    sentence_add(&s, ".");
    say_estimate(&s, report, best);
}
