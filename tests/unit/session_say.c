/* session_say.c - events as text. */
#include "session_world.h"

#include "base/memory.h"
#include "base/words.h"
#include "fleet/session_text.h"
#include "wire/protocol.h"

enum { N_TEXTS = 16 };

static struct text happenings;

/* ---- texts ---- */

const char *keep(struct text *text)
{
    static char *kept[N_TEXTS];
    static size_t n;
    char **slot = &kept[n++ % N_TEXTS];
    free(*slot);
    *slot = text_take(text);
    return *slot;
}

const char *name_of(uint64_t id)
{
    for (size_t i = n_named; i-- > 0;) {
        if (named[i].id == id) {
            return named[i].name;
        }
    }
    return "?";
}

uint64_t id_of(const char *name)
{
    for (size_t i = n_named; i-- > 0;) {
        if (strcmp(named[i].name, name) == 0) {
            return named[i].id;
        }
    }
    cr_assert_fail("no lease is called %s", name);
    return 0;
}

void add_with_ids(struct text *out, const char *from, size_t n)
{
    char word[LEASE_ID_SIZE], name[16];
    for (size_t i = 0; i < n; i++) {
        if (from[i] != '$') {
            text_add_bytes(out, &from[i], 1);
            continue;
        }
        size_t length = strspn(from + i + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
        snprintf(name, sizeof name, "%.*s", (int)length, from + i + 1);
        lease_id_format(word, id_of(name));
        text_add(out, word);
        i += length;
    }
}

void add_word(struct text *out, const char *word)
{
    uint64_t id;
    bool is_id = lease_id_parse(word, &id);
    if (is_id && strcmp(name_of(id), "?") != 0) {
        text_add_format(out, "$%s", name_of(id));
    } else if (strncmp(word, "pid=", 4) == 0) {
        text_add(out, "i");
    } else if (*word == '\0' || strchr(word, ' ')) {
        text_add_format(out, "'%s'", word);
    } else {
        text_add(out, word);
    }
}

/* ---- what happens ---- */

const char *outcome_word(enum outcome outcome)
{
    static const enum code codes[N_OUTCOMES] = {
#define OUTCOME(id, code, refusal) [OUTCOME_##id] = CODE_##code,
#include "core/outcomes.def"
#undef OUTCOME
    };
    const char *word = code_table[codes[outcome]].word;
    return word ? word : "ok";
}

static void say_units(struct text *out, const struct lease *of)
{
    for (size_t i = 0; i < of->n_claims; i++) {
        const char *before = "=";
        text_add_format(out, " %s", of->claims[i].resource->name);
        for (const struct unit *unit = of->claims[i].units; unit; unit = unit->next_of_claim) {
            text_add_format(out, "%s", before);
            if (unit->item) {
                text_add(out, unit->item);
            } else {
                text_add_number(out, unit->index);
            }
            before = ",";
        }
    }
}

static void say_effect(const struct effect *effect)
{
    static const char *const words[] = {[EFFECT_GRANTED] = "granted",
        [EFFECT_DENIED] = "denied",
        [EFFECT_LOST] = "lost",
        [EFFECT_STOP] = "stop",
        [EFFECT_PLACE] = "place"};
    struct text *out = &happenings;
    bool is_said = effect->kind == EFFECT_GRANTED || effect->kind == EFFECT_DENIED ||
        effect->kind == EFFECT_LOST || effect->kind == EFFECT_STOP || effect->kind == EFFECT_PLACE;
    if (!is_said) {
        return;
    }
    text_add_format(out, "%s%s %s", out->length > 0 ? "; " : "", name_of(effect->lease->id),
        words[effect->kind]);
    if (effect->kind == EFFECT_GRANTED) {
        say_units(out, effect->lease);
    } else if (effect->kind == EFFECT_PLACE) {
        text_add_format(out, " %u", effect->lease->position);
    } else {
        text_add_format(out, " %s", outcome_word(effect->why));
    }
}

void carry_out(void)
{
    for (size_t i = 0; i < world_effects.n; i++) {
        struct effect effect = world_effects.list[i];
        if (effect.kind == EFFECT_ASK && effect.lease->state == LEASE_WAITING) {
            session_ask(session, effect.lease, now, &world_effects);
        } else if (effect.kind == EFFECT_GIVE_BACK) {
            session_give_back(session, effect.lease);
        }
        say_effect(&effect);
    }
    effects_clear(&world_effects);
}

const char *happened(void)
{
    text_add(&happenings, "");
    return keep(&happenings);
}

const char *notice(void)
{
    const char *said = session_take_notice(session);
    return said ? said : "";
}

void forget_happenings(void)
{
    text_deinit(&happenings);
}
