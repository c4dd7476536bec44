/* The runs of a sweep: which there are ("seed=1..8"), what became of them, and a process for
   each. */
#include "cli/trials.h"
#include "base/number.h"
#include "base/show.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- which runs ----------------------------------------------------------------------------- */

#define KEY_INT(flag, key, minimum, maximum) {flag, flag, key, minimum, maximum},
#define KEY_FLAG(...)
#define KEY_TEXT(...)
#define KEY_ROW(at, type, field, key, flag, value, standard, minimum, maximum, help) \
    KEY_##type(flag, key, minimum, maximum)

const trial_key trial_keys[TRIAL_KEYS] = {
    CORNU_FIT_OPTIONS(KEY_ROW, OPTION_NONE, ) /* with their ranges */
    {"learning_rate", "learning-rate", NULL, 0, 0},
};

/* ---- reading ---------------------------------------------------------------------------- */

static bool is_name_of(const trial_key *k, const char *name)
{
    return strcmp(name, k->name) == 0 || strcmp(name, k->option) == 0 ||
           (k->alias && strcmp(name, k->alias) == 0);
}

static int fail_key(const trials *t, const char *name)
{
    const char *names[TRIAL_KEYS + 1] = {NULL};
    char all[256] = "";
    for (int i = 0; i < TRIAL_KEYS; i++) {
        size_t length = strlen(all);
        names[i] = trial_keys[i].name;
        snprintf(all + length, sizeof all - length, "%s%s",
                 i == 0               ? ""
                 : i < TRIAL_KEYS - 1 ? ", "
                                      : " or ",
                 names[i]);
    }
    const char *nearest = nearest_name(name, names);
    if (nearest)
        return fail_usage(t->command, "--sweep: found \"%s\"; did you mean %s?", name, nearest);
    return fail_usage(t->command, "--sweep: found \"%s\"; expected %s, =, and values", name, all);
}

static int fail_value(const trials *t, const trial_key *k, const char *found)
{
    if (k->maximum == 0)
        return fail_usage(t->command,
                          "--sweep %s: found \"%s\"; expected numbers above 0 with commas between",
                          k->name, found);
    return fail_usage(t->command,
                      "--sweep %s: found \"%s\"; expected whole numbers from %lld to %lld, or "
                      "FIRST..LAST, with commas between",
                      k->name, found, (long long)k->minimum, (long long)k->maximum);
}

static bool read_whole(const trial_key *k, const char *string, int64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoll(string, &end, 10);
    bool digits = *string && string[strspn(string, "0123456789")] == 0;
    return digits && errno == 0 && *number >= k->minimum && *number <= k->maximum;
}

static bool is_value(const trial_key *k, const char *string)
{
    int64_t whole;
    double real;
    return k->maximum ? read_whole(k, string, &whole) : read_real(string, &real);
}

/* Twice the same run would be twice the same file. Numbers of up to 2^53 differ as doubles do; of
   larger seeds the digits count. */
static bool is_same(const char *a, const char *b)
{
    bool large = strlen(a) > 15 || strlen(b) > 15;
    return large ? strcmp(a, b) == 0 : strtod(a, NULL) == strtod(b, NULL);
}

static int add_value(const trials *t, trial_list *l, const char *value)
{
    if (strlen(value) >= TRIAL_VALUE || !is_value(l->key, value))
        return fail_value(t, l->key, value);
    for (int i = 0; i < l->count; i++)
        if (is_same(l->value[i], value))
            return fail_usage(t->command, "--sweep %s: found %s twice; expected it once",
                              l->key->name, value);
    if (l->count == TRIALS_MOST)
        return fail_usage(t->command, "--sweep %s: found more than %d values; expected fewer",
                          l->key->name, TRIALS_MOST);
    snprintf(l->value[l->count++], TRIAL_VALUE, "%s", value);
    return STATUS_OK;
}

/* FIRST..LAST, of whole numbers. */
static int add_range(const trials *t, trial_list *l, const char *item, const char *dots)
{
    char begin[TRIAL_VALUE], value[TRIAL_VALUE];
    int64_t first, last;
    snprintf(begin, sizeof begin, "%.*s", (int)(dots - item), item);
    if (!read_whole(l->key, begin, &first) || !read_whole(l->key, dots + 2, &last) || last < first)
        return fail_value(t, l->key, item);
    int status = STATUS_OK;
    for (int64_t number = first; status == STATUS_OK; number++) {
        snprintf(value, sizeof value, "%lld", (long long)number);
        status = add_value(t, l, value);
        if (number == last) /* `last` may be the largest possible number */
            break;
    }
    return status;
}

