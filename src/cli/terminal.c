#include "cli/cli.h"
#include <cornu/parallel.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* A launcher of ranks may give its processes a pseudo-terminal without a size. */
static bool is_launchers(FILE *f)
{
    int rank;
    struct winsize size;
    return cornu_ranks_launched(&rank) > 1 &&
           (ioctl(fileno(f), TIOCGWINSZ, &size) != 0 || size.ws_col == 0);
}

bool terminal_is(FILE *f)
{
    const char *term = getenv("TERM");
    return isatty(fileno(f)) && term && *term && strcmp(term, "dumb") != 0 && !is_launchers(f);
}

int terminal_width(FILE *f)
{
    struct winsize size;
    if (ioctl(fileno(f), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 80;
}

int terminal_height(FILE *f)
{
    struct winsize size;
    if (ioctl(fileno(f), TIOCGWINSZ, &size) == 0 && size.ws_row > 0)
        return size.ws_row;
    return 24;
}

bool terminal_has_utf8(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}
