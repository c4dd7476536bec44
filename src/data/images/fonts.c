#include "data/images/canvas.h"
#include <stddef.h>

#if CORNU_FONTS
#include <dlfcn.h>
#include <fontconfig/fontconfig.h>
#include <ft2build.h>
#include <stdlib.h>
#include <string.h>
#include FT_FREETYPE_H

/* CALL(library, function) */
#define CALLS(CALL)                            \
    CALL(freetype, FT_Init_FreeType)           \
    CALL(freetype, FT_Done_FreeType)           \
    CALL(freetype, FT_New_Face)                \
    CALL(freetype, FT_Done_Face)               \
    CALL(freetype, FT_Set_Pixel_Sizes)         \
    CALL(freetype, FT_Get_Char_Index)          \
    CALL(freetype, FT_Load_Glyph)              \
    CALL(fontconfig, FcInitLoadConfigAndFonts) \
    CALL(fontconfig, FcConfigDestroy)          \
    CALL(fontconfig, FcPatternCreate)          \
    CALL(fontconfig, FcPatternDestroy)         \
    CALL(fontconfig, FcPatternAddString)       \
    CALL(fontconfig, FcPatternAddBool)         \
    CALL(fontconfig, FcPatternAddCharSet)      \
    CALL(fontconfig, FcPatternGetString)       \
    CALL(fontconfig, FcPatternGetInteger)      \
    CALL(fontconfig, FcCharSetCreate)          \
    CALL(fontconfig, FcCharSetAddChar)         \
    CALL(fontconfig, FcCharSetDestroy)         \
    CALL(fontconfig, FcConfigSubstitute)       \
    CALL(fontconfig, FcDefaultSubstitute)      \
    CALL(fontconfig, FcFontMatch)

/* A picture has few scripts. */
enum { FACES_MOST = 8, MISSING_MOST = 64 };

struct fonts {
    void *freetype, *fontconfig;
#define MEMBER(library, function) __typeof__(&function) function;
    CALLS(MEMBER)
#undef MEMBER
    FT_Library drawing;
    FcConfig *config;
    FT_Face faces[FACES_MOST];
    int face_count;
    uint32_t missing[MISSING_MOST]; /* letters that no font has */
    int missing_count;
};

/* Fontconfig keeps its data until the process ends: its library is never closed. */
static void *open_library(const char *name)
{
    return dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

static bool find_calls(fonts *f)
{
    bool found = f->freetype && f->fontconfig;
#define FIND(library, function)                         \
    if (found) {                                        \
        void *address = dlsym(f->library, #function);   \
        memcpy(&f->function, &address, sizeof address); \
        found = address != NULL;                        \
    }
    CALLS(FIND)
#undef FIND
    return found;
}

fonts *fonts_open(void)
{
    fonts *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->freetype = open_library("libfreetype.so.6");
    f->fontconfig = open_library("libfontconfig.so.1");
    if (find_calls(f) && f->FT_Init_FreeType(&f->drawing) == 0) {
        f->config = f->FcInitLoadConfigAndFonts();
        if (f->config)
            return f;
    }
    fonts_close(f);
    return NULL;
}

void fonts_close(fonts *f)
{
    if (!f)
        return;
    for (int i = 0; i < f->face_count; i++)
        f->FT_Done_Face(f->faces[i]);
    if (f->config)
        f->FcConfigDestroy(f->config);
    if (f->drawing)
        f->FT_Done_FreeType(f->drawing);
    if (f->fontconfig)
        dlclose(f->fontconfig);
    if (f->freetype)
        dlclose(f->freetype);
    free(f);
}

/* A font with this letter, from fontconfig; NULL: none. */
static FT_Face find_face(fonts *f, uint32_t letter)
{
    FcResult result;
    FcChar8 *file = NULL;
    int index = 0;
    FT_Face face = NULL;
    FcCharSet *letters = f->FcCharSetCreate();
    FcPattern *wanted = f->FcPatternCreate(), *found = NULL;
    if (letters && wanted && f->FcCharSetAddChar(letters, letter)) {
        f->FcPatternAddString(wanted, FC_FAMILY, (const FcChar8 *)"monospace");
        f->FcPatternAddBool(wanted, FC_SCALABLE, FcTrue);
        f->FcPatternAddCharSet(wanted, FC_CHARSET, letters);
        f->FcConfigSubstitute(f->config, wanted, FcMatchPattern);
        f->FcDefaultSubstitute(wanted);
        found = f->FcFontMatch(f->config, wanted, &result);
    }
    if (found && f->FcPatternGetString(found, FC_FILE, 0, &file) == FcResultMatch) {
        (void)f->FcPatternGetInteger(found, FC_INDEX, 0, &index);
        if (f->FT_New_Face(f->drawing, (const char *)file, index, &face) != 0)
            face = NULL;
    }
    if (face && f->FT_Get_Char_Index(face, letter) == 0) {
        f->FT_Done_Face(face);
        face = NULL;
    }
    if (found)
        f->FcPatternDestroy(found);
    if (wanted)
        f->FcPatternDestroy(wanted);
    if (letters)
        f->FcCharSetDestroy(letters);
    return face;
}

static bool is_missing(const fonts *f, uint32_t letter)
{
    for (int i = 0; i < f->missing_count; i++)
        if (f->missing[i] == letter)
            return true;
    return false;
}

static FT_Face face_of(fonts *f, uint32_t letter)
{
    for (int i = 0; i < f->face_count; i++)
        if (f->FT_Get_Char_Index(f->faces[i], letter) != 0)
            return f->faces[i];
    if (f->face_count == FACES_MOST || is_missing(f, letter))
        return NULL;
    FT_Face face = find_face(f, letter);
    if (face)
        f->faces[f->face_count++] = face;
    else if (f->missing_count < MISSING_MOST)
        f->missing[f->missing_count++] = letter;
    return face;
}

bool fonts_glyph(fonts *f, uint32_t letter, int size, glyph *out)
{
    FT_Face face = f ? face_of(f, letter) : NULL;
    if (!face || f->FT_Set_Pixel_Sizes(face, 0, (FT_UInt)size) != 0 ||
        f->FT_Load_Glyph(face, f->FT_Get_Char_Index(face, letter), FT_LOAD_RENDER) != 0)
        return false;
    const FT_GlyphSlot slot = face->glyph;
    const FT_Bitmap *b = &slot->bitmap;
    if (b->pixel_mode != FT_PIXEL_MODE_GRAY || b->pitch < 0)
        return false;
    *out = (glyph){.coverage = b->buffer,
                   .height = b->rows,
                   .width = b->width,
                   .pitch = b->pitch,
                   .left = slot->bitmap_left,
                   .top = slot->bitmap_top,
                   .advance = slot->advance.x >> 6};
    return true;
}
#else
fonts *fonts_open(void)
{
    return NULL;
}

void fonts_close(fonts *f)
{
    (void)f;
}

bool fonts_glyph(fonts *f, uint32_t letter, int size, glyph *out)
{
    (void)f, (void)letter, (void)size, (void)out;
    return false;
}
#endif
