// The header serves C++ as it is.
#include <cornu/cornu.h>
#include <cornu/model.h>

#include <cstring>
#include <memory>

int main()
{
    cornu_model *model = nullptr;
    if (cornu_model_open("cifar10-mlp", &model) != CORNU_OK)
        return 1;
    std::unique_ptr<cornu_model, decltype(&cornu_model_close)> owner(model, cornu_model_close);
    return cornu_model_parameter_count(model) == 12230010 &&
                   std::strcmp(cornu_version(), CORNU_VERSION) == 0
               ? 0
               : 1;
}
