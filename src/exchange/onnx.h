/* ONNX files, by the folder onnx/ in a build that has it (CORNU_ONNX). */
#ifndef EXCHANGE_ONNX_H
#define EXCHANGE_ONNX_H

#include "model/model.h"
#include <cornu/exchange.h>

/* Write the host's weights and the network as ONNX; only in a build with CORNU_ONNX. */
cornu_status export_onnx(const cornu_model *model, const char *path,
                         const cornu_export_options *options);

/* Import the network of an ONNX file with its weights: inputs, outputs, and between them operators
   that cornu has as layers. Images become channels last, whatever the file's order.
   CORNU_UNSUPPORTED names the node and the reason. */
cornu_status import_onnx(const char *path, cornu_model **out);

#endif
