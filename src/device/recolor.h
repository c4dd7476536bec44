/* RECOLOR on devices whose memory is the host's. */
#ifndef DEVICE_RECOLOR_H
#define DEVICE_RECOLOR_H

#include "device/host/host.h"

/* The pixels of all samples. */
int64_t recolor_count(const op_run *r);
/* Pixels begin to end - 1 of RECOLOR_FORWARD or _BACKWARD. */
void recolor_pixels(const op_run *r, int64_t begin, int64_t end);

#endif
