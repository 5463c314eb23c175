#include "database/certificates.h"

#include "database/fleet_sessions.h"
#include "redis/tls.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static void add_error(
    struct conf_errors *errors, const struct conf *conf, const char *name, const char *why)
{
    char message[PATH_MAX + 512];
    bool is_default = strcmp(name, DEFAULT_DATABASE) == 0;
    snprintf(message, sizeof message, "%s: [redis%s%s]: %s", conf->path, is_default ? "" : " ",
        is_default ? "" : name, why);
    conf_errors_add(errors, message);
}

void certificates_read(struct certificates *certificates, const struct conf *running,
    const struct conf *loaded, struct conf_errors *errors)
{
    for (size_t i = 0; i < running->n_databases; i++) {
        const struct database *now = &running->databases[i];
        const struct database *written = database_find(loaded, now->name);
        char why[256];
        if (!now->url.is_tls || !written || !written->url.is_tls) {
            continue;
        }
        certificates->contexts[i] = tls_context_new(written, why, sizeof why);
        if (!certificates->contexts[i]) {
            add_error(errors, loaded, now->name, why);
        }
    }
}

void certificates_use(const struct certificates *certificates, struct fleet *fleet)
{
    for (size_t i = 0; i < MAX_DATABASES; i++) {
        if (certificates->contexts[i]) {
            fleet_use_tls(fleet, (uint8_t)(i + 1), certificates->contexts[i]);
        }
    }
}

void certificates_forget(struct certificates *certificates)
{
    for (size_t i = 0; i < MAX_DATABASES; i++) {
        certificates->contexts[i] = tls_context_unref(certificates->contexts[i]);
    }
}
