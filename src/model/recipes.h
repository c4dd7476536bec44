/* The built-in recipes: recipes/NAME.yaml, embedded by the build, in CMakeLists.txt's order. */
#ifndef MODEL_RECIPES_H
#define MODEL_RECIPES_H
typedef struct embedded_recipe {
    const char *name, *text;
} embedded_recipe;
extern const embedded_recipe embedded_recipes[]; /* ends with name NULL */
/* The text of the recipe called `name`, or NULL. */
const char *recipe_text(const char *name);
#endif
