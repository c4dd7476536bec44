#include "exchange/onnx.h"
#include <cornu/exchange.h>

#if CORNU_ONNX
static cornu_status write(const cornu_model *model, const char *path,
                          const cornu_export_options *options)
{
    const live_weights *live = model->live;
    if (live)
        TRY(live->pull(live->context, 0, model->weight_count));
    return export_onnx(model, path, options);
}
#else
static cornu_status fail_absent(const char *path)
{
    return status_fail(CORNU_UNSUPPORTED,
                       "%s: found a cornu that was built without ONNX (CORNU_ONNX=OFF); expected "
                       "one with it, which needs protobuf-c",
                       path);
}

static cornu_status write(const cornu_model *model, const char *path,
                          const cornu_export_options *options)
{
    (void)model, (void)options;
    return fail_absent(path);
}

cornu_status import_onnx(const char *path, cornu_model **out)
{
    *out = NULL;
    return fail_absent(path);
}
#endif

cornu_status cornu_model_export_onnx(const cornu_model *model, const char *path,
                                     const cornu_export_options *options)
{
    cornu_export_options o;
    if (!model || !path)
        return status_fail(CORNU_INVALID,
                           "cornu_model_export_onnx: found NULL; expected a model and a path");
    TRY(STRUCT_READ("cornu_export_options", options, &o));
    if (!model->initialized)
        return status_fail(CORNU_INVALID,
                           "%s: found a model without weights; expected one that was initialized, "
                           "loaded or trained",
                           path);
    return write(model, path, &o);
}
