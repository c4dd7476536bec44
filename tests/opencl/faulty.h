/* Training on an OpenCL device whose calls fail. Every function fails the running cmocka test where
   something goes wrong. */
#ifndef OPENCL_FAULTY_H
#define OPENCL_FAULTY_H

#include "support/program.h"

/* cmocka setup: a scratch folder with the recipe "net.yaml", and 60 samples in "mnist". What is
   compiled is in the test folder's cache from the second call on. */
int faulty_open(void **state);
/* cmocka teardown: the environment is as before. */
int faulty_close(void **state);
/* A variable of the environment, for programs that are started, until the test's end. */
void faulty_set(const char *name, const char *value);
/* Nothing is in the cache, until the test's end. */
void faulty_empty_cache(void);
/* Run cornu, for five minutes at most. */
program faulty_run(const char *const *arguments);
/* It has ended with an error: one line, in which all these texts are (NULL-ended). */
void faulty_expect_error(const program *p, const char *const *texts);
/* No file in the scratch folder (or below) is called like a temporary one. */
void faulty_expect_nothing_hidden(void);

#define TEXTS(...) ((const char *const[]){__VA_ARGS__, NULL})

#endif