static int add_list(trials *t, const char *asked)
{
    char string[512], *rest = string;
    int status = STATUS_OK;
    if ((size_t)snprintf(string, sizeof string, "%s", asked) >= sizeof string)
        return fail_usage(t->command, "--sweep: found %zu characters; expected fewer than %zu",
                          strlen(asked), sizeof string);
    const char *name = strsep(&rest, "=");
    const trial_key *key = NULL;
    for (int i = 0; i < TRIAL_KEYS; i++)
        if (is_name_of(&trial_keys[i], name))
            key = &trial_keys[i];
    if (!key)
        return fail_key(t, name);
    for (int i = 0; i < t->lists; i++)
        if (t->list[i].key == key)
            return fail_usage(t->command, "--sweep %s: found it twice; expected one list",
                              key->name);
    trial_list *l = &t->list[t->lists++];
    l->key = key;
    if (!rest)
        return fail_value(t, key, "");
    while (status == STATUS_OK && rest) {
        const char *item = strsep(&rest, ",");
        const char *dots = key->maximum ? strstr(item, "..") : NULL;
        status = dots ? add_range(t, l, item, dots) : add_value(t, l, item);
    }
    return status;
}

int trials_parse(trials *t, const command *c, const text_list *asked)
{
    *t = (trials){.command = c, .count = 1};
    for (int i = 0; i < asked->count; i++) {
        int status = add_list(t, asked->item[i]);
        if (status != STATUS_OK)
            return status;
        t->count *= t->list[t->lists - 1].count;
        if (t->count > TRIALS_MOST)
            return fail_usage(t->command, "--sweep: found %d runs; expected at most %d", t->count,
                              TRIALS_MOST);
    }
    return STATUS_OK;
}

/* ---- asking ----------------------------------------------------------------------------- */

const char *trial_value(const trials *t, int trial, int list)
{
    for (int i = t->lists - 1; i > list; i--)
        trial /= t->list[i].count;
    return t->list[list].value[trial % t->list[list].count];
}

void trial_name(const trials *t, int trial, char mark, char name[TRIAL_NAME])
{
    size_t length = 0;
    *name = 0;
    for (int i = 0; i < t->lists; i++, length = strlen(name))
        snprintf(name + length, TRIAL_NAME - length, "%.*s%s=%s", i > 0, &mark,
                 t->list[i].key->name, trial_value(t, trial, i));
}

/* The begin of a file name's extension. */
static size_t ending_of(const char *path)
{
    static const char weights[] = ".weights.h5"; /* Keras's, in two */
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t length = strlen(path), tail = sizeof weights - 1;
    if (strlen(name) > tail && strcmp(path + length - tail, weights) == 0)
        return length - tail;
    const char *dot = strrchr(name, '.');
    return dot && dot > name ? (size_t)(dot - path) : length;
}

void trial_path(const trials *t, int trial, const char *path, const char *ending,
                char own[TRIAL_PATH])
{
    char name[TRIAL_NAME];
    size_t at = ending_of(path);
    trial_name(t, trial, '-', name);
    snprintf(own, TRIAL_PATH, "%.*s-%s%s", (int)at, path, name, ending ? ending : path + at);
}

/* ---- what became of them -------------------------------------------------------------------- */

/* The results of a sweep's runs: read from their tables of epochs, printed as one table. */
/* ---- a run's table of epochs ------------------------------------------------------------ */

/* epoch, the values of training and validation, seconds */
enum { CELLS_MOST = 2 * (CORNU_ALL_METRICS_MAX + 1) + 2 };

/* Positions of its columns; 0: missing. */
typedef struct log_columns {
    int count, metric, val_loss, val_metric;
} log_columns;

/* The next cell of a header, which may be in quotes. */
static const char *next_cell(const char *at, char *cell, size_t size)
{
    size_t length = 0;
    bool quoted = false;
    for (; *at && *at != '\n' && (quoted || *at != ','); at++) {
        if (*at == '"')
            quoted = !quoted;
        else if (length + 1 < size)
            cell[length++] = *at;
    }
    cell[length] = 0;
    return *at == ',' ? at + 1 : NULL;
}

