/* Plug-ins: libraries that are opened when they are needed. */
#ifndef BASE_PLUGIN_H
#define BASE_PLUGIN_H

#include "base/env.h"
#include <stdbool.h>
#include <stddef.h>

/* Open the file that this environment variable names, or `file` beside the program (a build
   folder), in its prefix's library folder, or beside the library. Returns its function `entry`, or
   NULL with *why filled in; `missing` is the reason given where the file does not exist. `title`:
   "OpenCL". */
typedef struct plugin_file {
    const char *file, *entry, *title, *missing;
    env_name environment;
    char path[4096]; /* of the file that was found */
    void *library;   /* for plugin_close */
} plugin_file;
typedef void plugin_function(void);
plugin_function *plugin_open(plugin_file *plugin, char *why, size_t size);
/* Close a plug-in that was opened and does not fit. */
void plugin_close(plugin_file *plugin);

#endif
