/* Versions of everything that may affect a result, for bug reports. */
#include "base/memory.h"
#include "base/status.h"
#include "bench/report.h"
#include <archive.h>
#include <cornu/tables.h>
#include <curl/curl.h>
#include <dlfcn.h>
#include <gif_lib.h>
#if CORNU_HDF5
#include <hdf5.h>
#endif
#include <jansson.h>
#include <limits.h>
#include <png.h>
#if CORNU_ONNX || CORNU_TENSORBOARD
#include <protobuf-c/protobuf-c.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>
#include <webp/decode.h>
#include <yaml.h>
#include <zip.h>
#include <zlib.h>

#include <jpeglib.h>

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)
#ifdef LIBJPEG_TURBO_VERSION
#define JPEG_VERSION TEXT(LIBJPEG_TURBO_VERSION)
#else
#define JPEG_VERSION "libjpeg " TEXT(JPEG_LIB_VERSION)
#endif
#ifdef TIFFLIB_VERSION_STR_MAJ_MIN_MIC
#define TIFF_VERSION_BUILT TIFFLIB_VERSION_STR_MAJ_MIN_MIC
#else
#define TIFF_VERSION_BUILT TEXT(TIFFLIB_VERSION)
#endif

enum { VERSION_ROOM = 64 };

/* ---- versions that libraries report ----------------------------------------------------- */

typedef void say_version(char out[VERSION_ROOM]);

static void say_png(char *out)
{
    snprintf(out, VERSION_ROOM, "%s", png_get_libpng_ver(NULL));
}

/* "LIBTIFF, Version 4.5.0", then lines of copyright. */
static void say_tiff(char *out)
{
    const char *all = TIFFGetVersion(), *number = strpbrk(all, "0123456789");
    snprintf(out, VERSION_ROOM, "%.*s", number ? (int)strcspn(number, " \n") : 0,
             number ? number : "");
}

static void say_webp(char *out)
{
    unsigned v = (unsigned)WebPGetDecoderVersion();
    snprintf(out, VERSION_ROOM, "%u.%u.%u", v >> 16, v >> 8 & 255, v & 255);
}

static void say_zlib(char *out)
{
    snprintf(out, VERSION_ROOM, "%s", zlibVersion());
}

static void say_archive(char *out)
{
    int v = archive_version_number();
    snprintf(out, VERSION_ROOM, "%d.%d.%d", v / 1000000, v / 1000 % 1000, v % 1000);
}

static void say_curl(char *out)
{
    const curl_version_info_data *v = curl_version_info(CURLVERSION_NOW);
    snprintf(out, VERSION_ROOM, "%s (%s)", v->version, v->ssl_version ? v->ssl_version : "no TLS");
}

static void say_libzip(char *out)
{
    snprintf(out, VERSION_ROOM, "%s", zip_libzip_version());
}

#if CORNU_HDF5
#define HDF5_BUILT TEXT(H5_VERS_MAJOR) "." TEXT(H5_VERS_MINOR) "." TEXT(H5_VERS_RELEASE)
static void say_hdf5(char *out)
{
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    snprintf(out, VERSION_ROOM, "%u.%u.%u", major, minor, release);
}
#endif

static void say_jansson(char *out)
{
    snprintf(out, VERSION_ROOM, "%s", jansson_version_str());
}

static void say_yaml(char *out)
{
    snprintf(out, VERSION_ROOM, "%s", yaml_get_version_string());
}

#if CORNU_ONNX || CORNU_TENSORBOARD
static void say_protobuf(char *out)
{
    snprintf(out, VERSION_ROOM, "%s", protobuf_c_version());
}
#endif

/* ---- the table -------------------------------------------------------------------------- */

typedef struct library {
    const char *name;
    say_version *now;
    const char *built;
    void (*function)(void); /* identifies its file; never called */
} library;

static const library libraries[] = {
#define LIBRARY(name, now, built, function) {name, now, built, (void (*)(void))(function)},
#include "bench/versions.def"
#undef LIBRARY
};

/* The file that contains a function; "" if it is the program itself. */
static void file_of(void (*function)(void), char path[PATH_MAX])
{
    Dl_info at, own;
    void *address, *self;
    void (*here)(void) = (void (*)(void))say_png;
    memcpy(&address, &function, sizeof address); /* POSIX gives both the same size */
    memcpy(&self, &here, sizeof self);
    *path = 0;
    if (dladdr(address, &at) == 0 || dladdr(self, &own) == 0 || at.dli_fbase == own.dli_fbase)
        return;
    if (!realpath(at.dli_fname, path))
        *path = 0;
}

static void add_libraries(text *t)
{
    char path[PATH_MAX], now[VERSION_ROOM];
    text_add(t, "libraries\n  %-14s %-24s %-12s %s\n", "", "running", "built with", "file");
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        const library *l = &libraries[i];
        snprintf(now, sizeof now, "-");
        if (l->now)
            l->now(now);
        file_of(l->function, path);
        text_add(t, "  %-14s %-24s %-12s %s\n", l->name, now, l->built ? l->built : "-",
                 *path ? path : "-");
    }
}

/* ---- program, system, devices ----------------------------------------------------------- */

/* PRETTY_NAME of /etc/os-release, or "". */
static void system_name(char *name, size_t size)
{
    char line[256];
    FILE *f = fopen("/etc/os-release", "re");
    *name = 0;
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "PRETTY_NAME=", 12) == 0)
            snprintf(name, size, "%.*s", (int)strcspn(line + 12 + (line[12] == '"'), "\"\n"),
                     line + 12 + (line[12] == '"'));
    if (f)
        fclose(f);
}

static void add_program(text *t)
{
    char name[256], memory[16];
    bench_machine machine;
    bench_machine_read(&machine);
    system_name(name, sizeof name);
    text_add(t, "cornu %s\ncompiler   %s\n", cornu_version(), machine.compiler);
    text_add(t, "system     %s%s%s", name, *name ? ", " : "", machine.system);
#ifdef __GLIBC__
    text_add(t, ", built with glibc %d.%d", __GLIBC__, __GLIBC_MINOR__);
#endif
    text_add(t, "\nprocessor  %s, %d %s, %s of memory\n", machine.cpu, machine.cores,
             PLURAL(machine.cores, "core", "cores"),
             memory_human((double)machine.memory_bytes, memory));
}

static void add_devices(text *t)
{
    cornu_device_info d = {.size = sizeof d};
    text_add(t, "devices\n");
    for (int i = 0; cornu_device_info_get(i, &d); i++) {
        text_add(t, "  %-14s %s", d.name, d.description);
        if (*d.driver)
            text_add(t, "%sdriver %s", *d.description ? ", " : "", d.driver);
        if (*d.libraries)
            text_add(t, ", %s", d.libraries);
        if (!d.available)
            text_add(t, "%snot available: %s", *d.description || *d.driver ? "; " : "", d.reason);
        text_add(t, "\n");
    }
}

cornu_status cornu_versions(char **out)
{
    text t = {0};
    if (!out)
        return status_fail(CORNU_INVALID, "cornu_versions: found NULL; expected a place for text");
    add_program(&t);
    add_libraries(&t);
    add_devices(&t);
    return text_take(&t, out);
}
