#include "support/events.h"
#if CORNU_TENSORBOARD
#include "base/files.h"
#include "support/runs.h"
#include "support/scratch.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* By the table that RFC 3720 and others use, not bit by bit. */
static uint32_t crc_of(const uint8_t *data, size_t size)
{
    uint32_t table[256], crc = UINT32_MAX;
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] & 1 ? table[i] >> 1 ^ 0x82f63b78 : table[i] >> 1;
    }
    for (size_t i = 0; i < size; i++)
        crc = table[(crc ^ data[i]) & 255] ^ crc >> 8;
    return ~crc;
}

static void expect_crc(const uint8_t *data, size_t size, const uint8_t *stored)
{
    uint32_t crc = crc_of(data, size), found;
    memcpy(&found, stored, sizeof found);
    assert_int_equal(found, (crc >> 15 | crc << 17) + 0xa282ead8);
}

static void read_events(const char *path, events *all)
{
    char *content;
    size_t size, at = 0;
    expect_ok(file_read(path, 1 << 24, &content, &size));
    const uint8_t *data = (const uint8_t *)content;
    while (at < size) {
        uint64_t length;
        assert_true(size - at >= 16);
        memcpy(&length, data + at, sizeof length);
        assert_true(length <= size - at - 16);
        expect_crc(data + at, 8, data + at + 8);
        expect_crc(data + at + 12, length, data + at + 12 + length);
        Tensorboard__Event *e = tensorboard__event__unpack(NULL, length, data + at + 12);
        assert_non_null(e);
        assert_true(all->count < EVENTS_MOST);
        all->event[all->count++] = e;
        at += length + 16;
    }
    free(content);
}

int events_read(const char *folder, events *all)
{
    char path[1024], name[512];
    int files = 0;
    *all = (events){.count = 0};
    snprintf(path, sizeof path, "%s", scratch_path(folder));
    DIR *d = opendir(path);
    for (struct dirent *entry; d && (entry = readdir(d));)
        if (strncmp(entry->d_name, "events.out.tfevents.", 20) == 0) {
            snprintf(name, sizeof name, "%.200s/%.300s", folder, entry->d_name);
            read_events(scratch_path(name), all);
            files++;
        }
    if (d)
        closedir(d);
    return files;
}

void events_free(events *all)
{
    for (int i = 0; i < all->count; i++)
        tensorboard__event__free_unpacked(all->event[i], NULL);
    all->count = 0;
}

const Tensorboard__Summary__Value *events_value(const Tensorboard__Event *e)
{
    return e->summary && e->summary->n_value == 1 ? e->summary->value[0] : NULL;
}

const Tensorboard__Tensor *events_find(const events *all, const char *tag, int64_t step)
{
    for (int i = 0; i < all->count; i++) {
        const Tensorboard__Summary__Value *v = events_value(all->event[i]);
        if (v && strcmp(v->tag, tag) == 0 && all->event[i]->step == step)
            return v->tensor;
    }
    return NULL;
}

int events_count(const events *all, const char *tag)
{
    int count = 0;
    for (int i = 0; i < all->count; i++) {
        const Tensorboard__Summary__Value *v = events_value(all->event[i]);
        count += v && strcmp(v->tag, tag) == 0;
    }
    return count;
}

float events_scalar(const events *all, const char *tag, int64_t step)
{
    float value;
    const Tensorboard__Tensor *t = events_find(all, tag, step);
    if (!t)
        fail_msg("found no %s of step %lld", tag, (long long)step);
    assert_int_equal(t->dtype, 1);
    assert_int_equal(t->tensor_content.len, sizeof value);
    memcpy(&value, t->tensor_content.data, sizeof value);
    return value;
}

const Tensorboard__Hyperparameters__Setting *events_setting(const Tensorboard__Hyperparameters *h,
                                                            const char *key)
{
    const Tensorboard__Hyperparameters__Start *start = h->session_start_info;
    for (size_t i = 0; i < start->n_hparams; i++)
        if (strcmp(start->hparams[i]->key, key) == 0)
            return start->hparams[i]->value;
    fail_msg("found no %s", key);
    return NULL;
}

Tensorboard__Hyperparameters *events_hyperparameters(const events *all, const char *tag)
{
    for (int i = 0; i < all->count; i++) {
        const Tensorboard__Summary__Value *v = events_value(all->event[i]);
        if (!v || strcmp(v->tag, tag) != 0)
            continue;
        const Tensorboard__Metadata__PluginData *plugin = v->metadata->plugin_data;
        assert_string_equal(plugin->plugin_name, "hparams");
        Tensorboard__Hyperparameters *h =
            tensorboard__hyperparameters__unpack(NULL, plugin->content.len, plugin->content.data);
        assert_non_null(h);
        return h;
    }
    fail_msg("found no %s", tag);
    return NULL;
}

Tensorboard__RunMetadata *events_operations(const events *all, const char *tag)
{
    for (int i = all->count - 1; i >= 0; i--) {
        const Tensorboard__Summary__Value *v = events_value(all->event[i]);
        if (!v || strcmp(v->tag, tag) != 0)
            continue;
        const Tensorboard__Metadata__PluginData *plugin = v->metadata->plugin_data;
        assert_string_equal(plugin->plugin_name, "graph_run_metadata");
        assert_int_equal(plugin->content.len, 1);
        assert_int_equal(plugin->content.data[0], '1');
        assert_int_equal(v->tensor->n_string_val, 1);
        const ProtobufCBinaryData *packed = &v->tensor->string_val[0];
        Tensorboard__RunMetadata *all_of_it =
            tensorboard__run_metadata__unpack(NULL, packed->len, packed->data);
        assert_non_null(all_of_it);
        return all_of_it;
    }
    fail_msg("found no %s", tag);
    return NULL;
}

#endif
