/* Curves in the terminal: the raster by expected pictures, and how they stand among progress lines
   on terminals of several sizes. */
#include "cli/plot.h" /* before cmocka, which has a macro `fail` */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ---- pictures ----------------------------------------------------------------------------- */

static void assert_picture(const raster *r, const char *expected)
{
    char found[1024] = "";
    int used = 0;
    for (int y = 0; y < r->rows; y++) {
        for (int x = 0; x < r->columns; x++)
            used += raster_character(r, x, y, found + used);
        found[used++] = '\n';
    }
    assert_string_equal(found, expected);
}

#define RASTER(columns, rows, braille)                              \
    (raster)                                                        \
    {                                                               \
        columns, rows, braille, (unsigned char[(columns) * (rows)]) \
        {                                                           \
            0                                                       \
        }                                                           \
    }

static void lines_become_dots(void **state)
{
    (void)state;
    const double falling[] = {1, 0}, peak[] = {0, 1, 0}, flat[] = {1, 1};
    raster r = RASTER(4, 2, true);
    raster_curve(&r, falling, 2, 0, 1, false);
    assert_picture(&r, "⠑⢄  \n  ⠑⢄\n");
    r = RASTER(4, 2, true);
    raster_curve(&r, peak, 3, 0, 1, false);
    assert_picture(&r, " ⡜⢣ \n⡜  ⢣\n");
    r = RASTER(4, 2, false);
    raster_curve(&r, falling, 2, 0, 1, false);
    assert_picture(&r, "'.  \n  '.\n");
    r = RASTER(6, 1, false);
    raster_curve(&r, flat, 2, 0, 1, false);
    assert_picture(&r, "''''''\n");
    r = RASTER(6, 1, false);
    raster_curve(&r, flat, 2, 0, 1, true);
    assert_picture(&r, "' ' ' \n");
}

static void what_is_not_finite_is_a_gap(void **state)
{
    (void)state;
    const double values[] = {0, 0, (double)NAN, 0, (double)INFINITY, 0}, one[] = {0.5};
    raster r = RASTER(6, 1, false);
    raster_curve(&r, values, 6, 0, 1, false);
    assert_picture(&r, ".. . .\n");
    r = RASTER(3, 1, false);
    raster_curve(&r, one, 1, 0, 1, false);
    assert_picture(&r, ".  \n");
}

/* Losses that fall, with validation's above; `scores` of them are shown. */
static cornu_progress epoch_of(int64_t epoch, int scores)
{
    static cornu_scores training, validation;
    training = validation = (cornu_scores){.count = scores, .name = {"loss", "accuracy", "mae"}};
    for (int i = 0; i < scores; i++) {
        training.value[i] = 1.0 / (double)(epoch + 1);
        validation.value[i] = 1.5 / (double)(epoch + 1);
    }
    return (cornu_progress){.epoch = epoch,
                            .epochs = 4,
                            .step = 9,
                            .steps = 9,
                            .seconds = 9,
                            .scores = &training,
                            .validation = &validation};
}

static void a_panel_is_drawn_as_expected(void **state)
{
    (void)state;
    static const char expected[] = "loss 0.25, dotted val 0.375\n"
                                   "     1.5|'.\n"
                                   "        |  ' .\n"
                                   "        |'.    '  .\n"
                                   "        |  '...     ' ' .  . .\n"
                                   "    0.25|       '''':.........:.\n"
                                   "   epoch 1                     4\n";
    plot p;
    int rows;
    assert_true(plot_open(&p));
    for (int i = 0; i < 4; i++) {
        cornu_progress now = epoch_of(i, 1);
        plot_add(&p, &now);
    }
    char *found = plot_draw(&p, 32, 7, false, &rows);
    assert_int_equal(rows, 7);
    assert_string_equal(found, expected);
    free(found);
    assert_null(plot_draw(&p, 20, 7, false, &rows));
    assert_null(plot_draw(&p, 80, 3, false, &rows));
    assert_int_equal(rows, 0);
    plot_close(&p);
}

static void any_number_of_epochs_is_kept_in_the_same_room(void **state)
{
    (void)state;
    plot p;
    assert_true(plot_open(&p));
    for (int i = 0; i < 5 * PLOT_KEPT; i++) {
        cornu_progress now = epoch_of(i, 2);
        plot_add(&p, &now);
        assert_in_range(p.kept, 1, PLOT_KEPT);
    }
    assert_int_equal(p.stride, 8);
    for (int i = 0; i < p.kept; i++)
        assert_float_equal(p.values[i][0], 1.0 / (8.0 * i + 1), 1e-12);
    plot_close(&p);
}

/* ---- a terminal ---------------------------------------------------------------------------- */

enum { ROWS = 60, COLUMNS = 400 };

