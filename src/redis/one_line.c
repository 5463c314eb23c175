#include "redis/one_line.h"

#include <stdarg.h>
#include <stdio.h>

void format_one_line(char *out, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(out, size, format, arguments);
    va_end(arguments);
    for (char *c = out; *c; c++) {
        if (*c < ' ' || *c > '~') {
            *c = '?';
        }
    }
}
