#!/usr/bin/env python3
"""How mutate_places.py finds places: python3 scripts/mutate_test.py"""
import mutate
from mutate_places import find_place, renamed, tokens, with_fault

CODE = """static int sum(const int *from, int count) {
    int total = 0; // count > 7
    for (int i = 0; i < count; i++)
        total += from[i];
    return total > 0 ? total : -1;
}
"""


def mutated(text, replacement, code=CODE, others=(), file="src/a.c"):
    """What the mutation makes of its file, or the sentence that says why it does nothing."""
    sources = {"src/a.c": code, **dict(others)}
    place = find_place(file, text, replacement, sources)
    return place if isinstance(place, str) else (place.how, place.file, with_fault(place, sources[place.file]))


def test_tokens():
    assert [t.text for t in tokens('a->b /* c */ <<= 0x1eu+1e-7f, L"\\"//" // d')] == \
        ["a", "->", "b", "<<=", "0x1eu", "+", "1e-7f", ",", 'L"\\"//"']
    assert [t.is_name for t in tokens("return x1;")] == [False, True, False]


def test_what_is_there_is_found():
    assert mutated("i < count", "i <= count") == ("", "src/a.c", CODE.replace("i < count", "i <= count"))
    assert mutated("total += from[i];", "")[2] == CODE.replace("total += from[i];", "")


def test_white_space_and_comments_do_not_count():
    code = CODE.replace("total > 0 ? total", "total >\n      0 /* none */ ?\n      total")
    assert mutated("total>0?total : -1", "total", code)[2].endswith("return total;\n}\n")
    assert mutated("count > 7", "count").startswith("found none"), "it stands in a comment"


def test_names_may_change_one_to_one():
    code = CODE.replace("total", "all").replace("from", "values")
    assert mutated("total += from[i];", "total -= from[i + other];", code) == \
        ("renamed", "src/a.c", code.replace("all += values[i];", "all -= values[i + other];"))
    assert mutated("x += y[x];", "", CODE).startswith("found none"), "x would have two names"
    assert mutated("x += y[z]; return x", "", CODE.replace("from[i]", "total[i]")).startswith("found none"), \
        "two names would become one"
    assert renamed("a + b->a /* a */", {"a": "b", "b": "a"}) == "b + a->b /* a */"


def test_keywords_and_literals_stay():
    assert mutated("return total > 1 ? total : -1", "").startswith("found none")
    assert mutated("long i = 0", "").startswith("found none")


def test_two_places_are_none():
    assert mutated("total", "0").startswith("found 4 places")
    twice = CODE + CODE.replace("total", "all").replace("sum", "sum_again")
    assert mutated("total += from[i];", "", twice)[0] == "", "the very tokens come first"
    assert mutated("most += from[i];", "", twice).startswith("found 0 places in src/a.c, 2 up to names")


def test_code_may_move():
    elsewhere = {"src/b/c.c": CODE}
    assert mutated("i < count", "true", "int a;", elsewhere)[:2] == ("moved", "src/b/c.c")
    assert mutated("i < count", "true", "int a;", elsewhere, "src/gone.c")[:2] == ("moved", "src/b/c.c")
    assert mutated("j < count", "true", "int a;", elsewhere, "src/gone.c").startswith("found none"), "by its names alone"
    assert mutated("i < count", "true", CODE, elsewhere, "src/gone.c").startswith("found none"), "it is there twice"


def test_what_is_built_for_a_test():
    assert mutate.source_of("step.gradient_test.winograd") == "tests/step/gradient_test.c"
    assert mutate.targets_of('add_test([=[base.doc_test]=] "/build/tests/base_tests" "doc_test")\n'
                             'set_tests_properties([=[base.doc_test]=] PROPERTIES TIMEOUT "900")\n'
                             'add_test([=[cli.plot_test]=] "/build/tests/cli.plot_test")\n'
                             'add_test([=[opencl.use_check]=] "/usr/bin/cmake" "-E" "env" "A=b c" "LD_PRELOAD=/x.so"'
                             ' "/build/tests/opencl/opencl.use_check")\n'
                             'add_test(version "bash" "version_test.sh")\n') == \
        {"base.doc_test": "base_tests", "cli.plot_test": "cli.plot_test", "opencl.use_check": "opencl.use_check"}


if __name__ == "__main__":
    tests = [test for name, test in list(globals().items()) if name.startswith("test_")]
    for run in tests:
        run()
    print(f"mutate_test.py: {len(tests)} tests passed")
