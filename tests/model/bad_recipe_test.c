#include "make_model.h"

#define MODEL(layers) "model:\n  input: [8, 8, 3]\n  layers:\n" layers
#define DENSE MODEL("    - Flatten\n    - Dense: {units: 4, activation: softmax}\n")
#define COMPILE(options) DENSE "compile: " options "\n"
#define TRACED(loss) COMPILE("{optimizer: sgd, loss: {class_name: f, traced: {" loss "}}}")

/* A recipe, and the required contents of the message: its place, the text found, the text
   expected. */
static const struct {
    const char *recipe, *says;
} cases[] = {
    {"", "test.yaml|found null|expected a recipe"},
    {"[1, 2]", "test.yaml:1|expected a recipe"},
    {"model: [", "test.yaml:2:1: did not find"},
    {"data: mnist\n", "model is missing"},
    {DENSE "modle: 1\n",
     "test.yaml:6: modle: unknown option|name, description, data, model|model?"},
    {"model: 3\n", "test.yaml:1: model: found 3|to_json()"},
    {"model: {input: [4]}\n", "layers is missing"},
    {"model: {input: [4], layers: []}\n", "model.layers: found []|at least one layer"},
    {"model: {input: [4], layers: [InputLayer]}\n", "input_layer_1 (InputLayer): found no shape"},
    {"model: {input: [], layers: [Flatten]}\n", "model.input: found []|at least one dimension"},
    {"model: {input: [0], layers: [Flatten]}\n", "model.input[0]: found 0|from 1 to"},
    {"model: {input: [4, x], layers: [Flatten]}\n", "model.input[1]: found \"x\"|whole number"},
    {"model: {input: 28, layers: [Flatten]}\n", "model.input: found 28|[28, 28, 1]"},
    {"model: {input: [1, 2, 3, 4, 5], layers: [Flatten]}\n", "found 5 dimensions|at most 4"},
    {"model: {layers: [Flatten]}\n", "no input shape|input: [28, 28, 1]"},
    {"model: {input: [4], layers: [Flatten], inptu: 3}\n", "model.inptu: unknown option|input?"},
    {MODEL("    - Dnese: {units: 4}\n"),
     "test.yaml:4: model.layers[0]: unknown layer \"Dnese\"; did you mean Dense?|Conv2D"},
    {MODEL("    - ConvLSTM2D: {units: 4}\n"), "unknown layer \"ConvLSTM2D\"; cornu has Activation, "
                                              "ActivityRegularization, AdaptiveAverage"},
    {MODEL("    - MaxPooling2D: {pool_sise: 2}\n"),
     "test.yaml:4: model.layers[0].MaxPooling2D.pool_sise: unknown option; MaxPooling2D takes "
     "pool_size, strides, padding, name, inputs, trainable (did you mean pool_size?)"},
    {MODEL("    - AdaptiveMaxPooling2D\n"), "output_size is missing"},
    {MODEL("    - Dense\n"), "test.yaml:4: model.layers[0]: units is missing; Dense needs it"},
    {MODEL("    - Dense: {units: 0}\n"), "Dense.units: found 0|whole number from 1 to"},
    {MODEL("    - Dense: {units: 2.5}\n"), "Dense.units: found 2.5|whole number"},
    {MODEL("    - Dense: {units: \"4\"}\n"), "Dense.units: found \"4\"|whole number"},
    {MODEL("    - Dense: {units: 4, activation: rleu}\n"),
     "unknown activation \"rleu\"; did you mean relu?"},
    {MODEL("    - Dense: {units: 4, use_bias: 1}\n"), "use_bias: found 1; expected true or false"},
    {MODEL("    - Dense: {units: 4, kernel_initializer: glorot}\n"),
     "unknown initializer \"glorot\"; did you mean glorot_uniform?"},
    {MODEL("    - Dense: {units: 4, bias_initializer: {Identity: {gain: 2}}}\n"),
     "bias: found shape (4) for the initializer identity; expected two dimensions"},
    {MODEL("    - Dense: {units: 4, kernel_initializer: {variance_scaling: {mode: fan}}}\n"),
     "mode: found \"fan\"; expected fan_in, fan_out or fan_avg"},
    {MODEL("    - Dense: {units: 4, kernel_regularizer: l3}\n"),
     "kernel_regularizer: unknown regularizer \"l3\"; did you mean l1?"},
    {MODEL("    - Dense: {units: 4, kernel_regularizer: Orthonormal}\n"),
     "kernel_regularizer: unknown regularizer \"Orthonormal\"|cornu has l1, l2, l1_l2, orthogonal"},
    {MODEL("    - Dense: {units: 4, bias_regularizer: orthogonal_regularizer}\n"),
     "bias: inputs to OrthogonalRegularizer must have rank 2; found a weight of shape (4)"},
    {MODEL("    - Dense: {units: 1, kernel_regularizer: {orthogonal_regularizer: {mode: "
           "columns}}}\n"),
     "kernel: OrthogonalRegularizer: found a weight of shape (3, 1); expected at least two "
     "columns"},
    {MODEL("    - Dense: {units: 4, kernel_regularizer: {orthogonal_regularizer: {mode: both}}}\n"),
     "mode: found \"both\"|rows or columns"},
    {MODEL("    - Dense: {units: 4, kernel_regularizer: {orthogonal_regularizer: {factor: -1}}}\n"),
     "factor: found -1"},
    {MODEL("    - Dense: {units: 4, activity_regularizer: orthogonal_regularizer}\n"),
     "activity_regularizer: found orthogonal_regularizer, which compares the samples of a batch; "
     "expected l1, l2 or l1_l2"},
    {MODEL("    - Dense: {units: 4, bias_regularizer: {l2: {l2: -1}}}\n"),
     "l2: found -1; expected a number of at least 0"},
    {MODEL("    - Dense: {units: 4, bias_regularizer: {l1: {l2: 1}}}\n"),
     "l2: unknown option; l1 takes l1"},
    {MODEL("    - Dropout: {rate: 0.5, noise_shape: [null, 1, 8, 4]}\n"),
     "noise_shape: found one that does not fit an input of shape (None, 8, 8, 3); expected null "
     "for the batch"},
    {MODEL("    - AlphaDropout: {rate: 0.5, noise_shape: [1, 1, 1, 1]}\n"),
     "noise_shape: found one that does not fit"},
    {MODEL("    - Dense: {units: 4, kernel_constraint: maxnorm}\n"),
     "kernel_constraint: unknown constraint \"maxnorm\"; did you mean max_norm?"},
    {MODEL("    - Dense: {units: 4, bias_constraint: {max_norm: {axis: 1}}}\n"),
     "bias: constraint: axis: found 1 for a weight of shape (4); expected -1 to 0"},
    {MODEL("    - Conv2D: {filters: 4, kernel_size: 3, kernel_constraint: {unit_norm: {axis: [0, "
           "2]}}}\n"),
     "kernel: constraint: axis: found axes with others between them; expected neighbours"},
    {MODEL("    - Dense: {units: 4, kernel_constraint: {min_max_norm: {rate: 1.5}}}\n"),
     "rate: found 1.5; expected a number from 0 to 1"},
    {MODEL("    - Dense: {units: 4, activity_regularizer: {l2: {l2: -1}}}\n"), "l2: found -1"},
    {MODEL("    - ActivityRegularization: {l1: -1}\n"), "l1: found -1"},
    {MODEL("    - LSTM: {units: 4, activity_regularizer: l2}\n"),
     "activity_regularizer: found \"l2\"; expected null (cornu does not support other values)"},
    {MODEL("    - Dense: {units: 4, dtype: float16}\n"), "dtype: found \"float16\"|float32"},
    {MODEL("    - Dense: {units: 4, trainable: maybe}\n"),
     "trainable: found \"maybe\"|expected true or false"},
    {MODEL("    - Dense: {units: 999999999}\n    - Dense: {units: 999999999}\n"),
     "model.layers[1]: dense_1 (Dense): kernel|too large|2^40"},
    {MODEL("    - Dense: {units: 4, name: a}\n    - Dense: {units: 4, name: a}\n"),
     "layer name \"a\" twice"},
    {MODEL("    - Dense: {units: 4, name: a/b}\n"), "layer name \"a/b\"|without /"},
    {MODEL("    - Conv2D: {filters: 4}\n"), "kernel_size is missing; Conv2D needs it"},
    {MODEL("    - Conv2D: {filters: 4, kernel_size: [1, 2, 3]}\n"),
     "kernel_size: found [1, 2, 3]|one or two"},
    {MODEL("    - Conv2D: {filters: 4, kernel_size: 9}\n"),
     "test.yaml:4: model.layers[0]: conv2d (Conv2D): found a window of 9 x 9 over input (8, 8, 3)"},
    {MODEL("    - Conv2D: {filters: 4, kernel_size: 3, padding: full}\n"),
     "padding: found \"full\"; expected valid or same"},
    {MODEL("    - Conv2D: {filters: 4, kernel_size: 3, strides: 2, dilation_rate: 2}\n"),
     "strides and dilation_rate above 1"},
    {MODEL("    - Conv2D: {filters: 4, kernel_size: 3, groups: 2}\n"),
     "2 groups for 3 input channels and 4 filters"},
    {MODEL("    - Conv1D: {filters: 4, kernel_size: 3}\n"),
     "found input (8, 8, 3); expected (steps, channels)"},
    {MODEL("    - Conv2D: {filters: 4, kernel_size: 3, padding: causal}\n"),
     "padding: found \"causal\"|valid or same"},
    {MODEL("    - DepthwiseConv2D: {kernel_size: 3, strides: 2, dilation_rate: 2}\n"),
     "found strides and dilation_rate above 1"},
    {MODEL("    - DepthwiseConv2D: {kernel_size: 3, depth_multiplier: 0}\n"),
     "depth_multiplier: found 0|from 1 to"},
    {MODEL("    - Conv2DTranspose: {filters: 2, kernel_size: 3, strides: 2, output_padding: 2}\n"),
     "found output_padding 2 for strides of 2; expected less"},
    {MODEL("    - Conv2DTranspose: {filters: 2, kernel_size: 2, strides: 2, padding: same, "
           "output_padding: 0}\n"),
     "found an output of 14 for an input of 8|another output_padding"},
    {MODEL("    - Cropping2D: {cropping: [[5, 3], [0, 0]]}\n"),
     "found a cropping of 5 and 3 for input (8, 8, 3)"},
    {MODEL("    - Permute: {dims: [1, 2]}\n"), "dims that do not fit input|each of 1 to 3 once"},
    {MODEL("    - Permute: {dims: [1, 2, 2]}\n"), "dims that do not fit input"},
    {MODEL("    - RepeatVector: {n: 2}\n"), "found input (8, 8, 3); expected (features)"},
    {MODEL("    - UpSampling2D: {interpolation: bicubic}\n"),
     "interpolation: found \"bicubic\"|nearest|bilinear"},
    {MODEL("    - UpSampling2D: {size: 1000000000}\n    - UpSampling2D: {size: 1000000000}\n"),
     "up_sampling2d|too large"},
    {MODEL("    - Conv2DTranspose: {filters: 2, kernel_size: 1, strides: 1000000000}\n"
           "    - Conv2DTranspose: {filters: 2, kernel_size: 1, strides: 1000000000}\n"),
     "conv2d_transpose"},
    {MODEL("    - GroupNormalization: {groups: 2}\n"),
     "found 2 groups for 3 channels; expected a divisor"},
    {MODEL("    - GroupNormalization: {groups: 0}\n"), "found 0 groups for 3 channels"},
    {MODEL("    - UnitNormalization: {axis: 0}\n"), "found axis 0"},
    {MODEL("    - Embedding: {input_dim: 10}\n"), "output_dim"},
    {MODEL("    - Embedding: {input_dim: 20000000, output_dim: 2}\n"),
     "input_dim: found 20000000; expected a whole number from 1 to 16777216"},
    {MODEL("    - Embedding: {input_dim: 10, output_dim: 2, mask_zero: true}\n"),
     "mask_zero: found true; expected false"},
    {MODEL("    - Embedding: {input_dim: 10, output_dim: 2}\n"
           "    - Embedding: {input_dim: 10, output_dim: 2}\n"),
     "found an input of shape (None, 8, 8, 3, 2); expected at most 4 dimensions"},
    {MODEL("    - LSTM: {units: 4}\n"), "found input (8, 8, 3); expected (steps, channels)"},
    {MODEL("    - Reshape: {target_shape: [8, 24]}\n    - LSTM: {units: 4, stateful: true}\n"),
     "stateful: found true; expected false"},
    {MODEL(
         "    - Reshape: {target_shape: [8, 24]}\n    - GRU: {units: 4, recurrent_dropout: 0.2}\n"),
     "recurrent_dropout: found 0.2; expected 0"},
    {MODEL("    - Reshape: {target_shape: [8, 24], name: a}\n    - GRU: {units: 4, return_state: "
           "true, name: "
           "b}\n    - LSTM: {units: 4, inputs: [a, b]}\n"),
     "found initial_state of 1 tensor; expected 2"},
    {MODEL("    - Reshape: {target_shape: [8, 24], name: a}\n    - GRU: {units: 4, return_state: "
           "true, name: "
           "b}\n    - GRU: {units: 5, inputs: [a, b/output_2]}\n"),
     "found initial_state of shape (4); expected (5)"},
    {MODEL("    - Reshape: {target_shape: [8, 24]}\n    - GRU: {units: 4, return_state: true, "
           "name: b}\n"
           "    - Dense: {units: 4, inputs: [b/output_3]}\n"),
     "b/output_3"},
    {MODEL("    - Reshape: {target_shape: [8, 24]}\n    - RNN: {return_state: true, cell: "
           "{StackedRNNCells: "
           "{cells: [{GRUCell: {units: 2}}]}}}\n"),
     "return_state: found true of StackedRNNCells; expected false, or one cell"},
    {MODEL("    - Reshape: {target_shape: [8, 24]}\n    - Bidirectional: {layer: {GRU: {units: 2, "
           "return_state: true}}, backward_layer: {GRU: {units: 2, go_backwards: true}}}\n"),
     "different return_state; expected the same"},
    {MODEL("    - Reshape: {target_shape: [2, 8, 12]}\n    - TimeDistributed: {layer: {GRU: "
           "{units: 2, "
           "return_state: true}}}\n"),
     "found return_state: true of GRU; expected false, for one output"},
    {MODEL("    - Reshape: {target_shape: [2, 8, 12]}\n    - TimeDistributed: {layer: "
           "{Bidirectional: {layer: {GRU: {units: 2}}, merge_mode: null}}}\n"),
     "found merge_mode: null of Bidirectional; expected concat, sum, mul or ave, for one output"},
    {MODEL("    - Reshape: {target_shape: [8, 24]}\n    - GRU: {units: 4, stateful: true}\n"),
     "stateful: found true; expected false"},
    {MODEL(
         "    - Reshape: {target_shape: [8, 24]}\n    - SimpleRNN: {units: 4, activation: gelu}\n"),
     "activation: found gelu; expected tanh, sigmoid"},
    {MODEL("    - Reshape: {target_shape: [8, 24]}\n    - LSTM: {units: 4, dropout: 1}\n"),
     "dropout: found 1|at least 0 and less than 1"},
#define EINSUM(equation, sizes, more)                                                  \
    "    - Reshape: {target_shape: [8, 24]}\n    - EinsumDense: {equation: '" equation \
    "', output_shape: " sizes more "}\n"
    {MODEL(EINSUM("abc,cd", "[8, 2]", "")), "equation: found \"abc,cd\"; expected one such as"},
    {MODEL(EINSUM("abc...,cd->abd...", "[8, 2]", "")), "expected one such as"},
    {MODEL(EINSUM("aab,bc->aac", "[8, 2]", "")), "expected one such as"},
    {MODEL(EINSUM("ab,bc->ac", "[2]", "")), "for input (None, 8, 24); expected as many letters"},
    {MODEL(EINSUM("abc,cd->bad", "[8, 2]", "")), "whose first letter, the batch, stays first"},
    {MODEL("    - EinsumDense: {equation: '...c,cdef->...def', output_shape: [1, 2, 3]}\n"),
     "expected one of 4 axes besides the batch at most"},
    {MODEL(EINSUM("abc,dc->abd", "[8, 2]", "")), "first the letters that the output lacks"},
    {MODEL(EINSUM("abc,cd->ad", "[2]", "")), "first the letters that the output lacks"},
    {MODEL(EINSUM("abc,bcd->abd", "[8, 2]", "")), "first the letters that the output lacks"},
    {MODEL(EINSUM("abc,cd->abd", "[2]", "")),
     "output_shape: found (2) for \"abc,cd->abd\"; expected 2 sizes"},
    {MODEL(EINSUM("abc,cd->abd", "[9, 2]", "")), "in which axis b is in the input 8"},
    {MODEL(EINSUM("abc,cd->abd", "[8, null]", "")), "in which axis d is the kernel's, and 0"},
    {MODEL(EINSUM("abc,cd->abd", "[8, 2]", ", bias_axes: a")), "bias_axes: found \"a\" for"},
    {MODEL(EINSUM("abc,cd->abd", "[8, 2]", ", bias_axes: 3")),
     "bias_axes: found 3; expected a string of 1 to 47"},
#define SIGNAL "    - Reshape: {target_shape: [8, 24]}\n"
    {MODEL(SIGNAL "    - LSTMCell: {units: 4}\n"),
     "found a cell by itself; expected it within RNN"},
    {MODEL(SIGNAL "    - StackedRNNCells: {cells: [{LSTMCell: {units: 4}}]}\n"),
     "found cells by themselves; expected them within RNN"},
    {MODEL(SIGNAL "    - RNN: {cell: {LSTM: {units: 4}}}\n"),
     "cell: found LSTM; expected SimpleRNNCell"},
    {MODEL(SIGNAL "    - RNN: {return_sequences: true}\n"), "cell is missing; RNN needs it"},
    {MODEL(SIGNAL "    - RNN: {cell: {StackedRNNCells: {cells: {LSTMCell: {units: 4}}}}}\n"),
     "expected a list of 1 to 16 layers"},
    {MODEL(SIGNAL "    - Bidirectional: {layer: {LSTM: {units: 4, unit: 3}}}\n"),
     "unit: unknown option; LSTM takes"},
    {MODEL(SIGNAL "    - Bidirectional: {layer: {Dense: {units: 4}}}\n"),
     "found Dense; expected SimpleRNN, LSTM"},
    {MODEL(SIGNAL "    - Bidirectional: {layer: {LSTN: {units: 4}}}\n"), "did you mean LSTM?"},
    {MODEL(SIGNAL "    - Bidirectional: {layer: {LSTM: {units: 4}}, merge_mode: add}\n"),
     "merge_mode: found \"add\"; expected concat, sum, mul or ave"},
    {MODEL(
         SIGNAL
         "    - Bidirectional: {layer: {LSTM: {units: 4}}, backward_layer: {LSTM: {units: 4}}}\n"),
     "go_backwards: false; expected one with false, and one with true"},
    {MODEL(SIGNAL
           "    - Bidirectional: {layer: {LSTM: {units: 4}}, backward_layer: {LSTM: {units: 4, "
           "go_backwards: true, return_sequences: true}}}\n"),
     "different return_sequences"},
    {MODEL(
         SIGNAL
         "    - Bidirectional: {layer: {LSTM: {units: 4}}, merge_mode: sum, backward_layer: {LSTM: "
         "{units: 5, go_backwards: true}}}\n"),
     "found outputs (4) and (5) of both layers"},
    {MODEL(
         SIGNAL
         "    - Bidirectional: {layer: {LSTM: {units: 4, name: a}}, backward_layer: {LSTM: {units: "
         "4, name: forward_a, go_backwards: true}}}\n"),
     "found two layers called forward_a"},
    {MODEL(SIGNAL "    - TimeDistributed: {layer: {Dense: {units: 4, trainable: false}}}\n"),
     "found trainable: false of a layer within TimeDistributed"},
    {MODEL(SIGNAL "    - TimeDistributed: {layer: {Dense: {units: 4, inputs: [a]}}}\n"),
     "found inputs of a layer within another"},
    {MODEL(SIGNAL "    - TimeDistributed: {layer: {Model: {layers: [Flatten]}}}\n"),
     "found a model; expected a layer"},
    {MODEL(SIGNAL "    - TimeDistributed: {layer: Add}\n"),
     "found Add; expected a layer of one input"},
    {MODEL("    - SpectralNormalization: {layer: SeparableConv2D}\n"), "filters is missing"},
    {MODEL("    - SpectralNormalization: {layer: MaxPooling2D}\n"),
     "found MaxPooling2D, which has neither 'kernel' nor 'embeddings'"},
    {MODEL(SIGNAL "    - SpectralNormalization: {layer: {LSTM: {units: 2}}}\n"),
     "found LSTM, which has neither 'kernel' nor 'embeddings'"},
    {MODEL("    - SpectralNormalization: {layer: {Conv2D: {filters: 2, kernel_size: 2}}, "
           "power_iterations: 0}\n"),
     "power_iterations: found 0"},
    {MODEL(
         SIGNAL
         "    - TimeDistributed: {layer: {SpectralNormalization: {layer: {Dense: {units: 2}}}}}\n"),
     "found SpectralNormalization; expected a layer that computes a step from that step alone"},
    {MODEL(SIGNAL "    - TimeDistributed: {layer: BatchNormalization}\n"),
     "found BatchNormalization; expected a layer that computes a step from that step alone"},
    {MODEL(SIGNAL "    - TimeDistributed: {layer: Conv2D}\n"),
     "filters is missing; Conv2D needs it"},
    {MODEL(SIGNAL "    - TimeDistributed: {layer: MaxPooling2D}\n"),
     "max_pooling2d (MaxPooling2D): found input (24); expected (height, width, channels)"},
    {MODEL("    - Flatten\n    - TimeDistributed: {layer: Flatten}\n"),
     "expected (steps, ...) of 2 dimensions"},
    {MODEL(SIGNAL
           "    - TimeDistributed: {layer: {TimeDistributed: {layer: {TimeDistributed: {layer: "
           "{TimeDistributed: {layer: {TimeDistributed: {layer: {TimeDistributed: {layer: "
           "{TimeDistributed: {layer: {TimeDistributed: {layer: Flatten}}}}}}}}}}}}}}}\n"),
     "found a layer within 8 others; expected at most 7"},
    {MODEL("    - MultiHeadAttention: {num_heads: 2, key_dim: 3, inputs: [input_layer, "
           "input_layer]}\n"),
     "found input (8, 8, 3); expected (steps, features)"},
    {MODEL("    - Reshape: {target_shape: [8, 24], name: a}\n"
           "    - MultiHeadAttention: {num_heads: 2, key_dim: 3, inputs: [a]}\n"),
     "found 1 input; expected query, value"},
    {MODEL("    - Reshape: {target_shape: [8, 24], name: a}\n"
           "    - MultiHeadAttention: {num_heads: 2, key_dim: 3, attention_axes: 2, inputs: [a, "
           "a]}\n"),
     "attention_axes: found 2; expected 1, or null"},
    {MODEL("    - Reshape: {target_shape: [8, 24], name: a}\n"
           "    - Reshape: {target_shape: [12, 16], name: b, inputs: a}\n"
           "    - MultiHeadAttention: {num_heads: 2, key_dim: 3, inputs: [a, a, b]}\n"),
     "found value (8, 24) and key (12, 16); expected as many steps"},
    {MODEL("    - Reshape: {target_shape: [8, 24], name: a}\n"
           "    - Reshape: {target_shape: [12, 16], name: b, inputs: a}\n"
           "    - Attention: {inputs: [a, b]}\n"),
     "found query (8, 24) and key (12, 16); expected as many features"},
    {MODEL("    - Reshape: {target_shape: [8, 24], name: a}\n"
           "    - Attention: {score_mode: sum, inputs: [a, a]}\n"),
     "score_mode: found \"sum\"; expected dot or concat"},
    {MODEL("    - Conv2D: {filters: 4, kernel_size: 3, data_format: channels_first}\n"),
     "data_format: found \"channels_first\"; expected \"channels_last\""},
    {MODEL("    - Flatten\n    - MaxPooling2D\n"),
     "max_pooling2d (MaxPooling2D): found input (192)|(height, width, channels)"},
    {MODEL("    - Reshape: {target_shape: [5, 5]}\n"), "found target_shape (5, 5)|192 elements"},
    {MODEL("    - Reshape: {target_shape: [-1, -1]}\n"), "target_shape (-1, -1)|one of them"},
    {MODEL("    - Reshape: {target_shape: [-1, 7]}\n"), "target_shape (-1, 7)|192 elements"},
    {MODEL("    - Dropout: {rate: 1}\n"), "rate: found 1|at least 0 and less than 1"},
    {MODEL("    - GaussianDropout: {rate: 1}\n"), "rate: found 1|at least 0 and less than 1"},
    {MODEL("    - GaussianNoise: {stddev: 1.5}\n"), "stddev: found 1.5|from 0 to 1"},
    {MODEL("    - RandomPerspective: {factor: 0.1}\n"),
     "model.layers[0]: cornu has no layer RandomPerspective|the recipe's data.augment"},
    {MODEL("    - RandomFlip: {mode: both}\n"), "mode: found \"both\"|horizontal_and_vertical"},
    {MODEL("    - RandomFlip: {data_format: channels_first}\n"), "data_format|channels_last"},
    {MODEL("    - RandomRotation: {}\n"), "factor is missing; RandomRotation needs it"},
    {MODEL("    - RandomRotation: {factor: 1.5}\n"), "factor: found 1.5|a number from -1 to 1"},
    {MODEL("    - RandomRotation: {factor: [0.1, 1.5]}\n"), "factor|found 1.5|from -1 to 1"},
    {MODEL("    - RandomRotation: {factor: [0.1]}\n"), "factor|a number or two from -1 to 1"},
    {MODEL("    - RandomRotation: {factor: 0.1, fill_mode: mirror}\n"),
     "fill_mode: found \"mirror\"|reflect"},
    {MODEL("    - RandomRotation: {factor: 0.1, interpolation: bicubic}\n"),
     "interpolation: found \"bicubic\"|bilinear"},
    {MODEL("    - RandomZoom: {height_factor: -1}\n"), "height_factor: found -1|greater than -1"},
    {MODEL("    - RandomZoom: {height_factor: 0.1, width_factor: 2}\n"),
     "width_factor: found 2|at most 1 or null"},
    {MODEL("    - RandomTranslation: {height_factor: 0.1}\n"),
     "width_factor is missing; RandomTranslation needs it"},
    {MODEL("    - RandomContrast: {factor: -0.1}\n"), "factor: found -0.1|from 0 to 1"},
    {MODEL("    - RandomContrast: {factor: 0.1, value_range: 255}\n"),
     "value_range: found 255|[0, 255]"},
    {MODEL("    - RandomBrightness: {factor: [0.1, -2]}\n"), "factor|found -2|from -1 to 1"},
    {MODEL("    - RandomCrop: {height: 0, width: 2}\n"), "height: found 0|1"},
    {"model: {input: [3, 4], layers: [{TimeDistributed: {layer: {GaussianNoise: {stddev: 1}}}}]}",
     "found GaussianNoise; expected a layer that computes a step from that step alone"},
    {"model: {input: [3, 4, 4, 3], layers: [{TimeDistributed: {layer: Solarization}}]}",
     "found Solarization; expected a layer that computes a step from that step alone"},
    {MODEL("    - RandomHue: {factor: -0.1}\n"), "factor: found -0.1|from 0 to 1"},
    {MODEL("    - RandomPosterization: {factor: 9}\n"), "factor: found 9|from 1 to 8"},
    {MODEL("    - RandomGrayscale: {factor: 1.5}\n"), "factor: found 1.5|from 0 to 1"},
    {MODEL("    - RandomErasing: {fill_value: [1, 2]}\n"),
     "fill_value: found 2 numbers; expected one, or one for each of 3 channels"},
    {MODEL("    - RandomColorJitter: {hue_factor: 2}\n"), "hue_factor: found 2|from 0 to 1"},
    {"model: {input: [4, 4, 1], layers: [{RandomSaturation: {factor: 0.1}}]}",
     "RandomSaturation|found input (None, 4, 4, 1); expected 3 channels"},
    {"model: {input: [4, 4, 2], layers: [RandomGrayscale]}",
     "RandomGrayscale|found input (None, 4, 4, 2); expected 3 channels, or 1"},
    {MODEL("    - RandomShear: {x_factor: -0.1}\n"), "x_factor: found -0.1|from 0 to 1"},
    {MODEL("    - Resizing: {height: 3}\n"), "width is missing; Resizing needs it"},
    {MODEL("    - Resizing: {height: 3, width: 2, interpolation: bicubic}\n"),
     "interpolation: found \"bicubic\"|bilinear"},
    {MODEL("    - Resizing: {height: 3, width: 2, antialias: true}\n"), "antialias|false"},
    {MODEL("    - Resizing: {height: 3, width: 2, crop_to_aspect_ratio: true, "
           "pad_to_aspect_ratio: true}\n"),
     "found crop_to_aspect_ratio and pad_to_aspect_ratio"},
    {MODEL("    - CenterCrop: {height: 3, width: 0}\n"), "width: found 0|1"},
    {"model:\n  input: [5]\n  layers:\n    - RandomFlip\n",
     "RandomFlip|found input (5); expected (height, width, channels)"},
    {MODEL("    - CategoryEncoding\n"),
     "num_tokens: found null; expected the number of categories"},
    {MODEL("    - CategoryEncoding: {num_tokens: 0}\n"), "num_tokens: found 0|from 1"},
    {MODEL("    - CategoryEncoding: {num_tokens: 3, output_mode: int}\n"),
     "output_mode: found \"int\"|multi_hot"},
    {MODEL("    - CategoryEncoding: {num_tokens: 3, sparse: true}\n"), "sparse|false"},
    {MODEL("    - CategoryEncoding: {num_tokens: 3}\n"),
     "found input (None, 8, 8, 3); expected (categories), or output_mode one_hot"},
    {"model: {input: [4, 4, 1, 2], layers: [{CategoryEncoding: {num_tokens: 2, output_mode: "
     "one_hot}}]}",
     "found input (None, 4, 4, 1, 2); expected one axis less"},
    {MODEL("    - Discretization\n"), "found neither bin_boundaries nor num_bins"},
    {MODEL("    - Discretization: {num_bins: 1}\n"), "num_bins: found 1|from 2"},
    {MODEL("    - Discretization: {num_bins: 3, epsilon: 0}\n"), "epsilon: found 0|greater than 0"},
    {MODEL("    - Discretization: {bin_boundaries: 1}\n"),
     "bin_boundaries: found an array of shape (); expected a list of numbers"},
    {MODEL("    - Discretization: {bin_boundaries: [1, 2, 1.5]}\n"),
     "bin_boundaries: found 1.5 after 2; expected ascending numbers"},
    {MODEL("    - Normalization: {mean: 0}\n"), "found mean without variance|both or none"},
    {MODEL("    - Normalization: {mean: 0, variance: [1, 2, 3]}\n"),
     "mean of shape ()|variance of shape (3)|equal shapes"},
    {MODEL("    - Normalization: {mean: [1, 2], variance: [1, 2]}\n"),
     "mean: found shape (2) for input (None, 8, 8, 3)|sizes of axis"},
    {MODEL("    - Normalization: {axis: 0}\n"), "axis 0 for input|0 is the batch"},
    {MODEL("    - Normalization: {axis: [1, -3]}\n"), "axis: found dimension 1 twice"},
    {"model: net.json\n", "model: found \"net.json\"|in a recipe that is a file"},
    {MODEL("    - BatchNormalization: {axis: 1}\n"), "found axis 1; expected -1"},
    {MODEL("    - BatchNormalization: {epsilon: -1}\n"), "epsilon: found -1|greater than 0"},
    {MODEL("    - ReLU: {max_value: -1}\n"), "max_value: found -1|from 0 to"},
    {MODEL("    - ReLU: {threshold: null}\n"), "threshold: found null|from 0 to"},
    {MODEL("    - PReLU: {shared_axes: [0]}\n"), "shared_axes: found 0|expected 1 to 3"},
    {MODEL("    - Celu: {alpha: 0}\n"), "alpha: found 0|greater than 0"},
    {MODEL("    - Glu: {axis: 0}\n"), "found axis 0|expected 1 to 3"},
    {MODEL("    - Glu: {axis: -1}\n"), "expected an even number"},
    {MODEL("    - Activation: {activation: glu}\n"),
     "activation: found \"glu\"; expected one that keeps the shape|Glu is a layer"},
    {MODEL("    - Activation: {activation: threshold}\n"),
     "found \"threshold\"; expected one without numbers|Threshold is a layer"},
    {MODEL("    - Activation: {activation: gelu_tanh}\n"), "unknown activation"},
    {MODEL("    - Softmax: {axis: 0}\n"), "found axis 0|expected 1 to 3"},
    {MODEL("    - Softmax: {axis: [1, -3]}\n"), "found axis 1|twice; expected each once"},
    {MODEL("    - Rescaling\n"), "scale is missing; Rescaling needs it"},
    {MODEL("    - ZeroPadding2D: {padding: -1}\n"), "padding: found -1|from 0 to"},
    {MODEL("    - Flatten: {a: 1}\n"), "Flatten.a: unknown option; Flatten takes name"},
    {MODEL("    - 3\n"), "model.layers[0]: found 3; expected a layer: NAME, or {NAME:"},
    {MODEL("    - {Dense: {units: 3}, Flatten: {}}\n"), "expected a layer"},
    {MODEL("    - Dense: 7\n"), "model.layers[0].Dense: found 7; expected a map of options"},
    {MODEL("    - Dense: {units: 3, units: 4}\n"), "twice"},
    {COMPILE("{loss: mse}"), "test.yaml:6: compile: optimizer is missing"},
    {COMPILE("{optimizer: sgd}"), "compile: loss is missing"},
    {COMPILE("sgd"), "compile: found \"sgd\"; expected a map"},
    {COMPILE("{optimizer: sgdd, loss: mse}"), "unknown optimizer \"sgdd\"; did you mean sgd?"},
    {COMPILE("{optimizer: muon, loss: mse}"),
     "unknown optimizer \"muon\", which Keras has and cornu has not"},
    {COMPILE("{optimizer: sgd, loss: cross}"), "compile.loss: unknown loss \"cross\"; cornu has"},
    {COMPILE("{optimizer: sgd, los: mse}"), "compile.los: unknown option|(did you mean loss?)"},
    {COMPILE("{optimizer: {sgd: {lr: 1}}, loss: mse}"),
     "compile.optimizer.sgd.lr: unknown option; sgd takes learning_rate, momentum"},
    {COMPILE("{optimizer: {sgd: {learning_rate: -1}}, loss: mse}"), "learning rate of at least 0"},
    {COMPILE("{optimizer: {sgd: {learning_rate: .nan}}, loss: mse}"),
     "learning rate of at least 0"},
    {COMPILE("{optimizer: {sgd: {learning_rate: fast}}, loss: mse}"), "unknown schedule \"fast\""},
    {COMPILE("{optimizer: {sgd: {momentum: 1.5}}, loss: mse}"), "momentum: found 1.5|less than 1"},
    {COMPILE("{optimizer: {adam: {use_ema: 3}}, loss: mse}"), "use_ema: found 3|true or false"},
    {COMPILE("{optimizer: {adam: {use_ema: true, ema_momentum: 1.5}}, loss: mse}"),
     "ema_momentum: found 1.5|0 to 1"},
    {COMPILE("{optimizer: {adam: {use_ema: true, ema_overwrite_frequency: 0}}, loss: mse}"),
     "ema_overwrite_frequency: found 0|from 1 to"},
    {COMPILE("{optimizer: {adam: {gradient_accumulation_steps: 1}}, loss: mse}"),
     "gradient_accumulation_steps: found 1|from 2 to"},
    {COMPILE("{optimizer: {adam: {clipnorm: 1, clipvalue: 1}}, loss: mse}"),
     "more than one of clipnorm"},
    {COMPILE("{optimizer: adamw, loss: mse, exclude_from_weight_decay: bias}"),
     "exclude_from_weight_decay: found \"bias\"; expected a list"},
    {COMPILE("{optimizer: adamw, loss: mse, exclude_from_weight_decay: [bias, 3]}"),
     "found 3; expected a part of a weight's name"},
    {COMPILE("{optimizer: {adam: {clipnorm: 0}}, loss: mse}"), "clipnorm: found 0|greater than 0"},
    {COMPILE("{optimizer: {sgd: {learning_rate: {cosine: {initial_learning_rate: 1}}}}, loss: "
             "mse}"),
     "decay_steps is missing; cosine needs it"},
    {COMPILE("{optimizer: {sgd: {learning_rate: {step: {boundaries: [1], values: [1]}}}}, loss: "
             "mse}"),
     "1 value for 1 boundary"},
    {COMPILE("{optimizer: {sgd: {learning_rate: {step: {boundaries: [2, 1], values: [1, 2, 3]}}}},"
             " loss: mse}"),
     "boundary 1 after 2|rising"},
    {COMPILE("{optimizer: sgd, loss: {mean_squared_error: {from_logits: true}}}"),
     "from_logits: unknown option"},
    {COMPILE("{optimizer: sgd, loss: {categorical_crossentropy: {label_smoothing: 1.1}}}"),
     "label_smoothing: found 1.1; expected a number from 0 to 1"},
    {COMPILE("{optimizer: sgd, loss: {mean_squared_error: {label_smoothing: 0.1}}}"),
     "label_smoothing: found 0.1; expected 0.0"},
    {COMPILE("{optimizer: sgd, loss: {huber: {delta: wide}}}"), "delta: found \"wide\"|a number"},
    {TRACED("model: {inputs: {t: [4], p: [4]}, layers: [{Subtract: {inputs: [t, p]}}]}, by: sum"),
     "by: unknown option"},
    {TRACED("reduction: sum"), "traced: model is missing"},
    {TRACED("targets: none, model: {inputs: {t: [4], p: [4]}, layers: [{Subtract: {inputs: [t, "
            "p]}}]}"),
     "targets: found \"none\"|classes"},
    {TRACED("model: {inputs: {t: [3], p: [4]}, layers: [{Dense: {inputs: [p], units: 2}}]}"),
     "found the weight dense/kernel; expected operations without weights"},
    {TRACED("model: {inputs: {t: [3], p: [4]}, layers: [{Square: {inputs: [p]}}]}"),
     "found a target of shape (None, 3); expected (None, 4)"},
    {TRACED(
         "targets: classes, model: {inputs: {t: [4], p: [4]}, layers: [{Square: {inputs: [p]}}]}"),
     "found a target of shape (None, 4); expected (None, 1)"},
    {TRACED("model: {inputs: {t: [4], p: [5]}, layers: [{Square: {inputs: [p]}}]}"),
     "found an output of shape (None, 5); expected (None, 4)"},
    {TRACED("model: {inputs: {t: [4], p: [4]}, layers: [{Dropout: {inputs: [p], rate: 0.1}}]}"),
     "found Dropout; expected operations without random numbers"},
    {TRACED("model: {input: [4], layers: [Square]}"), "found 1 inputs and 1 outputs; expected two"},
    {COMPILE("{optimizer: sgd, loss: {class_name: f, color: 1, traced: 3}}"), "color"},
    {COMPILE("{optimizer: sgd, loss: {class_name: f, traced: 3}}"),
     "traced: found 3; expected a map"},
    {COMPILE("{optimizer: sgd, loss: traced loss}"), "unknown loss \"traced loss\""},
    {COMPILE("{optimizer: sgd, loss: mse, metrics: [{class_name: f, called: 3}]}"),
     "called: found 3; expected the metric's name"},
    {COMPILE("{optimizer: sgd, loss: mse, metrics: [{class_name: f, called: loss}]}"),
     "called: found \"loss\"|not the name of another column"},
    {COMPILE("{optimizer: sgd, loss: mse, metrics: [{class_name: f, called: a, color: 1}]}"),
     "color"},
    {COMPILE("{optimizer: sgd, loss: {mse: {reduction: null}}}"),
     "reduction: found null; expected sum_over_batch_size, sum, mean or auto"},
    {COMPILE("{optimizer: sgd, loss: {cosine_similarity: {axis: 1}}}"),
     "axis: found 1; expected -1"},
    {COMPILE("{optimizer: sgd, loss: {CategoricalGeneralizedCrossEntropy: {q: 1}}}"),
     "q: found 1; expected a number greater than 0 and less than 1"},
    {COMPILE("{optimizer: sgd, loss: mse, metrics: [acuracy]}"),
     "compile.metrics[0]: unknown metric \"acuracy\"; did you mean accuracy?"},
    {COMPILE("{optimizer: sgd, loss: mse, metrics: accuracy}"), "expected a list of at most 64"},
    {COMPILE("{optimizer: sgd, loss: mse, metrics: [{precision: {class_id: 4}}]}"),
     "class_id: found 4; expected 0 to 3, or null"},
    {COMPILE("{optimizer: sgd, loss: mse, metrics: [{precision: {top_k: 5}}]}"),
     "top_k: found 5; expected at most 4, the number of outputs"},
    {COMPILE("{optimizer: sgd, loss: mse, metrics: [{recall: {thresholds: [0.1, 1.2]}}]}"),
     "thresholds[1]: found 1.2; expected a number from 0 to 1"},
    {COMPILE("{optimizer: sgd, loss: mse, metrics: [{auc: {num_labels: 4}}]}"),
     "num_labels: found 4; expected null or, with multi_label, 4"},
    {COMPILE("{optimizer: sgd, loss: mse, metrics: [{auc: {label_weights: [1, 2]}}]}"),
     "label_weights: found 2; expected 4, one for each output"},
    {COMPILE("{optimizer: sgd, loss: mse, metrics: [{auc: {curve: roe}}]}"),
     "curve: found \"roe\"; expected ROC, PR"},
    {COMPILE("{optimizer: sgd, loss: mse, metrics: [{auc: {num_thresholds: 1}}]}"),
     "num_thresholds: found 1; expected a whole number from 2 to"},
    {COMPILE("{optimizer: sgd, loss: mse, metrics: [{auc: {num_thresholds: 100000}}]}"),
     "auc: found a table of 200002 numbers; expected at most 131072"},
    {COMPILE("{optimizer: sgd, loss: mse, metrics: [PrecisionAtRecall]}"),
     "recall is missing; precision_at_recall needs it"},
    {COMPILE("{optimizer: sgd, loss: mse, metrics: [{f1_score: {threshold: 0}}]}"),
     "threshold: found 0; expected a number"},
    {COMPILE("{optimizer: sgd, loss: mse, metrics: [{OneHotIoU: {num_classes: 4, "
             "target_class_ids: [4]}}]}"),
     "target_class_ids: found 4; expected at most 3"},
    {COMPILE("{optimizer: sgd, loss: mse, metrics: [{BinaryIoU: {target_class_ids: [0.5]}}]}"),
     "target_class_ids[0]: found 0.5; expected a whole number"},
    {COMPILE("{optimizer: sgd, loss: mse, metrics: [{MeanIoU: {num_classes: 4, sparse_y_true: "
             "false}}]}"),
     "sparse_y_pred: found true with one-hot targets; expected false"},
    {COMPILE("{optimizer: sgd, loss: mse, metrics: [{MeanIoU: {num_classes: 4, sparse_y_pred: "
             "false}}]}"),
     "mean_io_u wants class numbers as targets|one value per output"},
    {COMPILE("{optimizer: sgd, loss: mse, metrics: [{accuracy: {name: loss}}]}"),
     "compile.metrics[0].accuracy.name: found \"loss\"; expected 1 to 63|another column"},
    {COMPILE("{optimizer: sgd, loss: mse, metrics: [{accuracy: {name: \"a,b\"}}]}"),
     "name: found \"a,b\"|without commas"},
    {COMPILE("{optimizer: sgd, loss: mse, metrics: [{accuracy: {name: \"\"}}]}"), "1 to 63"},
    {COMPILE("{optimizer: sgd, loss: mse, metrics: [{accuracy: {name: val_x}}]}"), "val_..."},
    {COMPILE("{optimizer: sgd, loss: mse, metrics: [{accuracy: {name: 3}}]}"), "name: found 3"},
    {COMPILE("{optimizer: sgd, loss: {circle: {gama: 2}}}"), "gama: unknown option|gamma, margin"},
    {COMPILE("{optimizer: sgd, loss: circle, metrics: [mae]}"),
     "found a metric of an output whose loss is circle; expected none"},
    {MODEL(
         "    - Conv2D: {filters: 2, kernel_size: 3}\n") "compile: {optimizer: sgd, loss: circle}",
     "circle: found an output of shape (None, 6, 6, 2); expected a row of numbers"},
    {COMPILE("{optimizer: sgd, loss: {dice: {axis: 0}}}"),
     "axis: found 0; expected null (all samples|axes of a sample"},
    {COMPILE("{optimizer: sgd, loss: {tversky: {axis: [1, -1]}}}"), "axis: found -1; expected"},
    {COMPILE("{optimizer: sgd, loss: mse, metrics: [{top_k_categorical_accuracy: {k: 0}}]}"),
     "k: found 0|from 1 to"},
    {COMPILE("{optimizer: sgd, loss: sparse_categorical_crossentropy, metrics: "
             "[categorical_accuracy]}"),
     "compile.metrics[0]: categorical_accuracy wants one value per output|class numbers"},
    {COMPILE("{optimizer: sgd, loss: mse, metrics: [sparse_categorical_accuracy]}"),
     "sparse_categorical_accuracy wants class numbers"},
    {MODEL("    - Flatten\n    - Dense: {units: 1}\n") "compile: {optimizer: sgd, loss: "
                                                       "categorical_crossentropy}\n",
     "at least 2 outputs, found 1|binary_crossentropy"},
    {DENSE "fit: {batch_size: 0}\n", "fit.batch_size: found 0|from 1 to"},
    {DENSE "fit: {epochs: -1}\n", "fit.epochs: found -1|from 1 to"},
    {DENSE "fit: {validation_data: test}\n",
     "fit.validation_data: unknown option|(did you mean validation?)"},
    {DENSE "fit: {batch: 3}\n", "fit.batch: unknown option|(did you mean batch_size?)"},
    {DENSE "fit: 3\n", "fit: found 3; expected a map"},
    {DENSE "name: 3\n", "name"},
};

static void every_bad_recipe_is_refused_with_place_and_mend(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cornu_model *m = (cornu_model *)1;
        cornu_status status = cornu_model_parse(cases[i].recipe, "test.yaml", &m);
        if (status != CORNU_INVALID)
            fail_msg("status %d for: %s", status, cases[i].recipe);
        assert_null(m);
        must_say(cases[i].says);
        assert_null(strchr(cornu_last_error(), '\n'));
    }
}

static void a_thousand_layers_are_the_most(void **state)
{
    (void)state;
    text t = {0};
    cornu_model *m;
    text_add(&t, "model:\n  input: [3]\n  layers:\n");
    for (int i = 0; i < 999; i++)
        text_add(&t, "    - ReLU\n");
    m = make_model(t.data);
    assert_int_equal(m->layer_count, 1000);
    cornu_model_close(m);
    text_add(&t, "    - ReLU\n");
    assert_int_equal(cornu_model_parse(t.data, "test.yaml", &m), CORNU_INVALID);
    must_say("test.yaml:1003|more than 1000 layers");
    text_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bad_recipe_is_refused_with_place_and_mend),
        cmocka_unit_test(a_thousand_layers_are_the_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
