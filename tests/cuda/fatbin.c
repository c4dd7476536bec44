/* What nvcc -fatbin writes: a header, then entries, each with code for one architecture or with
   PTX. NVIDIA documents none of it; this is what its files look like. */
#include "driver.h"
#include <string.h>

typedef struct fatbin_header {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes; /* of all entries */
} fatbin_header;

typedef struct fatbin_entry {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t bytes; /* behind its header */
    uint32_t compressed_bytes, name_at;
    uint16_t minor, major; /* of the format */
    uint32_t architecture; /* 90: sm_90 or compute_90 */
} fatbin_entry;

enum { MAGIC = 0xba55ed50, KIND_PTX = 1, KIND_CODE = 2 };

bool fatbin_is(const void *image)
{
    uint32_t magic;
    memcpy(&magic, image, sizeof magic);
    return magic == MAGIC;
}

/* Code runs on later minors of its major, PTX is compiled for all that is newer. */
static bool suits(const fatbin_entry *e, unsigned capability)
{
    if (e->architecture > capability)
        return false;
    return e->kind == KIND_PTX || (e->kind == KIND_CODE && e->architecture / 10 == capability / 10);
}

bool fatbin_suits(const void *image, unsigned capability)
{
    fatbin_header header;
    memcpy(&header, image, sizeof header);
    const unsigned char *at = (const unsigned char *)image + header.header_bytes;
    const unsigned char *end = at + header.bytes;
    while (at < end) {
        fatbin_entry entry;
        memcpy(&entry, at, sizeof entry);
        if (suits(&entry, capability))
            return true;
        at += entry.header_bytes + entry.bytes;
    }
    return false;
}
