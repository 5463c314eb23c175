#include "client/environment.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char prefix[] = "BERTH_";

/* One past the end means that something did not fit. */
static void __attribute__((format(printf, 2, 3)))
environment_add(struct environment *environment, const char *format, ...)
{
    size_t left = sizeof environment->bytes - environment->n;
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(environment->bytes + environment->n, left, format, arguments);
    va_end(arguments);
    environment->n += n >= 0 && (size_t)n < left ? (size_t)n : left;
}

static void environment_end_string(struct environment *environment)
{
    environment_add(environment, "%c", '\0');
}

struct joining {
    struct environment *environment;
    char separator;
    bool first;
};

static void join_unit(void *context, const char *unit, size_t length)
{
    struct joining *joining = context;
    if (!joining->first) {
        environment_add(joining->environment, "%c", joining->separator);
    }
    joining->first = false;
    environment_add(joining->environment, "%.*s", (int)length, unit);
}

/* NAME=units, already begun with "NAME=". */
static void environment_add_units(
    struct environment *environment, const struct granted *granted, char separator)
{
    if (granted->pool || granted->count <= ENVIRONMENT_MAX_SLOTS) {
        struct joining joining = {environment, separator, true};
        granted_for_each_unit(granted, join_unit, &joining);
    } else {
        size_t start = environment->n;
        environment_add(environment, "%s", granted->units);
        for (size_t i = start; i < environment->n; i++) {
            if (environment->bytes[i] == ',') {
                environment->bytes[i] = separator;
            }
        }
    }
    environment_end_string(environment);
}

/* `number` is "" or "1_", "2_", ... */
static void environment_add_granted(
    struct environment *environment, const struct granted *granted, const char *number)
{
    environment_add(environment, "%s%sNAME=%s%c", prefix, number, granted->name, '\0');
    environment_add(environment, "%s%sTOKEN=%s%c", prefix, number, granted->token, '\0');
    environment_add(
        environment, "%s%sCOUNT=%lu%c", prefix, number, (unsigned long)granted->count, '\0');
    environment_add(environment, "%s%s%s=", prefix, number, granted->pool ? "ITEM" : "SLOT");
    environment_add_units(environment, granted, ' ');
}

bool environment_fill(struct environment *environment, const struct grant *grant,
    const struct options *options, const char *socket)
{
    environment->n = 0;
    environment_add(environment, "%sLEASE=%s%c", prefix, grant->lease, '\0');
    environment_add(environment, "%sSOCKET=%s%c", prefix, socket, '\0');
    /* With several resources the plain names are the first one's. */
    environment_add_granted(environment, &grant->granted[0], "");
    for (size_t i = 0; grant->n > 1 && i < grant->n; i++) {
        char number[24];
        snprintf(number, sizeof number, "%zu_", i + 1);
        environment_add_granted(environment, &grant->granted[i], number);
    }
    if (options->export) {
        environment_add(environment, "%s=", options->export);
        environment_add_units(environment, &grant->granted[0], ',');
    }
    return environment->n < sizeof environment->bytes;
}

static void environment_leave_inherited(void)
{
    char **kept = environ;
    for (char **variable = environ; *variable; variable++) {
        if (strncmp(*variable, prefix, sizeof prefix - 1) != 0) {
            *kept++ = *variable;
        }
    }
    *kept = NULL;
}

void environment_enter(struct environment *environment)
{
    environment_leave_inherited();
    for (size_t i = 0; i < environment->n; i += strlen(environment->bytes + i) + 1) {
        putenv(environment->bytes + i);
    }
}
