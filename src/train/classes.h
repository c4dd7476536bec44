/* Matches the classes of a data set with those of a model, and maps their numbers. */
#ifndef TRAIN_CLASSES_H
#define TRAIN_CLASSES_H

#include "data/data.h"
#include "model/model.h"

/* Class names in the order of their numbers; messages call their owner `of`. */
typedef struct class_list {
    char *const *names;
    int count;
    const char *of;
} class_list;

/* For each class of the data its number in the model. */
typedef struct class_numbers {
    int32_t *number; /* [count]; NULL: the same */
    int count;
    int32_t *labels; /* labels of the block that classes_renumber last got */
} class_numbers;

/* The purpose: training needs all of the model's classes (or fewer, if the recipe says so), an
   evaluation any of them. */
typedef enum class_use { CLASSES_TO_TRAIN, CLASSES_TO_EVALUATE } class_use;

/* Match the data's classes to the model's by name. If the model has no names, the data must have
   one class per class of the outputs, or fewer if the recipe or the data allows it; the same
   holds for training data with numbers only. CORNU_INVALID names the difference. */
cornu_status classes_match(const cornu_model *model, const cornu_data *data, class_use use,
                           class_numbers *out);
/* The same with names that are not the model's, or not yet. */
cornu_status classes_match_list(const class_list *known, const cornu_data *data, bool fewer,
                                class_use use, class_numbers *out);
/* Give the block labels in the model's numbers; they are n's, until the next call. */
cornu_status classes_renumber(class_numbers *n, sample_block *block);
void classes_free(class_numbers *n);
/* Give the model the data's class names if it has none; an output without class in the data is
   named by its number. */
cornu_status classes_name(cornu_model *model, const cornu_data *data);
/* The model's classes without samples in this split of the data, "bird, eel"; "" if there are
   none, or if the counts are not known. */
cornu_status classes_without_samples(const cornu_model *model, const cornu_data *data,
                                     cornu_split split, const class_numbers *n, char **out);

/* The class_weight of a fit section, as weights of samples. */
typedef struct class_weights {
    float *of;       /* [classes]: 1 if the section has no value */
    int64_t classes; /* up to the last that it names */
    float *samples;  /* [capacity] weights of the block that weigh last got */
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
