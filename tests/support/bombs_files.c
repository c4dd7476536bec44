/* Files of at most 1 MB that are no pictures: recipes, model files, data sets. */
#include "support/bombs.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { ROOM = 999000 };

static void fill(bytes *out, const char *piece, size_t least)
{
    while (out->size < least)
        put_text(out, piece);
}

/* ---- recipes ---- */

static void put_directives(bytes *out)
{
    char line[64];
    for (int i = 0; out->size < ROOM - 100000; i++)
        put(out, line, (size_t)snprintf(line, sizeof line, "%%TAG !%d! tag:x,2000:\n", i));
    put_text(out, "---\n{}\n");
}

static void recipe_yaml(bytes *out)
{
    put_text(out, "name: x\nmodel:\n  input: [28, 28, 1]\n  layers:\n");
    fill(out, "  - ReLU\n", ROOM);
}

static void recipe_json(bytes *out)
{
    put_text(out, "{\"model\": {\"input\": [");
    fill(out, "[],", ROOM);
    put_text(out, "1]}}");
}

static void recipe_of_one_word(bytes *out)
{
    put_text(out, "model:\n  input: [2]\n  layers:\n    - ");
    fill(out, "Dense", ROOM);
}

/* ---- networks that branch ---- */

static void put_input(bytes *out)
{
    put_text(out,
             "{\"class_name\": \"Functional\", \"config\": {\"name\": \"x\", "
             "\"input_layers\": [\"0\", 0, 0], \"output_layers\": [\"1\", 0, 0], "
             "\"layers\": [{\"class_name\": \"InputLayer\", \"name\": \"0\", "
             "\"inbound_nodes\": [], \"config\": {\"name\": \"0\", \"batch_shape\": [null, 3]}}");
}

/* A sum of `links` times the output of layer `from`. */
static void put_sum(bytes *out, int number, int from, int links)
{
    char line[200];
    put(out, line,
        (size_t)snprintf(line, sizeof line,
                         ", {\"class_name\": \"Add\", \"name\": \"%d\", \"config\": {\"name\": "
                         "\"%d\"}, \"inbound_nodes\": [[[\"%d\", 0, 0]",
                         number, number, from));
    snprintf(line, sizeof line, ", [\"%d\", 0, 0]", from);
    for (int i = 1; i < links; i++)
        put_text(out, line);
    put_text(out, "]]}");
}

/* As large as a network may be, and each layer comes before the one that it reads. */
static void config_in_reverse(bytes *out)
{
    enum { LAYERS = 998 };
    put_input(out);
    for (int i = 1; i < LAYERS; i++)
        put_sum(out, i, i + 1, 10);
    put_sum(out, LAYERS, 0, 10);
    put_text(out, "]}}");
}

static void config_of_links(bytes *out)
{
    put_input(out);
    for (int i = 1; i < 9; i++)
        put_sum(out, i, i + 1, 8000);
    put_sum(out, 9, 0, 1);
    put_text(out, "]}}");
}

static void config_of_cycles(bytes *out)
{
    put_input(out);
    for (int i = 1; i < 700; i++)
        put_sum(out, i, i % 699 + 1, 14);
    put_text(out, "]}}");
}

static void config_of_layers(bytes *out)
{
    put_input(out);
    for (int i = 1; out->size < ROOM - 300; i++)
        put_sum(out, i, i + 1, 1);
    put_text(out, "]}}");
}

/* A model within the model, which is called again and again on what it gave before. */
static void config_of_models(bytes *out)
{
    char line[80];
    put_input(out);
    put_text(out,
             ", {\"class_name\": \"Functional\", \"name\": \"m\", \"config\": {\"name\": \"m\", "
             "\"input_layers\": [\"a\", 0, 0], \"output_layers\": [\"b\", 0, 0], "
             "\"layers\": [{\"class_name\": \"InputLayer\", \"name\": \"a\", \"inbound_nodes\": "
             "[], \"config\": {\"name\": \"a\", \"batch_shape\": [null, 3]}}, {\"class_name\": "
             "\"ReLU\", \"name\": \"b\", \"config\": {\"name\": \"b\"}, \"inbound_nodes\": "
             "[[[\"a\", 0, 0]]]}]}, \"inbound_nodes\": [[[\"0\", 0, 0]]");
    for (int i = 1; i < 498; i++)
        put(out, line, (size_t)snprintf(line, sizeof line, ", [[\"m\", %d, 0]]", i));
    put_text(out, "]}");
    put_sum(out, 1, 0, 1);
    put_text(out, "]}}");
}

