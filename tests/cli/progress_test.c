/* Progress lines on a terminal: the program's own functions, with a terminal as standard output. */
#include "cli/cli.h" /* before cmocka, which has a macro `fail` */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <locale.h>
#include <math.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "support/terminal.h"

/* ---- a terminal -------------------------------------------------------------------------- */

static int master, outputs[2]; /* and what standard output and error were */

static int open_terminal(void **state)
{
    (void)state;
    int slave;
    struct winsize size = {.ws_row = 24, .ws_col = 160};
    struct termios plain;
    terminal_needed();
    if (openpty(&master, &slave, NULL, NULL, &size) != 0 || tcgetattr(slave, &plain) != 0)
        return -1;
    cfmakeraw(&plain); /* newlines stay as they are */
    tcsetattr(slave, TCSANOW, &plain);
    setenv("TERM", "xterm", 1);
    fflush(stdout);
    for (int i = 0; i < 2; i++) {
        outputs[i] = dup(STDOUT_FILENO + i);
        dup2(slave, STDOUT_FILENO + i);
    }
    close(slave);
    return 0;
}

/* What the terminal was sent, as a string; standard output is what it was again. */
static const char *close_terminal(void)
{
    static char text[1 << 16];
    size_t size = 0;
    fflush(stdout);
    (void)!write(STDOUT_FILENO, "\x04", 1); /* the end: the descriptors that close tell nothing */
    while (size == 0 || text[size - 1] != '\x04') {
        ssize_t n = read(master, text + size, sizeof text - 1 - size);
        if (n <= 0)
            break;
        size += (size_t)n;
    }
    text[size > 0 ? size - 1 : 0] = 0;
    for (int i = 0; i < 2; i++) {
        dup2(outputs[i], STDOUT_FILENO + i);
        close(outputs[i]);
    }
    close(master);
    return text;
}

/* ---- lines ------------------------------------------------------------------------------- */

static void steps_say_what_time_is_left(void **state)
{
    static const struct {
        cornu_progress now;
        const char *expected;
    } cases[] = {
        {{.step = 100, .steps = 1000, .seconds = 10}, " 1:30 100ms/step"},
        {{.step = 100, .steps = 690, .seconds = 10}, " 59s 100ms/step"},
        {{.step = 10, .steps = 3733, .seconds = 10}, " 1:02:03 1s/step"},
        {{.step = 10, .steps = 36010, .seconds = 10}, " 10:00:00 1s/step"},
        {{.step = 1, .steps = 61, .seconds = 1}, " 1:00 1s/step"},
        {{.step = 500, .steps = 1000, .seconds = 0.01}, " 0s 20us/step"},
        {{.step = 1000, .steps = 1000, .seconds = 100}, " 100s 100ms/step"},
        /* 200 of the steps were done in 100 s before it was resumed, on another machine maybe */
        {{.step = 220, .steps = 240, .seconds = 106, .resumed_step = 200, .resumed_seconds = 100},
         " 6s 300ms/step"},
        {{.step = 240, .steps = 240, .seconds = 112, .resumed_step = 200, .resumed_seconds = 100},
         " 112s 300ms/step"},
        {{.step = 240, .steps = 240, .seconds = 120, .resumed_step = 240, .resumed_seconds = 96},
         " 120s 500ms/step"},
        /* nothing done since: the steps before tell */
        {{.step = 120, .steps = 240, .seconds = 60, .resumed_step = 120, .resumed_seconds = 60},
         " 1:00 500ms/step"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        progress p;
        assert_int_equal(open_terminal(state), 0);
        progress_open(&p, false);
        cornu_progress now = cases[i].now;
        now.epochs = 3;
        progress_step(&p, &now);
        const char *found = close_terminal();
        if (!strstr(found, cases[i].expected))
            print_error("found %s; expected%s\n", found, cases[i].expected);
        assert_non_null(strstr(found, cases[i].expected));
        assert_non_null(strstr(found, "Epoch 1/3\n\r"));
    }
}

/* "^C" is the terminal's own; the line that was drawn stays as it was. */
static void an_answer_has_a_line_of_its_own_and_ends_the_drawing(void **state)
{
    progress p;
    assert_int_equal(open_terminal(state), 0);
    progress_open(&p, false);
    cornu_progress now = {.step = 5, .steps = 10, .epochs = 2, .seconds = 5};
    progress_step(&p, &now);
    progress_answer(&p, "finishing step 6");
    now.step = 7;
    now.seconds = 7;
    progress_step(&p, &now);
    progress_break(&p);
    char found[1024];
    snprintf(found, sizeof found, "%s", close_terminal());
    const char *line = strstr(found, " 5/10 ");
    assert_non_null(line);
    const char *answer = strstr(line, "\033[K\n\r\033[Kfinishing step 6\n");
    assert_non_null(answer);
    assert_string_equal(answer, "\033[K\n\r\033[Kfinishing step 6\n");
}

/* On a terminal of 160 columns, and of 80; short runs, ends of runs and unknown ones say nothing.
 */
static void long_runs_say_what_is_left_of_them(void **state)
{
    static const double unknown = NAN;
    static const cornu_scores scores = {.size = sizeof scores,
                                        .all_count = 2,
                                        .all_name = {"loss", "accuracy"},
                                        .all_value = {1.0006, 0.5012}};
    static const struct {
        double left, error;
        bool at_most;
        int columns;
        const char *expected; /* NULL: nothing */
    } cases[] = {
        {12000, 600, false, 160, "100ms/step - about 3 h 20 min ±10 min left - loss: 1.0006"},
        {12000, 600, true, 160, "100ms/step - at most 3 h 20 min ±10 min left - loss: 1.0006"},
        {290, 12.4, false, 160, " - about 4 min 50 s ±12 s left - "},
        {12000, 600, false, 80, "9:00 100ms/step - 3 h 20 min left - loss: 1.0006 - accuracy: 0.5"},
        {40, 2, false, 160, NULL},
        {0, 0, false, 160, NULL},
        {unknown, unknown, false, 160, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        progress p;
        assert_int_equal(open_terminal(state), 0);
        struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)cases[i].columns};
        ioctl(STDOUT_FILENO, TIOCSWINSZ, &size);
        progress_open(&p, false);
        cornu_progress now = {.epochs = 3,
                              .step = 600,
                              .steps = 6000,
                              .seconds = 60,
                              .scores = &scores,
                              .left_seconds = cases[i].left,
                              .left_error = cases[i].error,
                              .left_at_most = cases[i].at_most};
        progress_step(&p, &now);
        const char *found = close_terminal();
        bool right = cases[i].expected ? strstr(found, cases[i].expected) != NULL
                                       : strstr(found, " left") == NULL;
        if (!right)
            fail_msg("found %s; expected %s", found, cases[i].expected);
    }
}

