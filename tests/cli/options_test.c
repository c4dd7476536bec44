/* Every option of every command changes something. The commands and their options are read off
   --help, which is made from their tables: an option without a row here fails, and so does one that
   is read and then forgotten. */
#include "format/tensor_file.h"
#include "support/made.h"
#include "support/program.h"
#include "support/sanitized.h"
#include "support/scratch.h"
#include "support/terminal.h"
#include <cornu/model.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* What is looked at, once without the option and once with it. */
typedef enum aspect {
    SAYS,    /* does it print `what`? */
    MAKES,   /* is there a file `what` behind it? */
    CONTENT, /* the bytes of the file `what` */
    HEADING, /* the first line of the file `what` */
    LINE,    /* the line of out.json that holds `what` */
    SCORES,  /* what follows the time in the first line that it prints */
    THREADS, /* the same as SAYS, where no second thread can be started */
    DRAWS,   /* the same as SAYS, with a terminal as its output */
    ALIVE    /* the number of its threads while it trains */
} aspect;

typedef struct row {
    const char *command, *option;
    const char *base; /* arguments of both, behind the command */
    const char *with; /* and of the second */
    aspect aspect;
    const char *what;
} row;

/* On the host all products are fp32, so bf16 is refused by whatever device was chosen. */
#define OF_ALL(command, base)                                                                \
    {command,                                                                                \
     "device",                                                                               \
     base " --precision bf16",                                                               \
     "--device reference",                                                                   \
     SAYS,                                                                                   \
     "device reference: found precision bf16"},                                              \
        {command, "precision", base, "--precision bf16", SAYS, "cpu: found precision bf16"}, \
    {                                                                                        \
        command, "threads", base, "--threads 13", THREADS, "cannot start thread 2 of 13"     \
    }

#define TRAIN "small.yaml --data mnist --epochs 1"
#define SAVE TRAIN " --save m.safetensors"
#define EVALUATE "start.safetensors --data mnist"
#define SCALED "scaled.safetensors --data mnist"
#define ADVISE "small.yaml --data mnist --device cpu --seconds 1"
#define BENCH "cifar100-mlp --quick --steps 1"