static void put_wide(bytes *out, const char *class_name, int links)
{
    put_text(out, "model:\n  input: [2]\n  layers:\n    - ReLU: {name: r}\n    - ");
    put_text(out, class_name);
    put_text(out, ": {inputs: [r");
    for (int i = 1; i < links; i++)
        put_text(out, ",r");
    put_text(out, "]}\ncompile: {optimizer: adam, loss: mse}\n");
}

static void recipe_of_links(bytes *out)
{
    put_wide(out, "Concatenate", 490000);
}

/* As many as there may be. */
static void recipe_of_a_sum(bytes *out)
{
    put_wide(out, "Add", 9999);
}

static void recipe_of_a_row(bytes *out)
{
    put_wide(out, "Concatenate", 9999);
}

static void recipe_of_outputs(bytes *out)
{
    put_text(out, "model: {input: [2], layers: [{ReLU: {name: r}}], outputs: [r");
    for (int i = 1; i < 490000; i++)
        put_text(out, ",r");
    put_text(out, "]}\n");
}

/* As deep and as many models within models as there may be. */
static void recipe_of_models(bytes *out)
{
    enum { DEPTH = 8, CALLS = 110 };
    put_text(out, "model: {input: [3], layers: [");
    for (int i = 0; i < DEPTH; i++)
        put_text(out, "{Model: {name: m, layers: [");
    put_text(out, "ReLU");
    for (int i = 0; i < DEPTH; i++)
        put_text(out, "]}}");
    for (int i = 1; i < CALLS; i++)
        put_text(out, ", {Call: {layer: m}}");
    put_text(out, "]}\ncompile: {optimizer: adam, loss: mse}\n");
}

static void recipe_of_reshapes(bytes *out)
{
    put_text(out, "model:\n  input: [6]\n  layers:\n");
    for (int i = 0; i < 240; i++)
        put_text(out,
                 "    - Reshape: {target_shape: [2, 3]}\n    - Reshape: {target_shape: [6]}\n");
    put_text(out, "    - Reshape: {target_shape: [6, 1], name: r}\n    - Reshape: {target_shape: "
                  "[6], name: s}\n");
    for (int i = 0; i < 500; i++)
        put_text(out, "    - Dense: {units: 6}\n");
    put_text(out, "compile: {optimizer: adam, loss: mse}\n");
}

/* ---- safetensors ---- */

static void put_safetensors(bytes *out, const bytes *header, size_t data_size)
{
    put_little(out, header->size, 8);
    put(out, header->data, header->size);
    for (size_t i = 0; i < data_size; i++)
        put(out, "", 1);
}

static void header_of_lists(bytes *out)
{
    bytes header = {0};
    put_text(&header, "{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,0],\"shape\":[");
    fill(&header, "[],", ROOM);
    put_text(&header, "[]]}}");
    put_safetensors(out, &header, 0);
    free(header.data);
}

static void header_of_tensors(bytes *out)
{
    bytes header = {0};
    char entry[128];
    put_text(&header, "{\"__metadata__\":{\"format\":\"cornu 1\"}");
    for (int i = 0; header.size < ROOM; i++) {
        snprintf(entry, sizeof entry,
                 ",\"%d\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}", i);
        put_text(&header, entry);
    }
    put_text(&header, "}");
    put_safetensors(out, &header, 0);
    free(header.data);
}

static void header_of_metadata(bytes *out)
{
    bytes header = {0};
    char entry[64];
    put_text(&header, "{\"__metadata__\":{\"format\":\"cornu 1\"");
    for (int i = 0; header.size < ROOM; i++) {
        snprintf(entry, sizeof entry, ",\"%d\":\"\"", i);
        put_text(&header, entry);
    }
    put_text(&header, "}}");
    put_safetensors(out, &header, 0);
    free(header.data);
}

static void recipe_of_directives(bytes *out)
{
    bytes header = {0}, recipe = {0};
    put_directives(&recipe);
    put_text(&header, "{\"__metadata__\":{\"format\":\"cornu 1\",\"keras_config\":\"");
    for (size_t i = 0; i < recipe.size; i++)
        put_text(&header, recipe.data[i] == '\n' ? "\\n" : (char[]){(char)recipe.data[i], 0});
    put_text(&header, "\"}}");
    put_safetensors(out, &header, 0);
    free(header.data);
    free(recipe.data);
}

/* ---- NumPy ---- */

static void put_npy_head(bytes *out, const char *type, const char *shape)
{
    char head[256];
    int length =
        snprintf(head, sizeof head, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }\n",
                 type, shape);
    put(out, "\x93NUMPY\1\0", 8);
    put_little(out, (uint64_t)length, 2);
    put(out, head, (size_t)length);
}

