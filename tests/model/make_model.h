/* Models from text, for the tests of this folder. */
#ifndef TESTS_MODEL_MAKE_MODEL_H
#define TESTS_MODEL_MAKE_MODEL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "model/model.h"

/* The test fails, with cornu's message, unless `status` is CORNU_OK. */
static inline void must(cornu_status status)
{
    if (status != CORNU_OK)
        fail_msg("%s", cornu_last_error());
}

static inline cornu_model *make_model(const char *recipe)
{
    cornu_model *m = NULL;
    must(cornu_model_parse(recipe, "test.yaml", &m));
    return m;
}

static inline doc *make_doc(const char *source)
{
    doc *d = NULL;
    must(doc_parse(source, strlen(source), "test.yaml", &d));
    return d;
}

/* The last error must contain every part of `parts`, separated by `|`. */
static inline void must_say(const char *parts)
{
    const char *said = cornu_last_error();
    char part[256];
    while (*parts) {
        size_t length = strcspn(parts, "|");
        memcpy(part, parts, length);
        part[length] = 0;
        if (!strstr(said, part))
            fail_msg("the message \"%s\" lacks \"%s\"", said, part);
        parts += length + (parts[length] == '|');
    }
}

/* The text, a recipe or Keras's configuration, is refused, and the message has these parts. */
static inline void must_refuse(const char *text, const char *name, const char *parts)
{
    cornu_model *m;
    if (cornu_model_parse(text, name, &m) != CORNU_INVALID)
        fail_msg("not refused: %s", text);
    assert_null(m);
    must_say(parts);
}

static inline const model_node *node_of(const cornu_model *m, const char *name)
{
    for (int i = 0; i < m->node_count; i++)
        if (strcmp(m->nodes[i].name, name) == 0)
            return &m->nodes[i];
    fail_msg("found no node %s", name);
    return NULL;
}

/* A recipe whose layers, one "    - LAYER" a line, have an input of numbers, or an image. */
#define VECTOR(layers) "model:\n  input: [4]\n  layers:\n" layers
#define NETWORK(layers) "model:\n  input: [6, 6, 3]\n  layers:\n" layers

#endif
