/* cornu evaluate --report: the model's scores and confusions as tables as wide as the terminal. */
#include "cli/cli.h"
#include <cornu/report.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MOST = 24, CONFUSIONS = 20, CLASSES_MOST = 200 };

static int64_t longer(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- names ------------------------------------------------------------------------------ */

/* Columns of a text; a character of several bytes takes one column. */
static int columns_of(const char *shown)
{
    int columns = 0;
    for (; *shown; shown++)
        columns += (*shown & 0xc0) != 0x80;
    return columns;
}

/* "3 cat", or "3"; "none" of -1. */
static void name_class(const cornu_report *r, int64_t index, char shown[256])
{
    cornu_class_scores s = {.name = NULL};
    char name[200] = "";
    if (index < 0) {
        snprintf(shown, 256, "none");
        return;
    }
    (void)cornu_report_class(r, index, &s);
    if (s.name)
        cornu_printable(s.name, name, sizeof name);
    snprintf(shown, 256, "%lld%s%s", (long long)index, *name ? " " : "", name);
}

/* Print in `columns` columns; a longer text ends with "..". */
static void print_padded(const char *shown, int columns)
{
    char fits[256] = "";
    int length = columns_of(shown), kept = length <= columns ? length : columns - 2, used = 0;
    size_t bytes = 0;
    for (; shown[bytes] && (used < kept || (shown[bytes] & 0xc0) == 0x80); bytes++)
        used += (shown[bytes] & 0xc0) != 0x80;
    snprintf(fits, sizeof fits, "%.*s%s", (int)bytes, shown, length > columns ? ".." : "");
    print("%s%*s", fits, columns - columns_of(fits), "");
}

static int name_columns(const cornu_report *r, int64_t classes)
{
    char shown[256];
    int most = 14;
    for (int64_t i = 0; i < classes; i++) {
        name_class(r, i, shown);
        most = columns_of(shown) > most ? columns_of(shown) : most;
    }
    return most < NAME_MOST ? most : NAME_MOST;
}

/* ---- classes ---------------------------------------------------------------------------- */

static void print_class(const cornu_report *r, int64_t index, int columns)
{
    cornu_class_scores s;
    char shown[256];
    if (cornu_report_class(r, index, &s) != CORNU_OK)
        return;
    if (index < 0)
        snprintf(shown, sizeof shown, "%s", s.name);
    else
        name_class(r, index, shown);
    print_padded(shown, columns);
    print("  %9.4f  %9.4f  %9.4f  %9lld\n", s.precision, s.recall, s.f1, (long long)s.support);
}

static void print_share(const char *what, double share, int64_t samples, int columns)
{
    print_padded(what, columns);
    print("  %9s  %9s  %9.4f  %9lld\n", "", "", share, (long long)samples);
}

static void print_classes(const cornu_report *r, const cornu_report_info *info, int columns)
{
    char line[64];
    const int64_t shown = info->classes < CLASSES_MOST ? info->classes : CLASSES_MOST;
    print("\n%*s  %9s  %9s  %9s  %9s\n", columns, "", "precision", "recall", "f1-score", "support");
    for (int64_t i = 0; i < shown; i++)
        print_class(r, i, columns);
    if (shown < info->classes)
        print("and %lld more classes: --report FILE.json\n", (long long)(info->classes - shown));
    print("\n");
    print_share("accuracy", info->accuracy, info->samples, columns);
    snprintf(line, sizeof line, "top-%lld", (long long)info->top_k);
    if (info->top_k < info->classes && info->top_k > 1)
        print_share(line, info->top_k_accuracy, info->samples, columns);
    print_class(r, CORNU_MACRO_AVERAGE, columns);
    print_class(r, CORNU_WEIGHTED_AVERAGE, columns);
    if (info->undecided > 0)
        print("of %lld sample%s all outputs are NaN: predicted as no class\n",
              (long long)info->undecided, info->undecided == 1 ? "" : "s");
}

/* ---- confusions ------------------------------------------------------------------------- */

static int digits_of(int64_t number)
{
    char digits[32];
    return snprintf(digits, sizeof digits, "%lld", (long long)number);
}

static int cell_columns(const cornu_report *r, int64_t classes)
{
    int64_t most = classes - 1;
    for (int64_t i = 0; i < classes; i++)
        for (int64_t k = 0; k < classes; k++)
            most = longer(most, cornu_report_count(r, i, k));
    return digits_of(most) + 2;
}

static void print_matrix(const cornu_report *r, int64_t classes, int columns, int cell)
{
    char shown[256];
    print("\nconfusion matrix (rows: true class, columns: predicted class)\n%*s", columns, "");
    for (int64_t i = 0; i < classes; i++)
        print("%*lld", cell, (long long)i);
    print("\n");
    for (int64_t truth = 0; truth < classes; truth++) {
        name_class(r, truth, shown);
        print_padded(shown, columns);
        for (int64_t i = 0; i < classes; i++)
            print("%*lld", cell, (long long)cornu_report_count(r, truth, i));
        print("\n");
    }
}

static void print_confusions(const cornu_report *r, int columns)
{
    cornu_confusion all[CONFUSIONS];
    char shown[256];
    int64_t count = cornu_report_confusions(r, CONFUSIONS, all);
    if (count == 0)
        return;
    print("\nmost frequent confusions\n");
    print_padded("true class", columns);
    print("  ");
    print_padded("predicted as", columns);
    print("  %9s  of the class\n", "samples");
    for (int64_t i = 0; i < count; i++) {
        cornu_class_scores s;
        if (cornu_report_class(r, all[i].truth, &s) != CORNU_OK)
            return;
        name_class(r, all[i].truth, shown);
        print_padded(shown, columns);
        print("  ");
        name_class(r, all[i].predicted, shown);
        print_padded(shown, columns);
        print("  %9lld  %10.1f %%\n", (long long)all[i].count,
              100 * (double)all[i].count / (double)s.support);
    }
}

void report_print(const cornu_report *r)
{
    cornu_report_info info;
    if (cornu_report_info_get(r, &info) != CORNU_OK)
        return;
    const int columns = name_columns(r, info.classes);
    print_classes(r, &info, columns);
    /* 40 classes are the most that a matrix is read of, however wide the terminal is. */
    const int cell = info.classes <= 40 ? cell_columns(r, info.classes) : 0;
    if (cell > 0 && columns + info.classes * cell <= terminal_width(stdout))
        print_matrix(r, info.classes, columns, cell);
    else
        print_confusions(r, columns);
    print("\n");
}
