/* Are the classes of a data set those of a model, and which number of the one is which of the
   other? */
#ifndef TRAIN_CLASSES_H
#define TRAIN_CLASSES_H

#include "data/data.h"
#include "model/model.h"

/* Class names in the order of their numbers; `of` is what messages call their owner. */
typedef struct class_list {
    char *const *names;
    int count;
    const char *of;
} class_list;

/* The number of a name; -1: it is not there. */
int class_find(const class_list *list, const char *name);
/* "cat, dog": all names of the list, or those that `other` (or NULL) lacks; "none". */
cornu_status class_join(const class_list *list, const class_list *other, char **out);

/* For each class of the data its number in the model. */
typedef struct class_numbers {
    int32_t *number; /* [count]; NULL: the same */
    int count;
    int32_t *labels; /* of the block that classes_renumber was given last */
} class_numbers;

/* What for: training takes all of the model's classes (or fewer, where the recipe says so), an
   evaluation any of them. */
typedef enum class_use { CLASSES_TO_TRAIN, CLASSES_TO_EVALUATE } class_use;

/* Match the data's classes to the model's by name; where the model knows no names, there must be as
   many as its outputs tell apart, or fewer where the recipe or the data says so; so it is with the
   numbers of training data without names. CORNU_INVALID names what differs. */
cornu_status classes_match(const cornu_model *model, const cornu_data *data, class_use use,
                           class_numbers *out);
/* The same with names that are not the model's, or not yet. */
cornu_status classes_match_list(const class_list *known, const cornu_data *data, bool fewer,
                                class_use use, class_numbers *out);
/* May training data have fewer classes than the model has outputs? */
cornu_status classes_may_be_fewer(const cornu_model *model, const cornu_data *data, bool *fewer);
/* Give the block labels in the model's numbers; they are n's, until the next call. */
cornu_status classes_renumber(class_numbers *n, sample_block *block);
void classes_free(class_numbers *n);
/* The model takes the data's names, where it has none; outputs that no class of the data has are
   called by their number. */
cornu_status classes_name(cornu_model *model, const cornu_data *data);
/* The model's classes of which this split of the data has no sample, "bird, eel"; "" where there
   are none, or nothing is known. */
cornu_status classes_without_samples(const cornu_model *model, const cornu_data *data,
                                     cornu_split split, const class_numbers *n, char **out);

/* The class_weight of a fit section, as weights of samples. */
typedef struct class_weights {
    float *of;       /* [classes]: 1 where the section does not say */
    int64_t classes; /* up to the last that it names */
    float *samples;  /* [capacity]: those of the block that weigh was given last */
    int64_t capacity;
    const char
        *clash; /* a number in the section that is another class's name; lives as long as that
                 */
} class_weights;

/* {CLASS: WEIGHT}, a class being its number or its name in the list (which may be empty); NULL:
   none, and `weigh` does nothing. */
cornu_status class_weights_read(const doc *map, const class_list *classes, class_weights *out);
void class_weights_free(class_weights *w);
/* Give each of the block's samples the weight of its class, which is its class number or its
   largest target. The block's weights are w's own, until the next call. */
cornu_status class_weights_weigh(class_weights *w, sample_block *block);

#endif
