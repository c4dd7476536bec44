/* Preloaded into the program (cli/no_memory_test.c): from its first setlocale on, which is its
   main's, the allocation of the number CORNU_TEST_NO_MEMORY fails, and that one alone; the
   libraries' own beginnings are not counted. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <locale.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

static atomic_long left = -1; /* until the one that fails; below 0: none does */

static bool fails(void)
{
    if (atomic_load(&left) < 0 || atomic_fetch_sub(&left, 1) != 0)
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    return fails() ? NULL : __libc_realloc(memory, size);
}

char *setlocale(int category, const char *locale)
{
    union {
        void *address;
        char *(*function)(int, const char *);
    } real = {.address = dlsym(RTLD_NEXT, "setlocale")};
    const char *number = getenv("CORNU_TEST_NO_MEMORY");
    char *result = real.function(category, locale);
    atomic_store(&left, number ? atol(number) : -1);
    return result;
}
