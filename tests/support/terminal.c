#include "support/terminal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pty.h>
#include <string.h>
#include <unistd.h>

bool terminal_can_be_opened(void)
{
    int master, slave;
    if (openpty(&master, &slave, NULL, NULL, NULL) != 0)
        return false;
    close(master);
    close(slave);
    return true;
}

void terminal_needed(void)
{
    if (terminal_can_be_opened())
        return;
    print_message("no terminal can be opened here: %s\n", strerror(errno));
    skip();
}
