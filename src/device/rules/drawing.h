/* A sample's random numbers as a number or a map of pixels, written once: each device includes this
   file. It is written in the common subset of C17, CUDA C++ and OpenCL C. The including file
   defines

     RULE                        qualifiers of a function
     rule_sine, rule_cosine, rule_floor, rule_log, rule_sqrt   of floats */
#include "model/drawing.h"

#define DRAW_FULL_TURN 6.283185307179586f

/* Numbers that are no map of pixels. */
RULE void draw_plain(const drawing *d, const float *u, float y, float x, float *out)
{
    out[0] = y;
    if (d->kind == DRAW_SIGNED) {
        out[0] = u[1] > 0.5f ? -y : y;
    } else if (d->kind == DRAW_WHOLE) {
        out[0] = rule_floor(y);
    } else if (d->kind == DRAW_CHANCE) {
        out[0] = u[1] < y ? 1 : 0;
    } else if (d->kind == DRAW_PAIR) {
        out[1] = x;
    } else if (d->kind == DRAW_BOX) {
        const float height = rule_sqrt(y) * d->size[0], width = rule_sqrt(x) * d->size[1];
        out[0] = u[2] * (d->size[0] - height);
        out[1] = out[0] + height;
        out[2] = u[3] * (d->size[1] - width);
        out[3] = out[2] + width;
    }
}

/* From u, drawing_numbers(d->kind) numbers; u: four random numbers in [0, 1). */
RULE void draw_numbers(const drawing *d, const float *u, float *out)
{
    const float middle_y = (d->size[0] - 1) / 2, middle_x = (d->size[1] - 1) / 2;
    const float y = d->low[0] + u[0] * (d->high[0] - d->low[0]);
    const float x = d->low[1] + u[d->one ? 0 : 1] * (d->high[1] - d->low[1]);
    if (d->kind < DRAW_FLIP) {
        draw_plain(d, u, y, x, out);
        return;
    }
    out[0] = out[4] = 1;
    out[1] = out[2] = out[3] = out[5] = 0;
    if (d->kind == DRAW_FLIP && u[0] <= 0.5f) {
        out[0] = d->low[1] > 0 ? -1 : 1;
        out[2] = d->low[1] > 0 ? d->size[1] - 1 : 0;
        out[4] = d->low[0] > 0 ? -1 : 1;
        out[5] = d->low[0] > 0 ? d->size[0] - 1 : 0;
    } else if (d->kind == DRAW_ROTATION) {
        const float angle = y * DRAW_FULL_TURN;
        out[0] = out[4] = rule_cosine(angle);
        out[3] = rule_sine(angle);
        out[1] = -out[3];
        out[2] = middle_x - middle_x * out[0] - middle_y * out[1];
        out[5] = middle_y - middle_x * out[3] - middle_y * out[4];
    } else if (d->kind == DRAW_ZOOM) {
        out[0] = x;
        out[2] = middle_x * (1 - x);
        out[4] = y;
        out[5] = middle_y * (1 - y);
    } else if (d->kind == DRAW_TRANSLATION) {
        out[2] = -x;
        out[5] = -y;
    } else if (d->kind == DRAW_SHEAR) {
        const float way = u[2] > 0.5f ? -1 : 1;
        out[1] = way * x;
        out[3] = way * y;
    } else if (d->kind == DRAW_CROP) {
        out[2] = rule_floor(x);
        out[5] = rule_floor(y);
    }
}

/* DRAW_TOGETHER normal numbers of as many in [0, 1), by Box and Muller. */
RULE void draw_normals(const drawing *d, const float *u, float *out)
{
    for (int i = 0; i < DRAW_TOGETHER; i += 2) {
        const float length = d->high[0] * rule_sqrt(-2 * rule_log(1 - u[i]));
        const float angle = u[i + 1] * DRAW_FULL_TURN;
        out[i] = d->low[0] + length * rule_cosine(angle);
        out[i + 1] = d->low[0] + length * rule_sine(angle);
    }
}