static void npy(bytes *out)
{
    put_npy_head(out, "|u1", "1000000000000, 1");
    fill(out, "x", ROOM);
}

typedef struct archive {
    bytes *out, directory;
    int count;
} archive;

/* A member of one array: `pieces` times 1 MiB of zeros. */
static void add_array(archive *a, const char *name, const char *type, const char *shape, int pieces)
{
    enum { PIECE = 1 << 20 };
    bytes head = {0}, packed = {0}, entry = {0};
    char *zeros = calloc(1, PIECE);
    size_t at = a->out->size;
    put_npy_head(&head, type, shape);
    uLong checksum = crc32(0, head.data, (uInt)head.size);
    for (int i = 0; i < pieces && pieces < 64; i++) /* others are refused before the end */
        checksum = crc32(checksum, (Bytef *)zeros, PIECE);
    /* the head as a stored block, then deflated zeros */
    put_little(&packed, 0, 1);
    put_little(&packed, head.size, 2);
    put_little(&packed, ~head.size, 2);
    put(&packed, head.data, head.size);
    put_deflated(&packed, zeros, PIECE, pieces, -15);
    put_little(&entry, 20, 2);
    put_little(&entry, 0, 2);
    put_little(&entry, 8, 2);
    put_little(&entry, 0, 4); /* time and date */
    put_little(&entry, checksum, 4);
    put_little(&entry, packed.size, 4);
    put_little(&entry, head.size + (uint64_t)pieces * PIECE, 4);
    put_little(&entry, strlen(name), 2);
    put(a->out, "PK\3\4", 4);
    put(a->out, entry.data, entry.size);
    put_little(a->out, 0, 2);
    put_text(a->out, name);
    put(a->out, packed.data, packed.size);
    put(&a->directory, "PK\1\2\24\0", 6);
    put(&a->directory, entry.data, entry.size);
    put_little(&a->directory, 0, 8);
    put_little(&a->directory, 0, 4);
    put_little(&a->directory, at, 4);
    put_text(&a->directory, name);
    a->count++;
    free(zeros);
    free(head.data);
    free(packed.data);
    free(entry.data);
}

static void close_archive(archive *a)
{
    size_t at = a->out->size;
    put(a->out, a->directory.data, a->directory.size);
    put(a->out, "PK\5\6\0\0\0\0", 8);
    put_little(a->out, (uint64_t)a->count, 2);
    put_little(a->out, (uint64_t)a->count, 2);
    put_little(a->out, a->directory.size, 4);
    put_little(a->out, at, 4);
    put_little(a->out, 0, 2);
    free(a->directory.data);
}

static void npz_of_zeros(bytes *out)
{
    archive a = {.out = out};
    add_array(&a, "x_train.npy", "|u1", "943718400, 1", 900);
    add_array(&a, "y_train.npy", "|u1", "943718400, 1", 1);
    close_archive(&a);
}

/* A file at the limit whose content grows: class numbers of a byte become four. */
static void npz_within(bytes *out)
{
    archive a = {.out = out};
    add_array(&a, "x_train.npy", "|u1", "49283072, 1", 47);
    add_array(&a, "y_train.npy", "|u1", "49283072,", 47);
    close_archive(&a);
}

static void npz_of_members(bytes *out)
{
    archive a = {.out = out};
    char name[32];
    while (a.out->size + a.directory.size < ROOM) {
        snprintf(name, sizeof name, "%d.npy", a.count);
        add_array(&a, name, "|u1", "0,", 0);
    }
    close_archive(&a);
}

/* ---- HDF5 ---- */

static void put_message(bytes *header, int type, const bytes *message)
{
    size_t size = (message->size + 7) / 8 * 8;
    put_little(header, (uint64_t)type, 2);
    put_little(header, size, 2);
    put_little(header, 0, 4);
    put(header, message->data, message->size);
    for (size_t i = message->size; i < size; i++)
        put(header, "", 1);
}

/* A member of the group that is the group itself. */
static void put_cycle(bytes *header, char name, uint64_t address)
{
    bytes link = {0};
    put(&link, "\1\0\1", 3);
    put(&link, &name, 1);
    put_little(&link, address, 8);
    put_message(header, 6, &link);
    free(link.data);
}

