/* The residual networks of He et al. (2015, section 4.2) for CIFAR, of any depth. */
#ifndef SUPPORT_RESIDUAL_H
#define SUPPORT_RESIDUAL_H

/* Their model and compile sections in fresh memory (free): 6 blocks + 2 layers, `blocks` in each of
   the three stages, for pictures of side x side; `more` is ", {LAYER: ...}" after the first relu of
   each block, and keeps the shape. */
char *residual_recipe(int blocks, int side, const char *more);

#endif