/* clang-format off */
static const row rows[] = {
    OF_ALL("train", TRAIN),
    {"train", "data", "plain.yaml --epochs 1", "--data mnist", SAYS, "Epoch 1/1"},
    {"train", "exact-conv", "scaled.yaml --data mnist --save m.safetensors", "--exact-conv", CONTENT, "m.safetensors"},
    {"train", "epochs", "small.yaml --data mnist", "--epochs 2", SAYS, "Epoch 1/2"},
    {"train", "batch", TRAIN, "--batch 12", SAYS, " 5/5 "},
    {"train", "steps", TRAIN, "--steps 4", SAYS, " 4/4 "},
    {"train", "gradient-dtype", SAVE " --shards 2", "--gradient-dtype bf16", CONTENT, "m.safetensors"},
    {"train", "shard-optimizer", TRAIN, "--shard-optimizer", SAYS, "shard-optimizer: found one process"},
    {"train", "shards", SAVE, "--shards 2", CONTENT, "m.safetensors"},
    {"train", "recompute", TRAIN, "--recompute", SAYS, "recompute: found no activations"},
    {"train", "exact", "cifar100-mlp --data pets --epochs 1 --steps 1", "--exact", SAYS, "pets: found images; expected cifar100"},
    {"train", "seed", SAVE, "--seed 2", CONTENT, "m.safetensors"},
    {"train", "learning-rate", SAVE, "--learning-rate 0.5", CONTENT, "m.safetensors"},
    {"train", "sweep", TRAIN, "--sweep seed=1,2", SAYS, "run 2 of 2: seed=2: "},
    {"train", "jobs", TRAIN, "--jobs 2", SAYS, "found --jobs alone"},
    {"train", "fraction", TRAIN, "--fraction 0.5", SAYS, "fraction 0.5 of each class: 30 of 60"},
    {"train", "classes", TRAIN, "--classes old", SAYS, "--classes: found \"old\"; expected new"},
    {"train", "init", SAVE, "--init start.safetensors", CONTENT, "m.safetensors"},
    {"train", "skip", SAVE " --init start.safetensors", "--skip dense", CONTENT, "m.safetensors"},
    {"train", "freeze", SAVE, "--freeze dense", CONTENT, "m.safetensors"},
    {"train", "names", TRAIN " --init start.safetensors", "--names torch", SAYS, "expected names that end in weight"},
    {"train", "no-save", TRAIN, "--no-save", MAKES, "small.safetensors"},
    {"train", "max-time", TRAIN, "--max-time 0.00001s", SAYS, "--max-time 0.00001s: stopped after step 1 of epoch 1, saved small"},
    {"train", "save", TRAIN, "--save m.safetensors", MAKES, "m.safetensors"},
    {"train", "resume", "small.yaml --data mnist", "--resume start.safetensors", SAYS, "saved start.safetensors"},
    {"train", "html", TRAIN, "--html t.html", MAKES, "t.html"},
    {"train", "plot", TRAIN, "--plot", DRAWS, "\n          loss"},
    {"train", "output", "logged.yaml --data mnist", "--output there", MAKES, "there/l.csv"},
    {"train", "log", TRAIN, "--log l.csv", MAKES, "l.csv"},
    {"train", "log-steps", TRAIN " --steps 2 --log l.csv", "--log-steps", HEADING, "l.csv"},
    {"train", "tensorboard", TRAIN, "--tensorboard tb", MAKES, "tb/train"},
    {"train", "workers", "pets.yaml --epochs 100000000 --threads 1", "--workers 11", ALIVE, "Epoch 1/"},
    {"train", "cache", "pets.yaml", "--cache file", MAKES, "pets.pixels"},
    {"train", "strict", "pets.yaml", "--strict", SAYS, "strict: found 1 such file "},
    {"train", "quiet", TRAIN, "--quiet", SAYS, "Epoch 1/1"},
    {"new", "data", "made", "--data pets", SAYS, "wrote made.yaml"},
    OF_ALL("evaluate", EVALUATE),
    {"evaluate", "data", "start.safetensors", "--data other", SAYS, "3/3 "},
    {"evaluate", "exact-conv", SCALED, "--exact-conv", SCORES, NULL},
    {"evaluate", "batch", EVALUATE, "--batch 5", SAYS, "4/4 "},
    {"evaluate", "report", EVALUATE, "--report", SAYS, "macro avg"},
    {"evaluate", "misclassified", EVALUATE, "--misclassified s.png", MAKES, "s.png"},
    {"evaluate", "top", EVALUATE " --report r.json", "--top 2", CONTENT, "r.json"},
    OF_ALL("predict", EVALUATE),
    {"predict", "data", "start.safetensors", "--data other", SAYS, "\n29  ("},
    {"predict", "count", EVALUATE, "--count 3", SAYS, "\n3  ("},
    {"predict", "top", EVALUATE, "--top 4", SCORES, NULL},
    {"predict", "csv", EVALUATE, "--csv p.csv", MAKES, "p.csv"},
    {"predict", "json", EVALUATE, "--json p.json", MAKES, "p.json"},
    {"predict", "null", EVALUATE, "--null", SAYS, "found --null alone"},
    {"predict", "exact-conv", SCALED, "--exact-conv", SCORES, NULL},
    {"predict", "batch", "large.safetensors --data large.npz", "--batch 300000", SAYS, "with batch 300000: needs"},
    {"convert", "recipe", "start.safetensors c.safetensors", "--recipe mnist-cnn-2", SAYS, "found no conv2d/kernel"},
    {"convert", "names", "start.safetensors c.safetensors", "--names torch", CONTENT, "c.safetensors"},
    {"convert", "preprocess", "start.safetensors m.onnx", "--preprocess", CONTENT, "m.onnx"},
    {"summary", "expand-nested", "within.yaml", "--expand-nested", SAYS, "inner (Dense)"},
    OF_ALL("explain", "small.yaml"),
    {"explain", "exact-conv", "scaled.yaml", "--exact-conv", SAYS, "exact convolution is asked for"},
    {"explain", "batch", "small.yaml", "--batch 7", SAYS, "7x28x28x1"},
    {"explain", "recompute", "small.yaml", "--recompute", SAYS, "recomputation: "},
    {"explain", "ranks", "small.yaml", "--ranks 2", SAYS, "all_reduce"},
    {"explain", "shard-optimizer", "small.yaml --ranks 2", "--shard-optimizer", SAYS, "reduce_scatter"},
    {"explain", "gradient-dtype", "small.yaml --ranks 2", "--gradient-dtype bf16", SAYS, "  bf16 "},
    {"explain", "run", "small.yaml", "--run", SAYS, "is this machine's limit"},
    {"tune", "device", "", "--device cpu", SAYS, "has nothing to tune"},
    {"tune", "quick", "--device cpu --rounds 3", "--quick", SAYS, "--quick and --rounds"},
    {"tune", "rounds", "--device cpu --quick", "--rounds 3", SAYS, "--quick and --rounds"},
    {"bench", "device", "mnist-cnn-2 --quick --data bad", "--device reference", SAYS, "mnist-cnn-2 on reference: "},
    {"bench", "precision", "mnist-cnn-2 --quick --data bad", "--precision fp64", SAYS, "--precision fp64"},
    {"bench", "threads", BENCH, "--threads 13", THREADS, "cannot start thread 2 of 13"},
    {"bench", "exact-conv", "mnist-cnn-2 --quick --steps 1 --batch 2 --json out.json", "--exact-conv", LINE, "\"flops_run\""},
    {"bench", "recompute", "mnist-cnn-2 --quick --steps 1 --batch 2 --json out.json", "--recompute", LINE, "\"recompute\""},
    {"bench", "quick", "mnist-cnn-2 --data missing", "--quick=1", SAYS, "--quick"},
    {"bench", "steps", "mnist-cnn-2 --data missing", "--steps 0", SAYS, "--steps"},
    {"bench", "batch", "mnist-cnn-2 --quick --sweep batch --data bad", "--batch 3", SAYS, "--sweep and --batch"},
    {"bench", "data", "mnist-cnn-2 --json no/such/file", "--data missing", SAYS, "missing"},
    {"bench", "json", BENCH " --batch 1", "--json out.json", MAKES, "out.json"},
    {"bench", "sweep", "mnist-cnn-2 --quick --batch 3 --data bad", "--sweep batch", SAYS, "--sweep and --batch"},
    {"bench", "baseline", BENCH, "--baseline missing.json", SAYS, "missing.json"},
    {"bench", "html", BENCH " --batch 1", "--html b.html", MAKES, "b.html"},
    {"bench", "markdown", BENCH " --batch 1", "--markdown b.md", MAKES, "b.md"},
    {"bench", "csv", BENCH " --batch 1", "--csv b.csv", MAKES, "b.csv"},
    {"bench", "ranks", "mnist-cnn-2 --forecast IB", "--ranks", SAYS, "as mpirun -n 2 starts"},
    {"bench", "gradient-dtype", "mnist-cnn-2 --ranks", "--gradient-dtype fp8", SAYS, "gradient_dtype: found fp8"},
    {"bench", "shard-optimizer", "mnist-cnn-2 --quick --data bad", "--shard-optimizer", SAYS, "found --shard-optimizer without --ranks"},
    {"bench", "forecast", "mnist-cnn-2 --ranks", "--forecast 3GbE", SAYS, "3GbE"},
    {"advise", "device", ADVISE, "--device nothing", SAYS, "nothing"},
    {"advise", "precision", ADVISE, "--precision fp64", SAYS, "--precision fp64"},
    {"advise", "exact-conv", "scaled.yaml --data mnist --device cpu --seconds 1 --sweep batch=2 --json out.json", "--exact-conv", LINE, "\"exact_convolution\""},
    {"advise", "recompute", "scaled.yaml --data mnist --device cpu --seconds 1 --sweep batch=2 --json out.json", "--recompute", LINE, "\"recompute\""},
    {"advise", "threads", ADVISE, "--threads 13", THREADS, "cannot start thread 2 of 13"},
    {"advise", "data", "small.yaml --device cpu --seconds 1", "--data missing", SAYS, "missing"},
    {"advise", "epochs", ADVISE, "--epochs 77", SAYS, "sequential: 77 epochs"},
    {"advise", "batch", ADVISE, "--batch 13", SAYS, "steps, batch 13;"},
    {"advise", "price", ADVISE, "--price cpu=0.08/h", SAYS, " cost "},
    {"advise", "sweep", ADVISE, "--sweep batch=nothing", SAYS, "nothing"},
    {"advise", "seconds", ADVISE, "--seconds 0", SAYS, "--seconds"},
    {"advise", "json", ADVISE, "--json out.json", MAKES, "out.json"},
    {"advise", "html", ADVISE, "--html a.html", MAKES, "a.html"},
    {"devices", "names", "", "--names", SAYS, "cpu\n"},
    {"devices", "json", "", "--json", SAYS, "\"available\": true"},
    {"data", "split", "show ./mnist", "--split test", SAYS, "test sample 0"},
    {"data", "png", "show ./mnist", "--png s.png", MAKES, "s.png"},
    {"data", "augment", "show ./mnist --png s.png", "--augment turned.yaml", CONTENT, "s.png"},
    {"data", "seed", "show ./mnist --png s.png --augment turned.yaml", "--seed 2", CONTENT, "s.png"},
};
/* clang-format on */
enum { ROWS = sizeof rows / sizeof *rows };

