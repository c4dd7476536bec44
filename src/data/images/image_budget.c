#include "data/images/image_budget.h"

void image_budget_open(image_budget *b, int64_t spare, int64_t most)
{
    *b = (image_budget){.spare = spare, .most = most > spare ? most : spare};
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->returned, NULL);
}

void image_budget_close(image_budget *b)
{
    pthread_cond_destroy(&b->returned);
    pthread_mutex_destroy(&b->lock);
}

static bool has_room(const image_budget *b, int64_t bytes, int64_t file)
{
    int64_t allowed = b->spare + IMAGE_BUDGET_TIMES * (b->files + file);
    allowed = allowed < b->most ? allowed : b->most;
    return b->taken == 0 || bytes <= allowed - b->taken;
}

void image_budget_take(image_budget *b, int64_t bytes, size_t file_bytes)
{
    int64_t file = (int64_t)file_bytes;
    pthread_mutex_lock(&b->lock);
    uint64_t ticket = b->next++;
    while (ticket != b->serving || !has_room(b, bytes, file))
        pthread_cond_wait(&b->returned, &b->lock);
    b->serving++;
    b->taken += bytes;
    b->files += file;
    b->peak = b->taken > b->peak ? b->taken : b->peak;
    pthread_cond_broadcast(&b->returned); /* the next in line may also fit */
    pthread_mutex_unlock(&b->lock);
}

void image_budget_return(image_budget *b, int64_t bytes, size_t file_bytes)
{
    pthread_mutex_lock(&b->lock);
    b->taken -= bytes;
    b->files -= (int64_t)file_bytes;
    pthread_cond_broadcast(&b->returned);
    pthread_mutex_unlock(&b->lock);
}