/* What stands on the screen after some text; lines end in a newline. */
static const char *screen_of(const char *text)
{
    static char cells[ROWS][COLUMNS], shown[ROWS * COLUMNS];
    int row = 0, column = 0, used = 0;
    memset(cells, 0, sizeof cells);
    for (const char *c = text; *c; c++) {
        int number = 0;
        char what = 0;
        if (*c == '\r') {
            column = 0;
        } else if (*c == '\n') {
            row++;
            column = 0;
        } else if (*c == '\033') {
            number = (int)strtol(c + 2, (char **)&c, 10);
            what = *c;
        } else {
            cells[row][column++] = *c;
        }
        if (what == 'A')
            row -= number;
        if (what == 'K' || what == 'J')
            memset(&cells[row][column], 0, sizeof cells[row] - (size_t)column);
        if (what == 'J')
            memset(cells[row + 1], 0, sizeof cells - (size_t)(row + 1) * sizeof cells[0]);
        assert_in_range(row, 0, ROWS - 1);
        assert_in_range(column, 0, COLUMNS - 1);
    }
    for (int i = 0; i <= row; i++)
        used += snprintf(shown + used, sizeof shown - (size_t)used, "%s\n", cells[i]);
    return shown;
}

static int master, output;

static void set_size(unsigned short rows, unsigned short columns)
{
    struct winsize size = {.ws_row = rows, .ws_col = columns};
    assert_int_equal(ioctl(STDOUT_FILENO, TIOCSWINSZ, &size), 0);
}

static void open_terminal(void)
{
    int slave;
    struct termios plain;
    assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
    assert_int_equal(tcgetattr(slave, &plain), 0);
    cfmakeraw(&plain); /* newlines stay as they are */
    tcsetattr(slave, TCSANOW, &plain);
    setenv("TERM", "xterm", 1);
    fflush(stdout);
    output = dup(STDOUT_FILENO);
    dup2(slave, STDOUT_FILENO);
    close(slave);
}

static const char *close_terminal(void)
{
    static char text[1 << 16];
    size_t size = 0;
    fflush(stdout);
    (void)!write(STDOUT_FILENO, "\x04", 1);
    while (size == 0 || text[size - 1] != '\x04') {
        ssize_t n = read(master, text + size, sizeof text - 1 - size);
        if (n <= 0)
            break;
        size += (size_t)n;
    }
    text[size > 0 ? size - 1 : 0] = 0;
    dup2(output, STDOUT_FILENO);
    close(output);
    close(master);
    return screen_of(text);
}

static void train_epoch(progress *p, int64_t epoch, int scores)
{
    cornu_progress now = epoch_of(epoch, scores);
    now.step = 5;
    progress_step(p, &now);
    now.step = 9;
    progress_epoch(p, &now);
}

static int times(const char *text, const char *part)
{
    int count = 0;
    for (; (text = strstr(text, part)); text++)
        count++;
    return count;
}

static size_t longest_line(const char *text)
{
    size_t longest = 0;
    for (; *text; text += strcspn(text, "\n") + 1)
        longest = strcspn(text, "\n") > longest ? strcspn(text, "\n") : longest;
    return longest;
}

static void curves_stand_below_the_lines_of_all_epochs(void **state)
{
    (void)state;
    static const struct {
        unsigned short rows, columns;
        int panels;
        size_t longest;
    } cases[] = {{24, 80, 2, 104}, {50, 300, 3, 240}, {24, 40, 1, 104}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        plot curves;
        progress p;
        assert_true(plot_open(&curves));
        open_terminal();
        set_size(cases[i].rows, cases[i].columns);
        progress_open(&p, false);
        p.plot = &curves;
        for (int64_t epoch = 0; epoch < 4; epoch++)
            train_epoch(&p, epoch, 3);
        const char *screen = close_terminal();
        for (int epoch = 1; epoch <= 4; epoch++) {
            char heading[32];
            snprintf(heading, sizeof heading, "Epoch %d/4\n9/9 ", epoch);
            assert_int_equal(times(screen, heading), 1);
        }
        assert_int_equal(times(screen, "Epoch "), 4);
        assert_int_equal(times(screen, ", dotted val "), cases[i].panels);
        assert_int_equal(times(screen, "epoch 1 "), cases[i].panels);
        assert_true(strstr(screen, "Epoch 4/4") < strstr(screen, ", dotted val "));
        assert_true(longest_line(screen) <= cases[i].longest);
        plot_close(&curves);
    }
}

/* What others print stays, and so do curves whose place is not known any more. */
static void nothing_of_others_is_taken_away(void **state)
{
    (void)state;
    plot curves;
    progress p;
    assert_true(plot_open(&curves));
    open_terminal();
    set_size(30, 80);
    progress_open(&p, false);
    p.plot = &curves;
    train_epoch(&p, 0, 1);
    progress_notice(&p, "a notice");
    train_epoch(&p, 1, 1);
    set_size(30, 100);
    train_epoch(&p, 2, 1);
    const char *screen = close_terminal();
    assert_int_equal(times(screen, "a notice\n"), 1);
    assert_int_equal(times(screen, ", dotted val "), 3);
    assert_int_equal(times(screen, "9/9 "), 3);
    plot_close(&curves);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_become_dots),
        cmocka_unit_test(what_is_not_finite_is_a_gap),
        cmocka_unit_test(a_panel_is_drawn_as_expected),
        cmocka_unit_test(any_number_of_epochs_is_kept_in_the_same_room),
        cmocka_unit_test(curves_stand_below_the_lines_of_all_epochs),
        cmocka_unit_test(nothing_of_others_is_taken_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
