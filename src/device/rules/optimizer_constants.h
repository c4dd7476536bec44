/* The constants that all elements of one variable share in one optimizer step. Plain numbers: C,
   CUDA C++ and OpenCL C pass the struct by value. */
#ifndef DEVICE_RULES_OPTIMIZER_CONSTANTS_H
#define DEVICE_RULES_OPTIMIZER_CONSTANTS_H

/* Those that depend on the step's number t and its learning rate, for the optimizers with moments.
   For Adam, alpha = learning_rate sqrt(1 - beta_2^t) / (1 - beta_1^t). */
typedef struct optimizer_factors {
    float alpha;          /* of the first moment; Lamb: 1 - beta_1^t; ScheduleFreeAdamW: the rate;
                             Adafactor: the rate, limited by t */
    float gradient_alpha; /* Nadam: of the gradient itself; Lamb, ScheduleFreeAdamW: 1 - beta_2^t;
                             Adafactor: beta_2 of the step */
    float epsilon; /* Nadam: epsilon beside the second moment's root; ScheduleFreeAdamW: 1 / t */
} optimizer_factors;

typedef struct optimizer_constants {
    float learning_rate;
    float gradient_scale; /* clipping by norm: factor of the gradients; else 1 */
    float clip_value;     /* gradients are clipped to +-this; INFINITY: no clipping */
    float weight_decay;   /* 0: none */
    float momentum, rho, epsilon;
    float rate_1, rate_2;                 /* 1 - beta_1, 1 - beta_2 */
    optimizer_factors factors;            /* of the step */
    float power, l1, l2, shrinkage, beta; /* Ftrl; power: of its accumulator */
    float penalty_l1, penalty_l2;         /* of the weight's own regularizer */
    int form;                             /* bit i: slot i exists; OPTIMIZER_FORM_NESTEROV */
    int plain;     /* 1: gradients are not clipped or scaled, and weights have no penalty and do not
                      decay */
    int penalized; /* 1: one of penalty_l1 and penalty_l2 is not 0 */
} optimizer_constants;

enum { OPTIMIZER_FORM_NESTEROV = 8 };

#endif
