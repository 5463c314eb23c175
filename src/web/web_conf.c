#include "web/web_conf.h"

#include "base/memory.h"
#include "service/program_conf.h"
#include "web/web_listener.h"

#include <stdlib.h>

#define DEFAULT_PATH SYSCONFDIR "/berth/berth-web.conf"

static void set_string(void *member, const char *value)
{
    char **string = member;
    free(*string);
    *string = memory_string(value);
}

static const char *set_path(void *member, char *value)
{
    set_string(member, value);
    return value[0] == '/' ? NULL : "expected an absolute path";
}

static const char *set_listen(void *member, char *value)
{
    set_string(member, value);
    return web_listener_explain(value);
}

/* Names separated by blanks or commas, over one line or several. */
static const char *set_hosts(void *member, char *value)
{
    const char *wrong = NULL;
    for (char *name; (name = strsep(&value, " \t,")) != NULL;) {
        if (name[0] != '\0') {
            wrong = host_is_valid(name) ? wrong : "expected names without scheme and port";
            name_list_add(member, name);
        }
    }
    return wrong;
}

static const struct conf_row rows[] = {
    {"socket", set_path, offsetof(struct web_conf, socket)},
    {"listen", set_listen, offsetof(struct web_conf, listen)},
    {"hosts", set_hosts, offsetof(struct web_conf, hosts)},
    {0},
};

bool web_conf_read(struct web_conf *conf, const char *path)
{
    return program_conf_read(path, DEFAULT_PATH, "web", rows, conf);
}

void web_conf_deinit(struct web_conf *conf)
{
    free(conf->socket);
    free(conf->listen);
    name_list_deinit(&conf->hosts);
}
