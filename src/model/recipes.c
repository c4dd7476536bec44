#include "model/recipes.h"
#include <stddef.h>
#include <string.h>

const char *recipe_text(const char *name)
{
    for (const embedded_recipe *r = embedded_recipes; r->name; r++)
        if (strcmp(r->name, name) == 0)
            return r->text;
    return NULL;
}
