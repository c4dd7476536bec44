/* The threads of one block as fibers: each has a stack, one runs at a time. */
#include "driver.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#else
#define __sanitizer_start_switch_fiber(saved, stack, size) \
    ((void)(saved), (void)(stack), (void)(size))
#define __sanitizer_finish_switch_fiber(saved, stack, size) ((void)(saved))
#endif

#ifdef __SANITIZE_ADDRESS__
enum { STACK_BYTES = 256 << 10 };
#else
enum { STACK_BYTES = 64 << 10 };
#endif
enum { FIBERS_MAX = 1024, PAGE = 4096 };

#ifdef __x86_64__
/* Saves what a called function must keep, and goes on where the other stack was left. ucontext
   would ask the kernel for the signal mask at each switch. */
typedef void *fiber_context;
void simulated_switch(fiber_context *from, fiber_context to);
__asm__(".text\n"
        ".hidden simulated_switch\n"
        ".type simulated_switch, @function\n"
        "simulated_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    popq %rcx\n" /* not ret: it would be predicted wrong each time */
        "    jmpq *%rcx\n"
        ".size simulated_switch, . - simulated_switch\n");

static void context_begin(fiber_context *p, unsigned char *stack, size_t size, void (*entry)(void))
{
    void **top = (void **)(void *)(stack + size);
    memset(top - 8, 0, 8 * sizeof *top);
    memcpy(top - 2, &entry, sizeof entry);
    *p = top - 8;
}

static void context_switch(fiber_context *from, fiber_context *to)
{
    simulated_switch(from, *to);
}
#else
#include <ucontext.h>
typedef ucontext_t fiber_context;

static void context_begin(fiber_context *p, unsigned char *stack, size_t size, void (*entry)(void))
{
    getcontext(p);
    p->uc_stack.ss_sp = stack;
    p->uc_stack.ss_size = size;
    p->uc_link = NULL;
    makecontext(p, entry, 0);
}

static void context_switch(fiber_context *from, fiber_context *to)
{
    swapcontext(from, to);
}
#endif

typedef struct fiber {
    fiber_context context;
    unsigned char *stack;
    bool ended;
    void *fake_stack; /* AddressSanitizer's */
} fiber;

static fiber fibers[FIBERS_MAX];
static unsigned made, running;
static fiber_context scheduler;
static void (*body)(void);
static void *scheduler_fake_stack;
static const void *scheduler_stack;
static size_t scheduler_size;

static void run(void)
{
    __sanitizer_finish_switch_fiber(NULL, &scheduler_stack, &scheduler_size);
    body();
    fiber *f = &fibers[running];
    f->ended = true;
    __sanitizer_start_switch_fiber(NULL, scheduler_stack, scheduler_size);
    context_switch(&f->context, &scheduler);
}

static void make(fiber *f)
{
    unsigned char *at = mmap(NULL, STACK_BYTES + PAGE, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED || mprotect(at, PAGE, PROT_NONE) != 0)
        abort();
    f->stack = at + PAGE;
}

void fibers_start(unsigned count, void (*start)(void))
{
    body = start;
    while (made < count)
        make(&fibers[made++]);
    for (unsigned i = 0; i < count; i++) {
        fibers[i].ended = false;
        /* Tops at different offsets in a page: else they would push each other out of the cache. */
        context_begin(&fibers[i].context, fibers[i].stack, STACK_BYTES - i % 21 * 192, run);
    }
}

bool fiber_resume(unsigned number)
{
    fiber *f = &fibers[number];
    running = number;
    __sanitizer_start_switch_fiber(&scheduler_fake_stack, f->stack, STACK_BYTES);
    context_switch(&scheduler, &f->context);
    __sanitizer_finish_switch_fiber(scheduler_fake_stack, NULL, NULL);
    return !f->ended;
}

void fiber_yield(void)
{
    fiber *f = &fibers[running];
    __sanitizer_start_switch_fiber(&f->fake_stack, scheduler_stack, scheduler_size);
    context_switch(&f->context, &scheduler);
    __sanitizer_finish_switch_fiber(f->fake_stack, &scheduler_stack, &scheduler_size);
}