/* epoch, loss, METRIC..., val_loss, val_METRIC..., seconds */
static bool read_header(const char *line, log_columns *c, trial_result *r)
{
    char cell[64];
    *c = (log_columns){0};
    for (const char *at = line; at && c->count < CELLS_MOST; c->count++) {
        at = next_cell(at, cell, sizeof cell);
        if (strcmp(cell, "val_loss") == 0)
            c->val_loss = c->count;
        else if (c->count == 2 && strcmp(cell, "seconds") != 0) {
            c->metric = c->count;
            snprintf(r->metric_name, sizeof r->metric_name, "%.31s", cell);
        }
    }
    c->val_metric = c->val_loss && c->metric ? c->val_loss + 1 : 0;
    return c->count >= 3;
}

static bool read_numbers(const char *line, double *values, int count)
{
    char *end;
    for (int i = 0; i < count; i++, line = end + 1) {
        values[i] = strtod(line, &end);
        if (end == line || *end != (i + 1 < count ? ',' : '\n'))
            return false; /* it was truncated */
    }
    return true;
}

static void add_epoch(trial_result *r, const log_columns *c, const double *values)
{
    bool validated = c->val_loss && !isnan(values[c->val_loss]);
    double monitored = c->val_loss ? values[c->val_loss] : values[1];
    r->epochs = (int64_t)values[0];
    r->loss = values[1];
    r->metric = c->metric ? values[c->metric] : NAN;
    r->val_loss = validated ? values[c->val_loss] : r->val_loss;
    r->val_metric = validated && c->val_metric ? values[c->val_metric] : r->val_metric;
    r->seconds += values[c->count - 1];
    if (!isnan(monitored) && !(monitored >= r->best)) {
        r->best = monitored;
        r->best_epoch = r->epochs;
    }
}

bool trial_read_log(const char *path, trial_result *r)
{
    char *line = NULL;
    size_t room = 0;
    log_columns columns;
    double values[CELLS_MOST];
    FILE *f = fopen(path, "re");
    bool there = f && getline(&line, &room, f) > 0 && read_header(line, &columns, r);
    r->loss = r->metric = r->val_loss = r->val_metric = r->best = NAN;
    r->epochs = r->best_epoch = 0;
    r->seconds = 0;
    while (there && getline(&line, &room, f) > 0 && read_numbers(line, values, columns.count))
        add_epoch(r, &columns, values);
    free(line);
    if (f)
        fclose(f);
    return there;
}

bool trial_validates(const trial_result *r)
{
    return r->epochs > 0 && !isnan(r->val_loss);
}

/* ---- the columns ------------------------------------------------------------------------ */

enum { CELL = 32 };

static void show_score(double value, char *cell)
{
    bool small = value != 0 && fabs(value) < 1e-3;
    if (isnan(value))
        snprintf(cell, CELL, "-");
    else
        snprintf(cell, CELL, small ? "%.2e" : "%.4f", value);
}

static void show_loss(const trial_result *r, char *cell)
{
    show_score(r->loss, cell);
}

static void show_metric(const trial_result *r, char *cell)
{
    show_score(r->metric, cell);
}

static void show_val_loss(const trial_result *r, char *cell)
{
    show_score(r->val_loss, cell);
}

static void show_val_metric(const trial_result *r, char *cell)
{
    show_score(r->val_metric, cell);
}

static void show_best(const trial_result *r, char *cell)
{
    show_score(r->best, cell);
}

static void show_epoch(const trial_result *r, char *cell)
{
    snprintf(cell, CELL, "%lld", (long long)r->best_epoch);
}

static void show_time(const trial_result *r, char *cell)
{
    number_seconds(r->seconds, cell);
}

/* The values of a column, so that one without values is left out. */
typedef enum column_kind { OF_ANY, OF_METRIC, OF_VALIDATION, OF_BOTH } column_kind;

/* In the order of the table; NULL as heading: the metric's name. */
static const struct {
    const char *group, *heading;
    column_kind kind;
    int keep; /* if there is no room, columns with the lowest value go first */
    void (*show)(const trial_result *r, char *cell);
} figures[] = {
    {"training", "loss", OF_ANY, 2, show_loss},
    {"training", NULL, OF_METRIC, 1, show_metric},
    {"validation", "loss", OF_VALIDATION, 4, show_val_loss},
    {"validation", NULL, OF_BOTH, 5, show_val_metric},
    {"best", "loss", OF_ANY, 7, show_best},
    {"best", "epoch", OF_ANY, 6, show_epoch},
    {"", "time", OF_ANY, 3, show_time},
};
enum { FIGURES = sizeof figures / sizeof *figures };

