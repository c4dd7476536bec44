/* Text for HTML and SVG: text from outside is escaped, and the decimal separator is a point in any
   locale. */
#ifndef FORMAT_HTML_MARKUP_H
#define FORMAT_HTML_MARKUP_H

#include "base/memory.h"

/* `line` as content or as an attribute between quotes: control characters as cornu_printable shows
   them, then & < > " ' as entities. */
void markup_text(text *t, const char *line);
/* <NAME ATTRIBUTES>LINE</NAME>: `line` is escaped, the rest is not; `attributes` "" for none. */
void markup_element(text *t, const char *name, const char *attributes, const char *line);
/* At most one decimal place and no exponent: a coordinate. */
void markup_coordinate(text *t, double value);

enum { MARKUP_NUMBER = 32 };
/* `significant` digits, without exponent where that is short ("0.0123", "1230", "4.5e-07"); "-" for
   a value that is not finite. Returns `out` [MARKUP_NUMBER]. */
const char *markup_number(double value, int significant, char *out);

#endif