/* A list of `count` texts of length 0. */
static void put_texts(bytes *header, unsigned count)
{
    bytes a = {0};
    put(&a, "\3\0\2\0\x14\0\x0c\0\0a\0", 11); /* version 3, sizes of the following fields */
    put(&a, "\x19\1\0\0\x10\0\0\0\x13\0\0\0\1\0\0\0\0\0\0\0", 20); /* texts of any length */
    put(&a, "\2\1\0\1", 4);
    put_little(&a, count, 8);
    for (unsigned i = 0; i < count; i++)
        put(&a, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
    put_message(header, 12, &a);
    free(a.data);
}

static void hdf5_of_cycles(bytes *out)
{
    enum { ROOT = 96 };
    bytes header = {0};
    while (header.size + 4000 * 16 + 200 < ROOM)
        put_texts(&header, 4000);
    for (char name = 'A'; name <= 'Z'; name++)
        put_cycle(&header, name, ROOT);
    put(out, "\x89HDF\r\n\x1a\n\0\0\0\0\0\x08\x08\0\4\0\x10\0\0\0\0\0", 24);
    put_little(out, 0, 8);
    put_little(out, UINT64_MAX, 8);
    put_little(out, ROOT + 16 + header.size, 8);
    put_little(out, UINT64_MAX, 8);
    put_little(out, 0, 8);
    put_little(out, ROOT, 8);
    for (int i = 0; i < 3; i++)
        put_little(out, 0, 8);
    out->size = ROOT;
    put(out, "\1\0\0\0\1\0\0\0", 8);
    put_little(out, header.size, 4);
    put_little(out, 0, 4);
    put(out, header.data, header.size);
    free(header.data);
}

static void keras_of_zeros(bytes *out)
{
    archive a = {.out = out};
    add_array(&a, "model.weights.h5", "|u1", "20000000,", 19);
    close_archive(&a);
}

/* ---- IDX and CIFAR ---- */

static void idx(bytes *out)
{
    uint8_t *piece = calloc(1, 1 << 20);
    /* a gzip file of the head, then one of zeros: zlib reads them as one */
    put_deflated(out, "\0\0\x08\3\0\x13\x12\xd0\0\0\0\x1c\0\0\0\x1c", 16, 1, 31);
    put_deflated(out, piece, 1 << 20, 900, 31);
    free(piece);
}

static void cifar(bytes *out)
{
    while (out->size + 3073 < ROOM)
        put(out, (char[3073]){9}, 3073);
}

/* ---- ONNX ---- */

static void onnx_of(bytes *out, char field, const char *piece)
{
    bytes graph = {0};
    while (graph.size < ROOM) {
        put(&graph, &field, 1);
        put_little(&graph, strlen(piece), 1);
        put_text(&graph, piece);
    }
    put(out, "\x3a", 1); /* field 7: the graph, its length as a varint of 3 bytes */
    put_little(out, (graph.size & 127) | 128, 1);
    put_little(out, (graph.size >> 7 & 127) | 128, 1);
    put_little(out, graph.size >> 14, 1);
    put(out, graph.data, graph.size);
    free(graph.data);
}

static void onnx_of_nodes(bytes *out)
{
    onnx_of(out, 0x0a, ""); /* field 1, each empty */
}

static void onnx_of_inputs(bytes *out)
{
    onnx_of(out, 0x0a, "\n\1x\n\1x\n\1x\n\1x\n\1x\n\1x\n\1x\n\1x");
}

const bomb bombs_files[] = {{"directives.yaml", put_directives},
                            {"layers.yaml", recipe_yaml},
                            {"word.yaml", recipe_of_one_word},
                            {"lists.json", recipe_json},
                            {"reverse.json", config_in_reverse},
                            {"links.json", config_of_links},
                            {"cycles.json", config_of_cycles},
                            {"configured.json", config_of_layers},
                            {"models.json", config_of_models},
                            {"links.yaml", recipe_of_links},
                            {"outputs.yaml", recipe_of_outputs},
                            {"models.yaml", recipe_of_models},
                            {"sum.yaml", recipe_of_a_sum},
                            {"row.yaml", recipe_of_a_row},
                            {"reshapes.yaml", recipe_of_reshapes},
                            {"lists.safetensors", header_of_lists},
                            {"tensors.safetensors", header_of_tensors},
                            {"metadata.safetensors", header_of_metadata},
                            {"directives.safetensors", recipe_of_directives},
                            {"cycles.h5", hdf5_of_cycles},
                            {"zeros.keras", keras_of_zeros},
                            {"nodes.onnx", onnx_of_nodes},
                            {"inputs.onnx", onnx_of_inputs},
                            {"large.npy", npy},
                            {"zeros.npz", npz_of_zeros},
                            {"within.npz", npz_within},
                            {"members.npz", npz_of_members},
                            {"mnist/train-images-idx3-ubyte.gz", idx},
                            {"cifar/data_batch_1.bin", cifar},
                            {NULL, NULL}};
