/* SHA-256, by OpenSSL's libcrypto, which libzip and libcurl need anyway: each as 64 lower-case
   hexadecimal digits and a zero. */
#ifndef DATA_SHA256_H
#define DATA_SHA256_H

#include "base/status.h"

cornu_status sha256_of(const void *data, size_t size, char hex[65]);
/* The digest of an open file's content; `path` is for messages. */
cornu_status sha256_descriptor(const char *path, int fd, char hex[65]);
cornu_status sha256_file(const char *path, char hex[65]);

#endif