/* ---- running ---------------------------------------------------------------------------- */

/* COMMAND and the words of `base` and `with`, in arguments[64]; they point into `text`. */
static void split(const row *r, bool with, char *text, size_t size, const char **arguments)
{
    char *rest = NULL;
    int count = 0;
    snprintf(text, size, "%s %s %s", r->command, r->base, with ? r->with : "");
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        arguments[count++] = word;
    arguments[count] = NULL;
}

/* The stack of a new thread is as large as this limit: more than there are addresses. */
static void forbid_threads(bool forbid)
{
    static struct rlimit before;
    struct rlimit huge;
    if (forbid) {
        assert_int_equal(getrlimit(RLIMIT_STACK, &before), 0);
        huge = (struct rlimit){.rlim_cur = (rlim_t)1 << 46, .rlim_max = before.rlim_max};
        if (setrlimit(RLIMIT_STACK, &huge) != 0)
            fail_msg("the stack's hard limit is %llu bytes; expected none (ulimit -Hs)",
                     (unsigned long long)before.rlim_max);
    } else {
        assert_int_equal(setrlimit(RLIMIT_STACK, &before), 0);
    }
}

static char *copy(const char *text, size_t length)
{
    char *bytes = malloc(length + 1);
    memcpy(bytes, text, length);
    bytes[length] = 0;
    return bytes;
}