static void add_columns(const trials *all, const trial_result *results, show_table *t,
                        int shown[FIGURES])
{
    bool validates = false;
    const char *metric = NULL;
    for (int i = 0; i < all->count; i++) {
        const trial_result *r = &results[i];
        bool has_metric = r->state == TRIAL_DONE && *r->metric_name;
        validates |= r->state == TRIAL_DONE && trial_validates(r);
        metric = has_metric && !metric ? r->metric_name : metric;
    }
    for (int i = 0; i < all->lists; i++)
        table_add_column(t, (show_column){.heading = all->list[i].key->name, .group = ""});
    for (int i = 0; i < FIGURES; i++) {
        bool of_metric = figures[i].kind == OF_METRIC || figures[i].kind == OF_BOTH;
        bool of_validation = figures[i].kind == OF_VALIDATION || figures[i].kind == OF_BOTH;
        shown[i] = (!of_metric || metric) && (!of_validation || validates);
        if (shown[i])
            table_add_column(
                t, (show_column){.heading = figures[i].heading ? figures[i].heading : metric,
                                 .keep = figures[i].keep,
                                 .group = figures[i].group});
    }
}

static void add_trial(const trials *all, const trial_result *r, int trial, const int shown[FIGURES],
                      show_table *t)
{
    static const char *const states[] = {"not run", "", "stopped", "failed: "};
    char cell[CELL];
    table_begin_row(t);
    for (int i = 0; i < all->lists; i++)
        table_add_cell(t, "%s", trial_value(all, trial, i));
    if (r->state != TRIAL_DONE) {
        table_add_note(t, "%s%s", states[r->state], r->state == TRIAL_FAILED ? r->why : "");
        return;
    }
    for (int i = 0; i < FIGURES; i++)
        if (shown[i]) {
            figures[i].show(r, cell);
            table_add_cell(t, "%s", cell);
        }
}

/* Completed runs by their best value, then the others. */
static bool is_before(const trial_result *a, const trial_result *b)
{
    if (a->state != b->state)
        return a->state == TRIAL_DONE || (b->state != TRIAL_DONE && a->state > b->state);
    return a->state == TRIAL_DONE && !isnan(a->best) && !(a->best >= b->best);
}

