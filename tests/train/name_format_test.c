/* Fields in names of files: each result is what Python's str.format gave for it (NULL: an error, or
   a form that is not there). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "train/callbacks.h"
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *format, *name;
    bool whole;
    double value;
    const char *expected;
} cases[] = {
    {"{epoch}", "epoch", true, 7, "7"},
    {"{epoch}", "epoch", true, 1234, "1234"},
    {"{epoch:02d}", "epoch", true, 7, "07"},
    {"{epoch:d}", "epoch", true, 7, "7"},
    {"{epoch:5}", "epoch", true, 7, "    7"},
    {"{epoch:5}", "epoch", true, 1234, " 1234"},
    {"{epoch:<5}|", "epoch", true, 7, "7    |"},
    {"{epoch:<5}|", "epoch", true, 1234, "1234 |"},
    {"{epoch:*^7d}|", "epoch", true, 7, "***7***|"},
    {"{epoch:+d}", "epoch", true, 7, "+7"},
    {"{epoch: d}", "epoch", true, 7, " 7"},
    {"{epoch:.2f}", "epoch", true, 7, "7.00"},
    {"{epoch:.1%}", "epoch", true, 7, "700.0%"},
    {"{epoch:05.1f}", "epoch", true, 7, "007.0"},
    {"{epoch:e}", "epoch", true, 7, "7.000000e+00"},
    {"{epoch:g}", "epoch", true, 7, "7"},
    {"{epoch:.2}", "epoch", true, 7, NULL},
    {"{epoch:.2d}", "epoch", true, 7, NULL},
    {"{epoch:_>4}", "epoch", true, 7, "___7"},
    {"{epoch:0>4}", "epoch", true, 7, "0007"},
    {"{epoch:<04}|", "epoch", true, 7, "7000|"},
    {"{epoch:=4}", "epoch", true, 7, "   7"},
    {"{{{epoch}}}", "epoch", true, 7, "{7}"},
    {"{{{epoch}}}", "epoch", true, 1234, "{1234}"},
    {"a{{b}}{epoch:03}", "epoch", true, 7, "a{b}007"},
    {"{epoch!r}", "epoch", true, 7, NULL},
    {"{epoch:s}", "epoch", true, 7, NULL},
    {"{epoch:,}", "epoch", true, 7, NULL},
    {"{val_loss}", "val_loss", false, 0.3466154932975769, "0.3466154932975769"},
    {"{val_loss}", "val_loss", false, 0.0, "0.0"},
    {"{val_loss}", "val_loss", false, 1.0, "1.0"},
    {"{val_loss}", "val_loss", false, -0.25, "-0.25"},
    {"{val_loss}", "val_loss", false, 1e-05, "1e-05"},
    {"{val_loss}", "val_loss", false, 0.0001, "0.0001"},
    {"{val_loss}", "val_loss", false, 0.00012345, "0.00012345"},
    {"{val_loss}", "val_loss", false, 1e+16, "1e+16"},
    {"{val_loss}", "val_loss", false, 1.2345678901234568e+17, "1.2345678901234568e+17"},
    {"{val_loss}", "val_loss", false, 9999999999999998.0, "9999999999999998.0"},
    {"{val_loss}", "val_loss", false, 1.5e+300, "1.5e+300"},
    {"{val_loss}", "val_loss", false, 2.3456e-07, "2.3456e-07"},
    {"{val_loss}", "val_loss", false, NAN, "nan"},
    {"{val_loss}", "val_loss", false, INFINITY, "inf"},
    {"{val_loss}", "val_loss", false, -INFINITY, "-inf"},
    {"{val_loss}", "val_loss", false, 0.1, "0.1"},
    {"{val_loss}", "val_loss", false, 100.0, "100.0"},
    {"{val_loss}", "val_loss", false, 5e-324, "5e-324"},
    {"{val_loss}", "val_loss", false, 0.3333333333333333, "0.3333333333333333"},
    {"{val_loss}", "val_loss", false, 0.999999, "0.999999"},
    {"{val_loss:.2f}", "val_loss", false, 0.3466154932975769, "0.35"},
    {"{val_loss:.2f}", "val_loss", false, -0.25, "-0.25"},
    {"{val_loss:.2f}", "val_loss", false, 0.0001, "0.00"},
    {"{val_loss:.2f}", "val_loss", false, NAN, "nan"},
    {"{val_loss:.2f}", "val_loss", false, -INFINITY, "-inf"},
    {"{val_loss:.2f}", "val_loss", false, 100.0, "100.00"},
    {"{val_loss:.4f}", "val_loss", false, 0.3466154932975769, "0.3466"},
    {"{val_loss:.4f}", "val_loss", false, -0.25, "-0.2500"},
    {"{val_loss:.4f}", "val_loss", false, 0.0001, "0.0001"},
    {"{val_loss:.4f}", "val_loss", false, NAN, "nan"},
    {"{val_loss:.4f}", "val_loss", false, -INFINITY, "-inf"},
    {"{val_loss:.4f}", "val_loss", false, 100.0, "100.0000"},
    {"{val_loss:8.3f}", "val_loss", false, 0.3466154932975769, "   0.347"},
    {"{val_loss:8.3f}", "val_loss", false, -0.25, "  -0.250"},
    {"{val_loss:8.3f}", "val_loss", false, 0.0001, "   0.000"},
    {"{val_loss:8.3f}", "val_loss", false, NAN, "     nan"},
    {"{val_loss:8.3f}", "val_loss", false, -INFINITY, "    -inf"},
    {"{val_loss:8.3f}", "val_loss", false, 100.0, " 100.000"},
    {"{val_loss:08.3f}", "val_loss", false, 0.3466154932975769, "0000.347"},
    {"{val_loss:08.3f}", "val_loss", false, -0.25, "-000.250"},
    {"{val_loss:08.3f}", "val_loss", false, 0.0001, "0000.000"},
    {"{val_loss:08.3f}", "val_loss", false, NAN, "00000nan"},
    {"{val_loss:08.3f}", "val_loss", false, -INFINITY, "-0000inf"},
    {"{val_loss:08.3f}", "val_loss", false, 100.0, "0100.000"},
    {"{val_loss:+.1e}", "val_loss", false, 0.3466154932975769, "+3.5e-01"},
    {"{val_loss:+.1e}", "val_loss", false, -0.25, "-2.5e-01"},
    {"{val_loss:+.1e}", "val_loss", false, 0.0001, "+1.0e-04"},
    {"{val_loss:+.1e}", "val_loss", false, NAN, "+nan"},
    {"{val_loss:+.1e}", "val_loss", false, -INFINITY, "-inf"},
    {"{val_loss:+.1e}", "val_loss", false, 100.0, "+1.0e+02"},
    {"{val_loss:E}", "val_loss", false, 0.3466154932975769, "3.466155E-01"},
    {"{val_loss:E}", "val_loss", false, -0.25, "-2.500000E-01"},
    {"{val_loss:E}", "val_loss", false, 0.0001, "1.000000E-04"},
    {"{val_loss:E}", "val_loss", false, NAN, "NAN"},
    {"{val_loss:E}", "val_loss", false, -INFINITY, "-INF"},
    {"{val_loss:E}", "val_loss", false, 100.0, "1.000000E+02"},
    {"{val_loss:F}", "val_loss", false, 0.3466154932975769, "0.346615"},
    {"{val_loss:F}", "val_loss", false, -0.25, "-0.250000"},
    {"{val_loss:F}", "val_loss", false, 0.0001, "0.000100"},
    {"{val_loss:F}", "val_loss", false, NAN, "NAN"},
    {"{val_loss:F}", "val_loss", false, -INFINITY, "-INF"},
    {"{val_loss:F}", "val_loss", false, 100.0, "100.000000"},
    {"{val_loss:g}", "val_loss", false, 0.3466154932975769, "0.346615"},
    {"{val_loss:g}", "val_loss", false, -0.25, "-0.25"},
    {"{val_loss:g}", "val_loss", false, 0.0001, "0.0001"},
    {"{val_loss:g}", "val_loss", false, NAN, "nan"},
    {"{val_loss:g}", "val_loss", false, -INFINITY, "-inf"},
    {"{val_loss:g}", "val_loss", false, 100.0, "100"},
    {"{val_loss:.3g}", "val_loss", false, 0.3466154932975769, "0.347"},
    {"{val_loss:.3g}", "val_loss", false, -0.25, "-0.25"},
    {"{val_loss:.3g}", "val_loss", false, 0.0001, "0.0001"},
    {"{val_loss:.3g}", "val_loss", false, NAN, "nan"},
    {"{val_loss:.3g}", "val_loss", false, -INFINITY, "-inf"},
    {"{val_loss:.3g}", "val_loss", false, 100.0, "100"},
    {"{val_loss:G}", "val_loss", false, 0.3466154932975769, "0.346615"},
    {"{val_loss:G}", "val_loss", false, -0.25, "-0.25"},
    {"{val_loss:G}", "val_loss", false, 0.0001, "0.0001"},
    {"{val_loss:G}", "val_loss", false, NAN, "NAN"},
    {"{val_loss:G}", "val_loss", false, -INFINITY, "-INF"},
    {"{val_loss:G}", "val_loss", false, 100.0, "100"},
    {"{val_loss:%}", "val_loss", false, 0.3466154932975769, "34.661549%"},
    {"{val_loss:%}", "val_loss", false, -0.25, "-25.000000%"},
    {"{val_loss:%}", "val_loss", false, 0.0001, "0.010000%"},
    {"{val_loss:%}", "val_loss", false, NAN, "nan%"},
    {"{val_loss:%}", "val_loss", false, -INFINITY, "-inf%"},
    {"{val_loss:%}", "val_loss", false, 100.0, "10000.000000%"},
    {"{val_loss:.1%}", "val_loss", false, 0.3466154932975769, "34.7%"},
    {"{val_loss:.1%}", "val_loss", false, -0.25, "-25.0%"},
    {"{val_loss:.1%}", "val_loss", false, 0.0001, "0.0%"},
    {"{val_loss:.1%}", "val_loss", false, NAN, "nan%"},
    {"{val_loss:.1%}", "val_loss", false, -INFINITY, "-inf%"},
    {"{val_loss:.1%}", "val_loss", false, 100.0, "10000.0%"},
    {"{val_loss:.3}", "val_loss", false, 0.3466154932975769, "0.347"},
    {"{val_loss:.3}", "val_loss", false, -0.25, "-0.25"},
    {"{val_loss:.3}", "val_loss", false, 0.0001, "0.0001"},
    {"{val_loss:.3}", "val_loss", false, NAN, "nan"},
    {"{val_loss:.3}", "val_loss", false, -INFINITY, "-inf"},
    {"{val_loss:.3}", "val_loss", false, 100.0, "1e+02"},
    {"{val_loss:.1}", "val_loss", false, 0.3466154932975769, "0.3"},
    {"{val_loss:.1}", "val_loss", false, -0.25, "-0.2"},
    {"{val_loss:.1}", "val_loss", false, 0.0001, "0.0001"},
    {"{val_loss:.1}", "val_loss", false, NAN, "nan"},
    {"{val_loss:.1}", "val_loss", false, -INFINITY, "-inf"},
    {"{val_loss:.1}", "val_loss", false, 100.0, "1e+02"},
    {"{val_loss:.0}", "val_loss", false, 0.3466154932975769, "0.3"},
    {"{val_loss:.0}", "val_loss", false, -0.25, "-0.2"},
    {"{val_loss:.0}", "val_loss", false, 0.0001, "0.0001"},
    {"{val_loss:.0}", "val_loss", false, NAN, "nan"},
    {"{val_loss:.0}", "val_loss", false, -INFINITY, "-inf"},
    {"{val_loss:.0}", "val_loss", false, 100.0, "1e+02"},
    {"{val_loss:10}", "val_loss", false, 0.3466154932975769, "0.3466154932975769"},
    {"{val_loss:10}", "val_loss", false, -0.25, "     -0.25"},
    {"{val_loss:10}", "val_loss", false, 0.0001, "    0.0001"},
    {"{val_loss:10}", "val_loss", false, NAN, "       nan"},
    {"{val_loss:10}", "val_loss", false, -INFINITY, "      -inf"},
    {"{val_loss:10}", "val_loss", false, 100.0, "     100.0"},
    {"{val_loss:<10}|", "val_loss", false, 0.3466154932975769, "0.3466154932975769|"},
    {"{val_loss:<10}|", "val_loss", false, -0.25, "-0.25     |"},
    {"{val_loss:<10}|", "val_loss", false, 0.0001, "0.0001    |"},
    {"{val_loss:<10}|", "val_loss", false, NAN, "nan       |"},
    {"{val_loss:<10}|", "val_loss", false, -INFINITY, "-inf      |"},
    {"{val_loss:<10}|", "val_loss", false, 100.0, "100.0     |"},
    {"{val_loss:x^12.2f}", "val_loss", false, 0.3466154932975769, "xxxx0.35xxxx"},
    {"{val_loss:x^12.2f}", "val_loss", false, -0.25, "xxx-0.25xxxx"},
    {"{val_loss:x^12.2f}", "val_loss", false, 0.0001, "xxxx0.00xxxx"},
    {"{val_loss:x^12.2f}", "val_loss", false, NAN, "xxxxnanxxxxx"},
    {"{val_loss:x^12.2f}", "val_loss", false, -INFINITY, "xxxx-infxxxx"},
    {"{val_loss:x^12.2f}", "val_loss", false, 100.0, "xxx100.00xxx"},
    {"{val_loss:d}", "val_loss", false, 0.3466154932975769, NULL},
    {"{val_loss:d}", "val_loss", false, -0.25, NULL},
    {"{val_loss:d}", "val_loss", false, 0.0001, NULL},
    {"{val_loss:d}", "val_loss", false, NAN, NULL},
    {"{val_loss:d}", "val_loss", false, -INFINITY, NULL},
    {"{val_loss:d}", "val_loss", false, 100.0, NULL},
    {"{val_loss:f}", "val_loss", false, 0.3466154932975769, "0.346615"},
    {"{val_loss:f}", "val_loss", false, -0.25, "-0.250000"},
    {"{val_loss:f}", "val_loss", false, 0.0001, "0.000100"},
    {"{val_loss:f}", "val_loss", false, NAN, "nan"},
    {"{val_loss:f}", "val_loss", false, -INFINITY, "-inf"},
    {"{val_loss:f}", "val_loss", false, 100.0, "100.000000"},
    {"{val_loss:.0f}", "val_loss", false, 0.3466154932975769, "0"},
    {"{val_loss:.0f}", "val_loss", false, -0.25, "-0"},
    {"{val_loss:.0f}", "val_loss", false, 0.0001, "0"},
    {"{val_loss:.0f}", "val_loss", false, NAN, "nan"},
    {"{val_loss:.0f}", "val_loss", false, -INFINITY, "-inf"},
    {"{val_loss:.0f}", "val_loss", false, 100.0, "100"},
};

static void fields_are_filled_in_as_python_does(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        name_field f = {cases[i].name, cases[i].whole, cases[i].value};
        char *out = NULL;
        cornu_status status = name_format(cases[i].format, &f, 1, &out);
        bool right = cases[i].expected ? status == CORNU_OK && !strcmp(out, cases[i].expected)
                                       : status == CORNU_INVALID;
        if (!right)
            fail_msg("%s of %.17g: found %s; expected %s", cases[i].format, cases[i].value,
                     out ? out : cornu_last_error(),
                     cases[i].expected ? cases[i].expected : "an error");
        free(out);
    }
}

static void wrong_forms_say_what_there_is(void **state)
{
    (void)state;
    static const name_field fields[] = {{"epoch", true, 3}, {"loss", false, 0.5}};
    static const char *const wrong[][2] = {
        {"{los}.x", "found {los}; expected one of epoch, loss in braces"},
        {"{}.x", "found {}; expected one of epoch, loss in braces"},
        {"{0}", "found {0}; expected one of epoch, loss in braces"},
        {"{epoch", "found { without }; expected {FIELD}, or {{ for a brace"},
        {"epoch}", "found } without {; expected {FIELD}, or }} for a brace"},
        {"{epoch:.2d}",
         "found {epoch:.2d}; expected a format of Python's int, such as {epoch:02d}"},
        {"{loss:d}", "found {loss:d}; expected a format of Python's float, such as {loss:.2f}"},
        {"{loss:/>9}", "found {loss:/>9}; expected a format of Python's float"},
        {"{epoch:1000000000d}", "found {epoch:1000000000d}; expected a format"},
        {"{loss:.99999999999f}", "found {loss:.99999999999f}; expected a format"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char *out;
        assert_int_equal(name_format(wrong[i][0], fields, 2, &out), CORNU_INVALID);
        if (!strstr(cornu_last_error(), wrong[i][1]))
            fail_msg("%s: found %s; expected %s", wrong[i][0], cornu_last_error(), wrong[i][1]);
    }
    assert_true(name_has_fields("a{b}"));
    assert_false(name_has_fields("a.b"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_filled_in_as_python_does),
        cmocka_unit_test(wrong_forms_say_what_there_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