/* The bytes of a file in hexadecimal; "none" where it is not there. */
static char *hex_of(const char *name)
{
    FILE *f = fopen(scratch_path(name), "rb");
    char *text = NULL;
    size_t size = 0;
    if (!f)
        return copy("none", 4);
    FILE *out = open_memstream(&text, &size);
    for (int c; (c = fgetc(f)) != EOF;)
        fprintf(out, "%02x", (unsigned)c);
    fclose(out);
    fclose(f);
    return text;
}

static char *line_of(const char *name, const char *what)
{
    char line[512], *found = NULL;
    FILE *f = fopen(scratch_path(name), "r");
    while (f && !found && fgets(line, sizeof line, f))
        if (strstr(line, what))
            found = copy(line, strlen(line));
    if (f)
        fclose(f);
    return found ? found : copy("none", 4);
}

/* Of the first line: behind the time that a step took, where it says that. */
static char *scores_of(const char *out)
{
    size_t length = strcspn(out, "\n");
    char *line = copy(out, length), *time = strstr(line, "/step");
    char *scores = copy(time ? time : line, strlen(time ? time : line));
    free(line);
    return scores;
}

static char *threads_alive(const char *const *arguments, const char *what)
{
    char path[64], line[256], *found = NULL;
    program p = program_start(arguments);
    if (!program_says(&p, what))
        fail_msg("%s: did not say %s", arguments[0], what);
    snprintf(path, sizeof path, "/proc/%d/status", (int)p.pid);
    FILE *f = fopen(path, "r");
    while (f && !found && fgets(line, sizeof line, f))
        if (strncmp(line, "Threads:", 8) == 0)
            found = copy(line, strlen(line));
    if (f)
        fclose(f);
    kill(p.pid, SIGKILL);
    program_finish(&p);
    program_free(&p);
    return found ? found : copy("none", 4);
}

