/* Pseudo-terminals, for what the program shows on a terminal. Some containers and chroots have
   none: there /dev/pts is not mounted. */
#ifndef SUPPORT_TERMINAL_H
#define SUPPORT_TERMINAL_H

#include <stdbool.h>

bool terminal_can_be_opened(void);
/* Skip the running cmocka test, with a message, if none can be opened. */
void terminal_needed(void);

#endif
