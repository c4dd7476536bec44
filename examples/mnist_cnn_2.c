/* MNIST by two convolutions: the built-in workload, opened by its name. Network, optimizer, loss
   and schedule are those of recipes/mnist-cnn-2.yaml. */
#include "example.h"

/* A line every hundred steps. */
static void print_step(void *user, const cornu_progress *p)
{
    (void)user;
    if (p->step % 100 == 0 || p->step == p->steps)
        printf("%d/%d: %s %.4f, %s %.4f\n", (int)p->step, (int)p->steps, p->scores->name[0],
               p->scores->value[0], p->scores->name[1], p->scores->value[1]);
}

int main(int argc, char **argv)
{
    example e = {.fit = {.size = sizeof e.fit, .on_step = print_step}};
    cornu_model *model = NULL;
    cornu_data *data = NULL;
    if (!example_arguments(argc, argv, &e))
        return 2;
    cornu_status status = cornu_model_open("mnist-cnn-2", &model);
    if (status == CORNU_OK)
        status = example_data(&e, model, "mnist", &data);
    if (status == CORNU_OK)
        status = cornu_fit(model, data, &e.fit, NULL);
    if (status == CORNU_OK)
        status = example_finish(model, data);
    return example_end(status, data, model);
}
