/* Random numbers that layers draw for each sample in training, and the maps of an image's pixels.
   The devices' kernels, which may be CUDA C++ or OpenCL C, include this. */
#ifndef MODEL_DRAWING_H
#define MODEL_DRAWING_H

/* A sample's random numbers become a number, or a map of pixels, which says where in the
   input a pixel (row, column) of the output comes from, as Keras's affine_transform has it:
     column' = m[0] column + m[1] row + m[2]
     row'    = m[3] column + m[4] row + m[5] */
typedef enum draw_kind {
    DRAW_NUMBER,   /* the number itself: uniform in low[0] to high[0] */
    DRAW_SIGNED,   /* the same, times 1 or -1 */
    DRAW_WHOLE,    /* its floor */
    DRAW_CHANCE,   /* 1 with that probability, else 0 */
    DRAW_PAIR,     /* a number and one of low[1] to high[1] */
    DRAW_BOX,      /* first row, end, first column, end of one whose sides are the square roots of a
                      pair's numbers, as parts of the image's */
    DRAW_FLIP,     /* with probability 1/2: of the rows where low[0], of the columns where low[1] */
    DRAW_ROTATION, /* around the centre; full turns, from low[0] to high[0] */
    DRAW_ZOOM,     /* around the centre; factors of rows and columns */
    DRAW_TRANSLATION, /* downwards and to the right; pixels */
    DRAW_SHEAR,       /* around the first pixel: of rows and of columns, both times 1 or -1 */
    DRAW_CROP,        /* of whole pixels, one for the batch; floors of numbers from low to high */
    DRAW_NORMAL       /* for each element: normal, of mean low[0] and standard deviation high[0] */
} draw_kind;

/* DRAW_TOGETHER: normal numbers, from one block of Philox's. */
enum { COLORS = 3 }; /* red, green and blue */
enum { MAP_NUMBERS = 6, DRAW_NUMBERS_MAX = MAP_NUMBERS, DRAW_TOGETHER = 4 };

/* Vertically [0] and horizontally [1]. */
typedef struct drawing {
    int kind;
    float low[2], high[2];
    float size[2]; /* of the image, where it has a centre or an end */
    int one;       /* both numbers come from one random number */
} drawing;

/* Values beyond the border, of a side a b c d. Unlike those of ImageDataGenerator (step/augment.h)
   they are those of TensorFlow, whose "wrap" repeats the side only nearly. */
typedef enum border_kind {
    BORDER_REFLECT,  /* d c b a | a b c d | d c b a */
    BORDER_CONSTANT, /* `value`, also as the neighbour of the outermost pixels */
    BORDER_WRAP,     /* a b c d | a b c d | a b c d */
    BORDER_NEAREST   /* a a a a | a b c d | d d d d */
} border_kind;

typedef struct resampling {
    int border;  /* border_kind */
    int nearest; /* the nearest pixel's value; else bilinear interpolation */
    float value;
} resampling;

/* How a sample's random numbers change a pixel's channels. */
typedef enum recolor_kind {
    RECOLOR_INVERT,     /* high - x, where the number is 1 */
    RECOLOR_SOLARIZE,   /* x plus the first number, inverted from the second on, both of 0 to 255 */
    RECOLOR_POSTERIZE,  /* so many of x's bits, of 8 */
    RECOLOR_GRAYSCALE,  /* where the number is 1; the last four are of red, green and blue */
    RECOLOR_DEGENERATE, /* so far to the gray of the same brightness */
    RECOLOR_SATURATE,   /* the saturation times number / (1 - number) */
    RECOLOR_HUE         /* the hue plus half the number */
} recolor_kind;

typedef struct recoloring {
    int kind;
    float low, high; /* the range of x's values */
} recoloring;

#endif
