/* Diagnostics for developers, to standard error, only when CORNU_LOG is set (see env.def). */
#ifndef BASE_LOG_H
#define BASE_LOG_H
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
#endif
