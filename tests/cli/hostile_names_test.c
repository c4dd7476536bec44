/* Names from outside cannot command a terminal: whatever files, classes, models and layers are
   called, no command prints a control character of theirs, nor a line of its own for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/made.h"
#include "support/program.h"
#include "support/scratch.h"
#include "support/terminal.h"
#include <cornu/tables.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ESC and CSI sequences, C1 as UTF-8 and as a byte, DEL, text turned around, a line of its own. */
#define EVIL "x\033[31m\302\2332J\233\177\r\342\200\256\nFAKE: done"
#define EVIL_YAML "x\\e[31m\\u009b2J\\x7f\\r\\u202e\\nFAKE: done"

static char folder[600], picture[700], broken[700], model[600], recipe[600], table[600];

static const char recipe_text[] =
    "name: \"" EVIL_YAML "\"\n"
    "data: {folder: f, image_size: 4, augment: {horizontal_flip: true}}\n"
    "model: {name: \"" EVIL_YAML
    "\", input: [4, 4, 1], layers: [{Flatten: {name: \"x\\u009b2J\\u202e\"}}, {Dense: {units: 2, "
    "activation: softmax}}]}\n"
    "compile: {optimizer: sgd, loss: sparse_categorical_crossentropy, metrics: [accuracy]}\n"
    "fit: {epochs: 2, batch_size: 2, callbacks: [{early_stopping: {monitor: loss, min_delta: 9, "
    "patience: 1}}]}\n";

static int open_names(void **state)
{
    if (made_open(state) != 0)
        return -1;
    snprintf(folder, sizeof folder, "%s", EVIL "-data");
    snprintf(picture, sizeof picture, "%s/" EVIL "-a/" EVIL "1.pgm", folder);
    snprintf(broken, sizeof broken, "%s/" EVIL "-a/" EVIL "2.pgm", folder);
    snprintf(model, sizeof model, "%s", EVIL ".safetensors");
    snprintf(recipe, sizeof recipe, "%s", EVIL ".yaml");
    snprintf(table, sizeof table, "%s", EVIL ".csv");
    made_grey(picture, 9);
    made_grey(broken, 9);
    if (truncate(scratch_path(broken), 11) != 0)
        return -1;
    char other[700];
    snprintf(other, sizeof other, "%s/" EVIL "-b/3.pgm", folder);
    made_grey(other, 200);
    scratch_write(recipe, recipe_text, sizeof recipe_text - 1);
    return 0;
}

/* Take the program's own ways to redraw a line out of what it wrote on a terminal. */
static void drop(char *text, const char *sequence)
{
    size_t length = strlen(sequence);
    for (char *at = text; (at = strstr(at, sequence));)
        memmove(at, at + length, strlen(at + length) + 1);
}

/* Every line is as cornu_printable would show it, and none is a name's. */
static void expect_tame(const char *text)
{
    static char shown[1 << 16];
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        char *copy = strndup(line, length);
        assert_true(cornu_printable(copy, shown, sizeof shown) < sizeof shown);
        if (strcmp(copy, shown) != 0)
            fail_msg("found a line that would be shown as: %s", shown);
        if (strncmp(copy, "FAKE", 4) == 0)
            fail_msg("found the name's own line in: %s", text);
        free(copy);
        line += length + (line[length] != 0);
    }
}

/* `named`: the name must have been printed, with its escapes. */
static void run_tame(const char *const *arguments, int status, bool named)
{
    program p = program_run(arguments);
    if (p.status != status)
        fail_msg("%s: found status %d (%s); expected %d", arguments[0], p.status, p.err, status);
    expect_tame(p.out);
    expect_tame(p.err);
    if (named && !strstr(p.out, "\\x1b[31m") && !strstr(p.err, "\\x1b[31m"))
        fail_msg("%s: found no name in: %s%s", arguments[0], p.out, p.err);
    program_free(&p);
}

static void no_command_prints_a_control_character_of_a_name(void **state)
{
    (void)state;
    run_tame(ARGUMENTS("summary", recipe), 0, true);
    run_tame(ARGUMENTS("explain", recipe), 0, false);
    run_tame(ARGUMENTS("train", recipe, "--data", folder, "--save", model, "--log", table), 0,
             true);
    run_tame(ARGUMENTS("summary", model), 0, true);
    run_tame(ARGUMENTS("explain", model), 0, false);
    run_tame(ARGUMENTS("train", "--resume", model, "--data", folder), 0, true);
    run_tame(ARGUMENTS("evaluate", model, "--data", folder), 0, true);
    run_tame(ARGUMENTS("evaluate", model, "--data", folder, "--report", EVIL ".json", "--report",
                       EVIL ".png", "--misclassified", EVIL "-wrong.png"),
             0, true);
    run_tame(ARGUMENTS("predict", model, picture), 0, true);
    run_tame(ARGUMENTS("predict", model, broken, "no/" EVIL ".png"), 1, true);
    run_tame(ARGUMENTS("predict", model, "--data", folder), 0, true);
    run_tame(ARGUMENTS("data", "show", folder), 0, true);
    run_tame(ARGUMENTS("data", "show", folder, "--png", EVIL ".png"), 0, true);
    run_tame(ARGUMENTS("data", "show", folder, "--augment", recipe, "--png", "sheet.png"), 0, true);
    setenv("CORNU_DATA", scratch_path(folder), 1);
    run_tame(ARGUMENTS("env"), 0, true);
    run_tame(ARGUMENTS("data", "list"), 0, false);
    run_tame(ARGUMENTS("data", "show", "mnist"), 1, true);
    unsetenv("CORNU_DATA");
}