/* All of a model's values, also where that is several lines of the terminal. */
static void no_value_is_left_out_at_the_end_of_an_epoch(void **state)
{
    progress p;
    static char names[CORNU_ALL_METRICS_MAX + 1][8];
    cornu_scores s = {.size = sizeof s, .all_count = CORNU_ALL_METRICS_MAX + 1};
    for (int i = 0; i < s.all_count; i++) {
        snprintf(names[i], sizeof names[i], "m%d", i);
        s.all_name[i] = names[i];
        s.all_value[i] = i + 0.25;
    }
    cornu_progress now = {
        .epochs = 1, .step = 5, .steps = 5, .seconds = 1, .scores = &s, .validation = &s};
    assert_int_equal(open_terminal(state), 0);
    progress_open(&p, false);
    progress_epoch(&p, &now);
    const char *found = close_terminal();
    assert_non_null(strstr(found, " - m0: 0.2500 - m1: 1.2500 - "));
    assert_non_null(strstr(found, " - m64: 64.2500 - val_m0: 0.2500 - "));
    assert_non_null(strstr(found, " - val_m64: 64.2500\033[K\n"));
}

/* Below the last epoch; when it moves, the next epoch's heading is written again. */
static void a_plot_moves_down_with_the_epochs(void **state)
{
    progress p;
    static plot curves;
    cornu_scores s = {.size = sizeof s, .all_count = 1, .all_name = {"loss"}, .all_value = {2}};
    cornu_progress now = {.epochs = 2, .step = 5, .steps = 5, .seconds = 1, .scores = &s};
    assert_int_equal(open_terminal(state), 0);
    progress_open(&p, false);
    p.plot = &curves;
    progress_epoch(&p, &now);
    int lines = p.plotted;
    now.epoch = 1;
    now.step = 1;
    progress_step(&p, &now);
    now.step = 5;
    progress_epoch(&p, &now);
    progress_break(&p);
    int left = p.plotted;
    const char *found = close_terminal();
    assert_int_equal(lines, 10);
    assert_int_equal(left, 0); /* it stays */
    char up[64];
    snprintf(up, sizeof up, "\r\033[%dA\033[JEpoch 2/2\n\r", lines + 1);
    const char *erased = strstr(found, up);
    assert_non_null(erased);
    assert_null(strstr(erased + strlen(up), "\033[J"));
}

/* What somebody else printed below it must not be erased. */
static void a_plot_stays_above_what_others_print(void **state)
{
    progress p;
    static plot curves;
    cornu_scores s = {.size = sizeof s, .all_count = 1, .all_name = {"loss"}, .all_value = {2}};
    cornu_progress now = {.epochs = 3, .step = 5, .steps = 5, .seconds = 1, .scores = &s};
    assert_int_equal(open_terminal(state), 0);
    progress_open(&p, false);
    p.plot = &curves;
    progress_epoch(&p, &now);
    progress_notice(&p, "look");
    now.epoch = 1;
    progress_epoch(&p, &now);
    progress_answer(&p, "stopping");
    now.epoch = 2;
    progress_epoch(&p, &now);
    const char *found = close_terminal();
    assert_non_null(strstr(found, "look\n"));
    assert_null(strstr(found, "\033[J"));
}

int main(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_runs_say_what_is_left_of_them),
        cmocka_unit_test(steps_say_what_time_is_left),
        cmocka_unit_test(an_answer_has_a_line_of_its_own_and_ends_the_drawing),
        cmocka_unit_test(no_value_is_left_out_at_the_end_of_an_epoch),
        cmocka_unit_test(a_plot_moves_down_with_the_epochs),
        cmocka_unit_test(a_plot_stays_above_what_others_print),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
