/* The constants that all elements of one variable share in one optimizer step. Plain numbers: C,
   CUDA C++ and OpenCL C pass the struct by value. */
#ifndef DEVICE_RULES_OPTIMIZER_CONSTANTS_H
#define DEVICE_RULES_OPTIMIZER_CONSTANTS_H

typedef struct optimizer_constants {
    float learning_rate;
    float gradient_scale; /* clipping by norm: factor of the gradients; else 1 */
    float clip_value;     /* gradients are clipped to +-this; INFINITY: no clipping */
    float weight_decay;   /* 0: none */
    float momentum, rho, epsilon;
    float rate_1, rate_2; /* Adam: 1 - beta_1, 1 - beta_2 */
    float alpha;          /* Adam: learning_rate sqrt(1 - beta_2^t) / (1 - beta_1^t) */
    int form;             /* bit i: slot i exists; OPTIMIZER_FORM_NESTEROV */
    int plain;            /* 1: gradients are not clipped or scaled, and weights do not decay */
} optimizer_constants;

enum { OPTIMIZER_FORM_NESTEROV = 8 };

#endif