static char *drawn_on_terminal(const char *const *arguments, const char *what)
{
    static char text[1 << 16];
    int master, slave;
    size_t size = 0;
    const struct winsize window = {.ws_row = 30, .ws_col = 100};
    assert_int_equal(openpty(&master, &slave, NULL, NULL, &window), 0);
    setenv("TERM", "xterm", 1);
    program p = program_start_into(arguments, slave);
    close(slave);
    ssize_t n = 1;
    while (n > 0 && size + 1 < sizeof text) {
        n = read(master, text + size, sizeof text - 1 - size);
        size += n > 0 ? (size_t)n : 0;
    }
    text[size] = 0;
    close(master);
    program_finish(&p);
    program_free(&p);
    return strstr(text, what) ? copy("says so", 7) : copy("does not", 8);
}

/* ---- looking ---------------------------------------------------------------------------- */

static char *look(const row *r, const program *p)
{
    bool says = p && r->what && (strstr(p->out, r->what) || strstr(p->err, r->what));
    switch (r->aspect) {
    case MAKES: {
        char *hex = hex_of(r->what);
        bool none = strcmp(hex, "none") == 0;
        free(hex);
        return none ? copy("no file", 7) : copy("a file", 6);
    }
    case CONTENT:
        return hex_of(r->what);
    case HEADING:
        return line_of(r->what, "");
    case LINE:
        return line_of("out.json", r->what);
    case SCORES:
        return scores_of(p->out);
    default:
        return says ? copy("says so", 7) : copy("does not", 8);
    }
}

static char *observe(const row *r, bool with)
{
    const char *arguments[64];
    char text[512];
    split(r, with, text, sizeof text, arguments);
    if (r->aspect == ALIVE)
        return threads_alive(arguments, r->what);
    if (r->aspect == DRAWS)
        return drawn_on_terminal(arguments, r->what);
    if (r->aspect == MAKES || r->aspect == CONTENT || r->aspect == HEADING)
        remove(scratch_path(r->what));
    remove(scratch_path("out.json"));
    if (r->aspect == THREADS)
        forbid_threads(true);
    program p = program_run(arguments);
    if (r->aspect == THREADS)
        forbid_threads(false);
    char *seen = look(r, &p);
    program_free(&p);
    return seen;
}

/* What would change without the option, too, shows nothing. */
static bool is_settled(const row *r, const char *without)
{
    if (r->aspect != CONTENT && r->aspect != SCORES)
        return true;
    char *again = observe(r, false);
    bool same = strcmp(without, again) == 0 && strcmp(without, "none") != 0 && *without;
    free(again);
    return same;
}

/* Rows that make files, and differ in their option alone, share one run without it: bench measures
   the machine in each. */
static bool shares_run(int i, int j)
{
    const row *a = &rows[i], *b = &rows[j];
    return a->aspect == MAKES && b->aspect == MAKES && strcmp(a->command, b->command) == 0 &&
           strcmp(a->base, b->base) == 0;
}

static char *observe_without(int i)
{
    if (i > 0 && shares_run(i - 1, i))
        return look(&rows[i], NULL);
    for (int j = i + 1; j < ROWS && shares_run(i, j); j++)
        remove(scratch_path(rows[j].what));
    return observe(&rows[i], false);
}

/* A row that no terminal can be opened for is told, and left out. */
static bool can_run(const row *r)
{
    bool can = r->aspect != DRAWS || terminal_can_be_opened();
    if (!can)
        print_message("cornu %s %s: skipped: no terminal can be opened here\n", r->command,
                      r->with);
    return can;
}

