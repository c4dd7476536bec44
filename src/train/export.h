/* Files for other programs. */
#ifndef TRAIN_EXPORT_H
#define TRAIN_EXPORT_H

#include "model/model.h"

/* Write the host's weights and the network as ONNX; only in a build with CORNU_ONNX. */
cornu_status export_onnx(const cornu_model *model, const char *path,
                         const cornu_export_options *options);

#endif
