#include "base/status.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE_SIZE = 4096 };

static _Thread_local char last_message[MESSAGE_SIZE];

/* Messages quote names out of files; a control character there must not reach a terminal, and a cut
   must not leave half a UTF-8 character. */
static void message_set(const char *message)
{
    size_t length = strnlen(message, MESSAGE_SIZE - 1);
    if (length == MESSAGE_SIZE - 1)
        while (length > 0 && ((unsigned char)message[length] & 0xC0) == 0x80)
            length--;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)message[i];
        last_message[i] = c < 0x20 || c == 0x7F ? (c == '\n' ? ' ' : '?') : message[i];
    }
    last_message[length] = 0;
}

cornu_status status_fail_v(cornu_status code, const char *format, va_list arguments)
{
    /* Formatted apart: an argument may be the present message itself. */
    char message[MESSAGE_SIZE + 1];
    if (vsnprintf(message, sizeof message, format, arguments) < 0)
        message_set(cornu_status_name(code));
    else
        message_set(message);
    return code;
}

cornu_status status_fail(cornu_status code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    status_fail_v(code, format, arguments);
    va_end(arguments);
    return code;
}

cornu_status status_prefix(cornu_status code, const char *format, ...)
{
    char prefix[MESSAGE_SIZE], message[2 * MESSAGE_SIZE + 2];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(prefix, sizeof prefix, format, arguments);
    va_end(arguments);
    if (length < 0)
        return code;
    snprintf(message, sizeof message, "%s: %s", prefix, last_message);
    message_set(message);
    return code;
}

const char *cornu_version(void)
{
    return CORNU_VERSION;
}

const char *cornu_status_name(cornu_status status)
{
    switch (status) {
    case CORNU_OK:
        return "ok";
    case CORNU_INVALID:
        return "invalid";
    case CORNU_NOT_FOUND:
        return "not found";
    case CORNU_BAD_FILE:
        return "bad file";
    case CORNU_IO:
        return "input/output error";
    case CORNU_OUT_OF_MEMORY:
        return "out of memory";
    case CORNU_UNSUPPORTED:
        return "unsupported";
    case CORNU_DEVICE:
        return "device error";
    case CORNU_STOPPED:
        return "stopped";
    case CORNU_NOT_A_NUMBER:
        return "not a number";
    case CORNU_NETWORK:
        return "network error";
    case CORNU_INTERNAL:
        return "internal error";
    }
    return "unknown status";
}

const char *cornu_last_error(void)
{
    return last_message;
}

void cornu_free(void *memory)
{
    free(memory);
}
