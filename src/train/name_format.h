/* Names of files with fields in braces, as Python's str.format fills them in and so Keras's
   ModelCheckpoint: "{epoch:02d}-{val_loss:.2f}.safetensors". */
#ifndef TRAIN_NAME_FORMAT_H
#define TRAIN_NAME_FORMAT_H

#include "base/status.h"

typedef struct name_field {
    const char *name;
    bool whole; /* an int of Python's, else a float */
    double value;
} name_field;

bool name_has_fields(const char *format);
/* {NAME} and {NAME:SPEC}, with SPEC as of Python's int and float: [[fill]align][sign][0][width]
   [.precision][type], type one of d e E f F g G %; {{ and }} are braces. An unknown NAME is
   CORNU_INVALID, and the message lists the known names; so is a format that Python would refuse. */
cornu_status name_format(const char *format, const name_field *fields, int count, char **out);

#endif
