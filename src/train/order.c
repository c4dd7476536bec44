#include "base/philox.h"
#include "train/session.h"

/* Fisher and Yates, from the end. The key holds the epoch, so any epoch's order is known without
   the ones before it: that is what makes resuming exact. */
void session_order(uint64_t seed, int64_t epoch, bool shuffle, int64_t count, int64_t *index)
{
    for (int64_t i = 0; i < count; i++)
        index[i] = i;
    if (!shuffle)
        return;
    random_stream stream = random_open(seed, RANDOM_SHUFFLE, (uint64_t)epoch);
    for (int64_t i = count - 1; i > 0; i--) {
        int64_t other = random_below(&stream, (uint32_t)i + 1);
        int64_t kept = index[i];
        index[i] = index[other];
        index[other] = kept;
    }
}
