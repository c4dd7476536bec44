/* JSON text of options. */
#include "model/config.h"
#include <stdio.h>
#include <stdlib.h>

/* Do all reals survive being printed with `digits` significant digits? */
static bool prints_exactly(const json_t *value, int digits)
{
    char shown[40];
    const char *key;
    json_t *item;
    size_t i;
    if (json_is_real(value)) {
        snprintf(shown, sizeof shown, "%.*g", digits, json_real_value(value));
        return !(strtod(shown, NULL) < json_real_value(value)) &&
               !(strtod(shown, NULL) > json_real_value(value));
    }
    json_object_foreach((json_t *)(uintptr_t)value, key, item)
    {
        (void)key;
        if (!prints_exactly(item, digits))
            return false;
    }
    json_array_foreach(value, i, item)
    {
        if (!prints_exactly(item, digits))
            return false;
    }
    return true;
}

cornu_status config_print(const json_t *value, char **out)
{
    size_t digits = 15;
    while (digits < 17 && !prints_exactly(value, (int)digits))
        digits++;
    *out = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(digits));
    return *out ? CORNU_OK : status_fail(CORNU_OUT_OF_MEMORY, "not enough memory for JSON text");
}
