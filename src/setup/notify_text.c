#include "setup/notify_text.h"

#include <stdio.h>
#include <string.h>

static size_t notify_text_add(char out[static NOTIFY_TEXT_SIZE], size_t length, const char *text)
{
    for (; *text && length < NOTIFY_TEXT_SIZE - 1; text++) {
        out[length++] = *text >= ' ' && *text <= '~' ? *text : '?';
    }
    out[length] = '\0';
    return length;
}

void notify_text(char out[static NOTIFY_TEXT_SIZE], const char *socket,
    const char *const databases[], const struct notify_facts *facts)
{
    char counts[96];
    snprintf(counts, sizeof counts, ": %zu lease%s held, %zu waiting", facts->n_held,
        facts->n_held == 1 ? "" : "s", facts->n_waiting);
    size_t length = notify_text_add(out, 0, "serving ");
    length = notify_text_add(out, length, socket);
    length = notify_text_add(out, length, counts);
    if (facts->is_draining) {
        length = notify_text_add(out, length, facts->is_drained ? "; drained" : "; draining");
    }
    if (facts->closed_why) {
        length = notify_text_add(out, length, "; grants nothing: ");
        length = notify_text_add(out, length, facts->closed_why);
    }
    const char *before = "; not reachable: ";
    for (uint32_t i = 0; facts->down >> i != 0; i++) {
        if (facts->down >> i & 1) {
            length = notify_text_add(out, length, before);
            length = notify_text_add(out, length, databases[i]);
            before = ", ";
        }
    }
}

static bool is_same(const struct notify_facts *a, const struct notify_facts *b)
{
    return a->n_held == b->n_held && a->n_waiting == b->n_waiting && a->down == b->down &&
        a->closed_why == b->closed_why &&
        a->is_draining == b->is_draining && a->is_drained == b->is_drained;
}

nanoseconds notify_due(const struct notify_pace *pace, const struct notify_facts *facts)
{
    if (!pace->owes && is_same(&pace->sent, facts)) {
        return NEVER;
    }
    return pace->tried_at == 0 ? 0 : pace->tried_at + NANOSECONDS_PER_SECOND;
}

void notify_tried(
    struct notify_pace *pace, const struct notify_facts *facts, bool was_said, nanoseconds now)
{
    pace->tried_at = now;
    if (was_said) {
        pace->sent = *facts;
        pace->owes = false;
    }
}
