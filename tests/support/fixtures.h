/* The files of tests/fixtures. */
#ifndef SUPPORT_FIXTURES_H
#define SUPPORT_FIXTURES_H

/* The path of a fixture: in the folder that CORNU_FIXTURES names, else in the sources. It stays
   valid until the thread's next call. */
const char *fixture_path(const char *name);

#endif
