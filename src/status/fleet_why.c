#include "status/fleet_why.h"

#include "base/words.h"
#include "status/answer_lines.h"

#include <stdio.h>
#include <string.h>

/* The database's place without a password: "unix:/PATH", "HOST:PORT", "MASTER by sentinel
 * HOST:PORT". At most `size` bytes. */
static void database_place(char *out, size_t size, const struct database *database)
{
    const struct redis_url *url = &database->url;
    const struct redis_host *host = &url->hosts[0];
    switch (url->scheme) {
    case REDIS_UNIX:
        snprintf(out, size, "unix:%s", url->path);
        break;
    case REDIS_TCP:
        snprintf(out, size, "%s:%u", host->host, (unsigned)host->port);
        break;
    case REDIS_SENTINEL:
        snprintf(out, size, "%s by sentinel %s:%u%s", url->master, host->host, (unsigned)host->port,
            url->n_hosts > 1 ? ", ..." : "");
        break;
    }
}

/* The trouble without the address at its front, if the place says the same address. */
static const char *without_place(const char *trouble, const char *place)
{
    const char *address = strncmp(place, "unix:", 5) == 0 ? place + 5 : place;
    size_t n = strlen(address);
    bool is_same = strncmp(trouble, address, n) == 0 && strncmp(trouble + n, ": ", 2) == 0;
    return is_same ? trouble + n + 2 : trouble;
}

void fleet_why_new(struct text *out, const char *name, nanoseconds left)
{
    text_add(out, "is new, and grants nothing for another ");
    text_add_age(out, milliseconds(left) + 999);
    text_add_format(out,
        ", as hosts may hold leases from before (if it never held anything: berthctl found %s)",
        name);
}

/* What follows "the database `NAME` (PLACE)". */
static const struct {
    const char *text;
    bool has_trouble; /* the database's own trouble follows */
    bool is_trouble; /* its own trouble takes its place, if it has any */
} sayings[N_OUTCOMES] = {
    [OUTCOME_DOWN] = {"cannot be reached", true, false},
    [OUTCOME_DEADLINE] = {"could not be reached in time", true, false},
    [OUTCOME_GRACE] =
        {"is new or has lost its data: for now, only earlier leases can be reclaimed", false, true},
    [OUTCOME_LOST] = {"no longer has it", false, false},
    [OUTCOME_DIFFERS] = {"has another definition: make the files equal, or raise `generation`"
                         " of its section in the newer one",
        false, false},
};

void fleet_why_of(char *out, size_t size, const struct database *database, const char *trouble,
    const char *name, enum outcome why)
{
    char place[512];
    int n = name ? snprintf(out, size, "%s: ", name) : 0;
    size_t at = n > 0 && (size_t)n < size ? (size_t)n : 0;
    if (!sayings[why].text) {
        snprintf(out + at, size - at, "%s", code_table[outcome_code(why)].meaning);
        return;
    }
    bool is_in_trouble = trouble && trouble[0] != '\0';
    bool has_trouble = sayings[why].has_trouble && is_in_trouble;
    database_place(place, sizeof place, database);
    snprintf(out + at, size - at, "the database `%s` (%s) %s%s%s", database->name, place,
        sayings[why].is_trouble && is_in_trouble ? trouble : sayings[why].text,
        has_trouble ? ": " : "", has_trouble ? without_place(trouble, place) : "");
}
