/* session_identity.c - the id of a database's data, as this daemon knows it. The scripts choose it,
 * at the end of the data's first grace, and it never changes: in the same place another id, or
 * none, is another database's. The daemon says at each hello what it knows, and takes over what it
 * hears. What is read back may be damaged. */
#include "fleet/session_internal.h"

#include "base/words.h"

#include <string.h>

/* In place of an id. */
static const char moved[] = "moved";

/* ---- what is said, and heard ---- */

static bool is_id(const char *text)
{
    size_t n = strlen(text);
    return n > 0 && n < DATABASE_ID_SIZE && strspn(text, "0123456789abcdef") == n;
}

static bool knows_id(const struct session *session)
{
    return session->identity.id[0] != '\0' &&
        session->identity.place == place_of(session->settings);
}

const char *identity_argument(const struct session *session)
{
    if (knows_id(session)) {
        return session->identity.id;
    }
    return session->changes.foreign_place != 0 ? moved : NULL;
}

static void take(struct session *session, const char *id, uint64_t place)
{
    memcpy(session->identity.id, id, strlen(id) + 1);
    session->identity.place = place;
}

/* Another one than is known is only believed once this daemon has said what it knew. */
void identity_hear(struct session *session, const char *id)
{
    bool has_said = session->state == SESSION_LISTING && session->hello.step > STEP_BEGIN;
    bool is_same = knows_id(session) && strcmp(session->identity.id, id) == 0;
    session->identity.is_new = false;
    if (!is_id(id) || is_same || (knows_id(session) && !has_said)) {
        return;
    }
    if (knows_id(session)) {
        session_say(session, "it has other data than before: it was emptied or replaced");
    }
    take(session, id, place_of(session->settings));
    session->changes.is_unwritten = true;
}

void identity_is_told(struct session *session, const struct answer *answer, size_t field)
{
    uint64_t is_new;
    session->identity.is_new = answer_number(answer, field, 1, &is_new) && is_new;
}

/* ---- on disk ----
 *
 *     = PLACE ID          no resource's name begins so, and an earlier berthd passes it over */

static const char identity_word[] = "= ";

void identity_write(const struct session *session, struct text *out)
{
    if (session->identity.id[0] != '\0') {
        text_add_format(out, "%s%ju %s\n", identity_word, (uintmax_t)session->identity.place,
            session->identity.id);
    }
}

bool identity_restore(struct session *session, char *line)
{
    uint64_t place;
    if (strncmp(line, identity_word, sizeof identity_word - 1) != 0) {
        return false;
    }
    char *number = line + sizeof identity_word - 1, *id = strchr(number, ' ');
    if (id) {
        *id++ = '\0';
        if (is_id(id) && number_parse(number, UINT64_MAX, &place)) {
            take(session, id, place);
        }
    }
    return true;
}