static void no_error_prints_one_either(void **state)
{
    (void)state;
    static const char *const commands[] = {"bench",   "train",   "evaluate", "predict", "summary",
                                           "explain", "devices", "data",     "env"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        program p = program_run(ARGUMENTS(commands[i], EVIL, EVIL));
        assert_int_not_equal(p.status, 0);
        expect_tame(p.out);
        expect_tame(p.err);
        assert_int_equal(count_lines(p.err), 1);
        assert_non_null(strstr(p.err, "\\x1b[31m"));
        program_free(&p);
        run_tame(ARGUMENTS(commands[i], "--" EVIL), 2, true);
    }
    run_tame(ARGUMENTS(EVIL), 2, true);
    run_tame(ARGUMENTS("tune", "--device", EVIL), 2, true);
    run_tame(ARGUMENTS("data", "get", EVIL), 1, true);
    run_tame(ARGUMENTS("bench", "--data", EVIL), 1, true);
    run_tame(ARGUMENTS("train", "mnist-cnn-2", "--save", EVIL "/m.safetensors"), 1, true);
    run_tame(ARGUMENTS("train", "mnist-cnn-2", "--device", EVIL), 2, true);
    run_tame(ARGUMENTS("train", "mnist-cnn-2", "--epochs", EVIL), 2, true);
    static const char wrong[] = "model: {input: [4], layers: [\"" EVIL_YAML "\"]}\n";
    scratch_write("wrong.yaml", wrong, sizeof wrong - 1);
    run_tame(ARGUMENTS("summary", "wrong.yaml"), 1, true);
    scratch_write("wrong.yaml", "model: " EVIL, sizeof "model: " EVIL - 1);
    run_tame(ARGUMENTS("summary", "wrong.yaml"), 1, false);
}

/* A terminal of 80 columns, on which the program redraws its lines. */
static void on_a_terminal_only_lines_are_redrawn(void **state)
{
    (void)state;
    static char seen[1 << 16];
    size_t size = 0;
    terminal_needed();
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    assert_true(slave >= 0);
    setenv("TERM", "xterm", 1);
    program p =
        program_start_into(ARGUMENTS("train", recipe, "--data", folder, "--save", model), slave);
    close(slave);
    for (ssize_t n;
         size < sizeof seen - 1 && (n = read(master, seen + size, sizeof seen - 1 - size)) > 0;)
        size += (size_t)n;
    close(master);
    program_finish(&p);
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(seen, "\033[K")); /* it did redraw */
    drop(seen, "\033[K");
    drop(seen, "\r\n"); /* the terminal's ends of lines */
    drop(seen, "\r");
    drop(seen, "\n");
    expect_tame(seen);
    assert_non_null(strstr(seen, "\\x1b[31m"));
    program_free(&p);
}

/* A table of numbers stays one: what a recipe names is quoted. */
static void files_of_numbers_hold_none_either(void **state)
{
    (void)state;
    run_tame(ARGUMENTS("train", recipe, "--data", folder, "--log", table, "--quiet"), 0, false);
    FILE *f = fopen(scratch_path(table), "rb");
    static char content[1 << 16];
    assert_non_null(f);
    content[fread(content, 1, sizeof content - 1, f)] = 0;
    fclose(f);
    expect_tame(content);
    run_tame(ARGUMENTS("devices", "--json"), 0, false);
}

/* The recipe's own files go where the command line says. */
static void output_is_where_the_recipes_own_files_go(void **state)
{
    (void)state;
    static const char text[] =
        "data: {folder: f, image_size: 4}\nmodel: {input: [4, 4, 1], layers: [Flatten, {Dense: "
        "{units: 2, activation: softmax}}]}\ncompile: {optimizer: sgd, loss: "
        "sparse_categorical_crossentropy}\nfit: {callbacks: [{csv_logger: {path: l.csv}}, "
        "{ModelCheckpoint: {filepath: '{epoch:02d}.safetensors'}}]}\n";
    scratch_write("o.yaml", text, sizeof text - 1);
    run_tame(ARGUMENTS("train", "o.yaml", "--data", folder, "--output", "out/here", "--quiet"), 0,
             false);
    assert_int_equal(access(scratch_path("out/here/l.csv"), F_OK), 0);
    assert_int_equal(access(scratch_path("out/here/01.safetensors"), F_OK), 0);
    assert_int_not_equal(access(scratch_path("l.csv"), F_OK), 0);
    run_tame(ARGUMENTS("train", "o.yaml", "--data", folder, "--quiet"), 0, false);
    assert_int_equal(access(scratch_path("l.csv"), F_OK), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_names, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(no_command_prints_a_control_character_of_a_name),
        TEST(no_error_prints_one_either),
        TEST(on_a_terminal_only_lines_are_redrawn),
        TEST(files_of_numbers_hold_none_either),
        TEST(output_is_where_the_recipes_own_files_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