static void sort_trials(const trials *t, const trial_result *results, int *order)
{
    for (int i = 0; i < t->count; i++) {
        int at = i;
        for (; at > 0 && is_before(&results[i], &results[order[at - 1]]); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

void trials_print(const trials *t, const trial_result *results, int *order)
{
    show_table all = {.indent = 4};
    int shown[FIGURES];
    sort_trials(t, results, order);
    add_columns(t, results, &all, shown);
    for (int i = 0; i < t->count; i++)
        add_trial(t, &results[order[i]], order[i], shown, &all);
    print("\n");
    table_print(&all, stdout);
}

/* ---- one process each ----------------------------------------------------------------------- */

/* The processes of a sweep. Between fork and exec only async-signal-safe functions are called,
   as other threads may have held any lock. */
/* ---- command lines ---------------------------------------------------------------------- */

void words_add(words *w, const char *word)
{
    char *copy = w->count < COMMAND_WORDS ? strdup(word) : NULL;
    w->failed |= !copy;
    if (copy)
        w->item[w->count++] = copy;
}

void words_add_option(words *w, const char *name, const char *value)
{
    char dashed[64];
    snprintf(dashed, sizeof dashed, "--%s", name);
    words_add(w, dashed);
    if (value)
        words_add(w, value);
}

void words_free(words *w)
{
    for (int i = 0; i < w->count; i++)
        free(w->item[i]);
    *w = (words){.count = 0};
}

void words_print(FILE *f, const words *w)
{
    for (int i = 0; i < w->count; i++)
        print_word(f, w->item[i]);
}

/* ---- starting --------------------------------------------------------------------------- */

static const char alone[] = "CORNU_RANKS=off"; /* the launcher's are this process, not its runs */

/* Copy of this process's environment with the variable of `alone`; NULL if there is no memory. */
static char **make_environment(void)
{
    size_t count = 0, kept = 0;
    while (environ[count])
        count++;
    char **all = calloc(count + 2, sizeof *all);
    for (size_t i = 0; all && i < count; i++)
        if (strncmp(environ[i], alone, strcspn(alone, "=") + 1) != 0)
            all[kept++] = environ[i];
    if (all)
        all[kept] = (char *)(size_t)alone;
    return all;
}

/* Run in a separate process group, as a Ctrl-C is for the sweep, which passes it on; the process
   does not outlive the sweep. */
static _Noreturn void become_trial(const words *w, char **environment, int errors, pid_t parent)
{
    static const char line[] = "cornu: /proc/self/exe: cannot be started\n";
    sigset_t none;
    sigemptyset(&none);
    int nowhere = open("/dev/null", O_RDWR);
    bool ready = setpgid(0, 0) == 0 && prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 &&
                 getppid() == parent && dup2(nowhere, STDIN_FILENO) >= 0 &&
                 dup2(nowhere, STDOUT_FILENO) >= 0 && dup2(errors, STDERR_FILENO) >= 0;
    (void)close_range(STDERR_FILENO + 1, ~0u, 0);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (ready)
        execve("/proc/self/exe", w->item, environment);
    (void)!write(STDERR_FILENO, line, sizeof line - 1);
    _exit(STATUS_FAILURE);
}

void trial_start(trial_job *job, int trial, const words *w)
{
    int ends[2] = {-1, -1};
    char **environment = make_environment();
    pid_t parent = getpid();
    *job = (trial_job){.trial = trial, .errors = -1};
    errno = ENOMEM;
    if (!w->failed && environment && pipe2(ends, O_CLOEXEC) == 0 &&
        fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0)
        job->pid = fork();
    else
        job->pid = -1;
    if (job->pid == 0)
        become_trial(w, environment, ends[1], parent);
    if (job->pid < 0)
        job->size = (size_t)snprintf(job->said, sizeof job->said, "cannot start a process: %s",
                                     strerror(errno));
    free(environment);
    if (ends[1] >= 0)
        close(ends[1]);
    job->errors = ends[0];
}

/* ---- waiting ---------------------------------------------------------------------------- */

/* Keep the end of its error output. */
static void listen_to(trial_job *job)
{
    char more[TRIAL_WHY];
    ssize_t n;
    while (job->errors >= 0 && (n = read(job->errors, more, sizeof more - 1)) > 0) {
        size_t added = (size_t)n, room = sizeof job->said - 1;
        size_t kept = job->size + added > room ? room - added : job->size;
        memmove(job->said, job->said + job->size - kept, kept);
        memcpy(job->said + kept, more, added);
        job->size = kept + added;
        job->said[job->size] = 0;
    }
}

void trials_wait(trial_job *jobs, int count)
{
    struct pollfd *from = calloc((size_t)count, sizeof *from);
    for (int i = 0; from && i < count; i++)
        from[i] = (struct pollfd){.fd = jobs[i].pid > 0 ? jobs[i].errors : -1, .events = POLLIN};
    (void)poll(from, from ? (nfds_t)count : 0, 100);
    for (int i = 0; i < count; i++)
        if (jobs[i].pid > 0)
            listen_to(&jobs[i]);
    free(from);
}

/* The last line that it said, without the program's name. */
static const char *last_line(trial_job *job)
{
    static const char program[] = "cornu: ";
    char *string = job->said;
    while (job->size > 0 && strchr("\n\r ", string[job->size - 1]))
        string[--job->size] = 0;
    char *newline = strrchr(string, '\n');
    string = newline ? newline + 1 : string;
    return strncmp(string, program, sizeof program - 1) == 0 ? string + sizeof program - 1 : string;
}

static void explain_end(trial_job *job, int status, trial_result *r)
{
    const char *line = last_line(job);
    if (WIFSIGNALED(status))
        snprintf(r->why, sizeof r->why, "ended by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else if (*line)
        snprintf(r->why, sizeof r->why, "%s", line);
    else
        snprintf(r->why, sizeof r->why, "ended with status %d", WEXITSTATUS(status));
}

bool trial_ended(trial_job *job, bool asked, trial_result *r)
{
    int status = 0;
    if (job->pid > 0 && waitpid(job->pid, &status, WNOHANG) != job->pid)
        return false;
    listen_to(job);
    bool stopped = WIFEXITED(status) ? is_interrupted(WEXITSTATUS(status))
                                     : asked; /* before it was ready to answer */
    bool done = job->pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == STATUS_OK;
    r->state = done ? TRIAL_DONE : stopped ? TRIAL_STOPPED : TRIAL_FAILED;
    if (r->state == TRIAL_FAILED)
        explain_end(job, status, r);
    if (job->errors >= 0)
        close(job->errors);
    *job = (trial_job){.errors = -1};
    return true;
}

void trial_signal(const trial_job *job, int number)
{
    if (job->pid > 0)
        kill(job->pid, number);
}
