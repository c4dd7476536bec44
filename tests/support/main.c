/* ROOM_tests NAME_test [ARGUMENT...]: run the tests of one file. Each file gets a process of its
 * own. */
#include "support/tests.h"
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    for (const test_file *f = test_files; argc > 1 && f->name; f++)
        if (strcmp(f->name, argv[1]) == 0)
            return f->run ? f->run() : f->run_with(argc - 1, argv + 1);
    fprintf(stderr, "usage: %s FILE [ARGUMENT...], where FILE is one of:\n", argv[0]);
    for (const test_file *f = test_files; f->name; f++)
        fprintf(stderr, "  %s\n", f->name);
    return 2;
}
