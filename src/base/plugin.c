#include "base/plugin.h"
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folder of the program or library that this file is part of; false where it is unknown. */
static bool own_folder(char *folder, size_t size)
{
    static const char here[] = "";
    Dl_info info;
    struct link_map *map = NULL;
    char path[PATH_MAX], *real = NULL;
    if (!dladdr1((const void *)here, &info, (void **)&map, RTLD_DL_LINKMAP))
        return false;
    bool is_program = !map || !map->l_name || !*map->l_name;
    real = realpath(is_program ? "/proc/self/exe" : map->l_name, path);
    char *slash = real ? strrchr(real, '/') : NULL;
    if (!slash)
        return false;
    *slash = '\0';
    return snprintf(folder, size, "%s", path) < (int)size;
}

/* Beside the program (a build folder), in its prefix's library folder, beside the library. */
static bool find_file(const char *file, char *path, size_t size)
{
    static const char *const folders[] = {"", "/../" PLUGIN_LIBRARY_FOLDER "/cornu",
                                          "/../lib/cornu", "/cornu"};
    char folder[PATH_MAX];
    if (!own_folder(folder, sizeof folder))
        return false;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        int length = snprintf(path, size, "%s%s/%s", folder, folders[i], file);
        if (length > 0 && (size_t)length < size && access(path, R_OK) == 0)
            return true;
    }
    return false;
}

plugin_function *plugin_open(plugin_file *plugin, char *why, size_t size)
{
    const char *named = env_get(plugin->environment);
    snprintf(plugin->path, sizeof plugin->path, "%s", named ? named : "");
    if (!named && !find_file(plugin->file, plugin->path, sizeof plugin->path)) {
        snprintf(why, size, "%s", plugin->missing);
        return NULL;
    }
    plugin->library = dlopen(plugin->path, RTLD_NOW | RTLD_LOCAL);
    if (!plugin->library) {
        const char *error = dlerror();
        snprintf(why, size, "%.250s", error ? error : plugin->path);
        return NULL;
    }
    union {
        void *symbol;
        plugin_function *function;
    } entry = {.symbol = dlsym(plugin->library, plugin->entry)};
    if (entry.function)
        return entry.function;
    snprintf(why, size, "%.150s: found no %s; expected cornu's %s plug-in", plugin->path,
             plugin->entry, plugin->title);
    plugin_close(plugin);
    return NULL;
}

void plugin_close(plugin_file *plugin)
{
    dlclose(plugin->library);
    plugin->library = NULL;
}
