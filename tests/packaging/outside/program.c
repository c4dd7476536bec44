/* A program outside the project: one layer, one prediction. */
#include <cornu/cornu.h>
#include <stdio.h>

int main(void)
{
    const int64_t shape[1] = {3};
    const float input[3] = {1, 2, 3};
    float output[2] = {-1, -1};
    cornu_model *model = NULL;
    cornu_status status = cornu_model_new(shape, 1, &model);
    if (status == CORNU_OK)
        status = cornu_model_add(model, "Dense", "{units: 2, kernel_initializer: ones}");
    if (status == CORNU_OK)
        status = cornu_predict(model, input, 1, NULL, output);
    if (status != CORNU_OK)
        fprintf(stderr, "%s\n", cornu_last_error());
    cornu_model_close(model);
    return status != CORNU_OK || output[0] != 6 || output[1] != 6;
}