/* Does it take steps until their time is known? With a sanitizer that is seconds. */
static bool measures(const row *r)
{
    return strcmp(r->command, "bench") == 0 && (r->aspect == MAKES || r->aspect == LINE);
}

static void every_option_changes_what_its_command_does(void **state)
{
    (void)state;
    int failures = 0;
    for (int i = 0; SANITIZED && i < ROWS; i++) /* what is said is the same as in other builds */
        if (!measures(&rows[i]) && can_run(&rows[i]))
            free(observe(&rows[i], true));
    for (int i = 0; !SANITIZED && i < ROWS; i++) {
        if (!can_run(&rows[i]))
            continue;
        char *without = observe_without(i), *with = observe(&rows[i], true);
        bool settled = is_settled(&rows[i], without);
        if (!settled || strcmp(without, with) == 0) {
            print_error("cornu %s %s, with and without %s: found %s (%.200s); expected a "
                        "difference\n",
                        rows[i].command, rows[i].base, rows[i].with,
                        settled ? "the same" : "no two runs alike", without);
            failures++;
        }
        free(without);
        free(with);
    }
    assert_int_equal(failures, 0);
}

/* ---- the list of options ---------------------------------------------------------------- */

static int row_of(const char *command, const char *option)
{
    for (int i = 0; i < ROWS; i++)
        if (strcmp(rows[i].command, command) == 0 && strcmp(rows[i].option, option) == 0)
            return i;
    return -1;
}

/* Calls `take` with the first word behind `prefix` of each line that begins with it. */
static void each_word(const char *text, const char *prefix,
                      void (*take)(const char *word, void *context), void *context)
{
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        const char *word = line + strlen(prefix);
        if (strncmp(line, prefix, strlen(prefix)) != 0 || strspn(word, " \n") > 0)
            continue;
        char *name = copy(word, strcspn(word, " \n"));
        take(name, context);
        free(name);
    }
}

typedef struct coverage {
    const char *command;
    int commands, options, failures;
    bool seen[ROWS];
} coverage;

static void take_option(const char *option, void *context)
{
    coverage *c = context;
    int i = row_of(c->command, option);
    c->options++;
    if (i >= 0)
        c->seen[i] = true;
    else
        print_error("cornu %s --%s: found no row of this test; expected one\n", c->command, option);
    c->failures += i < 0;
}

static void take_command(const char *command, void *context)
{
    coverage *c = context;
    program help = program_run(ARGUMENTS(command, "--help"));
    assert_int_equal(help.status, 0);
    c->command = command;
    c->commands++;
    each_word(help.out, "  --", take_option, c);
    program_free(&help);
}

static void every_option_that_help_lists_has_a_row_here(void **state)
{
    (void)state;
    coverage c = {.commands = 0};
    program usage = program_run(ARGUMENTS("--help"));
    each_word(usage.out, "  ", take_command, &c);
    program_free(&usage);
    for (int i = 0; i < ROWS; i++) {
        if (!c.seen[i])
            print_error("cornu %s --%s: found a row, but no such option\n", rows[i].command,
                        rows[i].option);
        c.failures += !c.seen[i];
    }
    assert_true(c.commands >= 9 && c.options >= 40);
    assert_int_equal(c.failures, 0);
}

/* ---- what the rows need ------------------------------------------------------------------ */

static const char model_and_fit[] =
    "model: {input: [28, 28, 1], layers: [Flatten, {Dense: {units: 10, activation: softmax}}]}\n"
    "compile: {optimizer: sgd, loss: categorical_crossentropy, metrics: [accuracy]}\n"
    "fit: {batch_size: 10, epochs: 3}\n";

static const char logged[] =
    "model: {input: [28, 28, 1], layers: [Flatten, {Dense: {units: 10, activation: softmax}}]}\n"
    "compile: {optimizer: sgd, loss: categorical_crossentropy}\n"
    "fit: {epochs: 1, callbacks: [{csv_logger: {path: l.csv}}]}\n";

