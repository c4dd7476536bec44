#include "data/sha256.h"
#include "base/files.h"
#include <errno.h>
#include <openssl/evp.h>
#include <string.h>
#include <unistd.h>

enum { DIGEST = 32 };

static cornu_status fail_memory(void)
{
    return status_fail(CORNU_OUT_OF_MEMORY, "SHA-256: cannot allocate");
}

static void show(const uint8_t digest[DIGEST], char hex[65])
{
    for (int i = 0; i < DIGEST; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

cornu_status sha256_of(const void *data, size_t size, char hex[65])
{
    uint8_t digest[DIGEST];
    if (EVP_Digest(data, size, digest, NULL, EVP_sha256(), NULL) != 1)
        return fail_memory();
    show(digest, hex);
    return CORNU_OK;
}

static cornu_status read_all(const char *path, int fd, EVP_MD_CTX *to)
{
    uint8_t buffer[1 << 15];
    for (off_t at = 0;;) {
        ssize_t got = pread(fd, buffer, sizeof buffer, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return status_fail(CORNU_IO, "%s: cannot read: %s", path, strerror(errno));
        if (got == 0)
            return CORNU_OK;
        if (EVP_DigestUpdate(to, buffer, (size_t)got) != 1)
            return fail_memory();
        at += got;
    }
}

cornu_status sha256_descriptor(const char *path, int fd, char hex[65])
{
    uint8_t digest[DIGEST];
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    cornu_status status = context && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1
                              ? read_all(path, fd, context)
                              : fail_memory();
    if (status == CORNU_OK && EVP_DigestFinal_ex(context, digest, NULL) != 1)
        status = fail_memory();
    EVP_MD_CTX_free(context);
    if (status == CORNU_OK)
        show(digest, hex);
    return status;
}

cornu_status sha256_file(const char *path, char hex[65])
{
    int fd;
    uint64_t size;
    TRY(file_open_regular(path, &fd, &size));
    cornu_status status = sha256_descriptor(path, fd, hex);
    close(fd);
    return status;
}
