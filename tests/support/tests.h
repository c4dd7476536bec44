/* The test files of one program: tests/CMakeLists.txt writes the table from a folder's NAME_test.c,
   and renames the main of each. */
#ifndef SUPPORT_TESTS_H
#define SUPPORT_TESTS_H

/* One of the two functions is the file's main; its result is the process's exit status. */
typedef struct test_file {
    const char *name;
    int (*run)(void);
    int (*run_with)(int argc, char **argv);
} test_file;

/* Ended by a row without a name. */
extern const test_file test_files[];

#endif