/* Outputs and loss so large that their last bits are printed. */
static const char scaled[] =
    "data: {name: mnist, scale: 1}\n"
    "model: {input: [28, 28, 1], layers: [{Conv2D: {filters: 16, kernel_size: 5}},"
    " {Conv2D: {filters: 16, kernel_size: 3}}, Flatten, {Dense: {units: 10}}]}\n"
    "compile: {optimizer: {sgd: {learning_rate: 1.0e-12}}, loss: mean_squared_error}\n"
    "fit: {batch_size: 10, epochs: 1, validation: false}\n";

static const char pets[] =
    "data: {folder: pets}\n"
    "model: {input: [4, 4, 1], layers: [Flatten, {Dense: {units: 2, activation: softmax}}]}\n"
    "compile: {optimizer: sgd, loss: categorical_crossentropy}\n";

static const char within[] = "model: {input: [4, 4, 1], layers: [Flatten, {Model: {name: tower, "
                             "layers: [{Dense: {units: 2, name: inner}}]}}]}\n";

static void write_recipe(const char *name, const char *data, const char *rest)
{
    char text[1024];
    int length = snprintf(text, sizeof text, "%s%s", data, rest);
    scratch_write(name, text, (size_t)length);
}

/* Samples so many, and so large within the network, that no machine predicts 300,000 at once. */
static const char large[] = "model: {input: [1, 1, 1], layers: [{ZeroPadding2D: {padding: 790}},"
                            " GlobalAveragePooling2D, {Dense: {units: 2}}]}\n"
                            "compile: {optimizer: sgd, loss: mean_squared_error}\n"
                            "fit: {batch_size: 400000}\n";

static int make_large(void)
{
    enum { COUNT = 400000 };
    static const uint8_t zeros[COUNT];
    const file_tensor t[2] = {{.name = "x_train",
                               .type = ELEMENT_U8,
                               .rank = 3,
                               .shape = {COUNT, 1, 1},
                               .count = COUNT,
                               .data = zeros},
                              {.name = "y_train",
                               .type = ELEMENT_U8,
                               .rank = 1,
                               .shape = {COUNT},
                               .count = COUNT,
                               .data = zeros}};
    cornu_model *model = NULL;
    bool failed = npz_write(scratch_path("large.npz"), t, 2) ||
                  cornu_model_parse(large, "large", &model) || cornu_model_initialize(model, 1) ||
                  cornu_model_save(model, scratch_path("large.safetensors"));
    cornu_model_close(model);
    return failed;
}

static int make_files(void)
{
    if (make_large())
        return -1;
    write_recipe("small.yaml", "data: mnist\n", model_and_fit);
    write_recipe("plain.yaml", "", model_and_fit);
    write_recipe("logged.yaml", "", logged);
    write_recipe("turned.yaml", "data: {name: mnist, augment: {rotation_range: 90}}\n",
                 model_and_fit);
    write_recipe("scaled.yaml", "", scaled);
    write_recipe("pets.yaml", "", pets);
    write_recipe("within.yaml", "", within);
    made_mnist("mnist", 60, 20, 0);
    made_mnist("other", 60, 30, 0);
    made_mnist("bad", 60, 30, 0);
    made_file("bad/train-images-idx3-ubyte", "damaged", 7);
    made_file("pets/dog/1.pgm", "P5 1 1 255\n\xff", 12);
    made_file("pets/cat/1.pgm", "P5 1 1 255\n\x20", 12);
    made_file("pets/cat/notes.jpg", "none", 4);
    static const char *const made[] = {"start.safetensors", "scaled.safetensors"};
    static const char *const recipes[] = {"small.yaml", "scaled.yaml"};
    for (int i = 0; i < 2; i++) {
        program p = program_run(ARGUMENTS("train", recipes[i], "--data", "mnist", "--epochs", "1",
                                          "--seed", "7", "--save", made[i]));
        int status = p.status;
        program_free(&p);
        if (status != 0)
            return -1;
    }
    return 0;
}

static int open_folder(void **state)
{
    return made_open(state) || make_files() ? -1 : 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_option_that_help_lists_has_a_row_here, made_open,
                                        scratch_close),
        cmocka_unit_test_setup_teardown(every_option_changes_what_its_command_does, open_folder,
                                        scratch_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
