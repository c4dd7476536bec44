/* wire A B BITS_PER_SECOND SECONDS: joins the network namespaces A and B by a link of this rate and
   one-way delay: a device "wire0" in each, whose packets this program carries until it is killed.
   (The kernels of build machines have no netem.) Prints "ready". */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { PACKET_MOST = 65536, QUEUE = 1024 };

typedef struct packet {
    double due;
    ssize_t size;
    char bytes[PACKET_MOST];
} packet;

/* One direction: a thread that reads, one that writes when a packet is due. */
typedef struct direction {
    int from, to;
    double seconds_per_byte, delay, free_at; /* when the wire has sent what came before */
    packet *queue;
    int first, count;
    pthread_mutex_t lock;
    pthread_cond_t changed;
} direction;

static void fail(const char *what)
{
    fprintf(stderr, "wire: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void sleep_until(double when)
{
    const struct timespec t = {.tv_sec = (time_t)when,
                               .tv_nsec = (long)((when - (double)(time_t)when) * 1e9)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

static int open_device(const char *space)
{
    char path[256];
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    snprintf(path, sizeof path, "/var/run/netns/%s", space);
    int in = open(path, O_RDONLY | O_CLOEXEC);
    if (in < 0 || setns(in, CLONE_NEWNET) != 0)
        fail(path);
    close(in);
    int device = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
    snprintf(request.ifr_name, sizeof request.ifr_name, "wire0");
    if (device < 0 || ioctl(device, TUNSETIFF, &request) != 0)
        fail("/dev/net/tun");
    return device;
}

/* What comes in while the queue is full is lost, as on a real link. */
static void *take(void *context)
{
    direction *d = context;
    static _Thread_local char bytes[PACKET_MOST];
    for (;;) {
        ssize_t size = read(d->from, bytes, sizeof bytes);
        if (size <= 0)
            continue;
        pthread_mutex_lock(&d->lock);
        if (d->count < QUEUE) {
            packet *p = &d->queue[(d->first + d->count++) % QUEUE];
            double begin = now();
            d->free_at =
                (d->free_at > begin ? d->free_at : begin) + (double)size * d->seconds_per_byte;
            p->due = d->free_at + d->delay;
            p->size = size;
            memcpy(p->bytes, bytes, (size_t)size);
        }
        pthread_cond_signal(&d->changed);
        pthread_mutex_unlock(&d->lock);
    }
    return NULL;
}

static void *give(void *context)
{
    direction *d = context;
    prctl(PR_SET_TIMERSLACK, 1);
    for (;;) {
        pthread_mutex_lock(&d->lock);
        while (d->count == 0)
            pthread_cond_wait(&d->changed, &d->lock);
        const packet *p = &d->queue[d->first];
        pthread_mutex_unlock(&d->lock);
        sleep_until(p->due);
        if (write(d->to, p->bytes, (size_t)p->size) < 0 && errno != EIO)
            fail("wire0"); /* EIO: the device is down */
        pthread_mutex_lock(&d->lock);
        d->first = (d->first + 1) % QUEUE;
        d->count--;
        pthread_mutex_unlock(&d->lock);
    }
    return NULL;
}

static void carry(int from, int to, double bits, double delay)
{
    direction *d = calloc(1, sizeof *d);
    pthread_t taker, giver;
    if (!d || !(d->queue = calloc(QUEUE, sizeof *d->queue)))
        fail("memory");
    d->from = from;
    d->to = to;
    d->seconds_per_byte = 8 / bits;
    d->delay = delay;
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->changed, NULL);
    if (pthread_create(&taker, NULL, take, d) != 0 || pthread_create(&giver, NULL, give, d) != 0)
        fail("a thread");
}

int main(int count, char **arguments)
{
    if (count != 5) {
        fprintf(stderr, "usage: wire A B BITS_PER_SECOND SECONDS\n");
        return 2;
    }
    int a = open_device(arguments[1]), b = open_device(arguments[2]);
    double bits = atof(arguments[3]), delay = atof(arguments[4]);
    /* A network does not wait for a core. */
    if (sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1}) != 0)
        fail("SCHED_FIFO");
    carry(a, b, bits, delay);
    carry(b, a, bits, delay);
    puts("ready");
    fflush(stdout);
    for (;;)
        pause();
}
