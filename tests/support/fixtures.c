#include "support/fixtures.h"
#include <stdio.h>
#include <stdlib.h>

const char *fixture_path(const char *name)
{
    static _Thread_local char path[4096];
    const char *folder = getenv("CORNU_FIXTURES");
    snprintf(path, sizeof path, "%s/%s", folder ? folder : TESTS_FOLDER "/fixtures", name);
    return path;
}
