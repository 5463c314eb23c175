#include "status/reasons_time.h"

#include "base/words.h"

#include <stdio.h>
#include <time.h>

/* "at 12:00:05, in 5s", by this host's clock; with its date if that is another day's. */
static void add_instant(struct text *out, const struct reasons_resource *resource)
{
    char clock[48], span[32];
    time_t now = (time_t)(resource->wall / 1000);
    time_t at = (time_t)((resource->wall + resource->goes_in) / 1000);
    struct tm today, day;
    bool is_known = resource->wall != 0 && localtime_r(&now, &today) && localtime_r(&at, &day);
    if (is_known) {
        bool is_today = today.tm_yday == day.tm_yday && today.tm_year == day.tm_year;
        strftime(clock, sizeof clock, is_today ? "at %H:%M:%S, " : "at %F %H:%M:%S, ", &day);
    }
    age_format(span, sizeof span, resource->goes_in + 999);
    text_add_format(out, "%sin %s", is_known ? clock : "", span);
}

/* Those behind do not know what the first one wants. Who is refused has no place. */
void rate_write(struct text *out, const struct reasons_resource *resource)
{
    bool is_first = resource->position == 1 ||
        (resource->position == 0 && resource->line->waiting == 0);
    text_add(out, is_first ? "lets it go " : "lets the next unit go ");
    add_instant(out, resource);
}

void reasons_cooling(struct reasons *reasons, const struct reasons_resource *resource)
{
    const struct status_resource *line = resource->line;
    char until[64] = "", span[32];
    if (line->cooling == 0) {
        return;
    }
    if (resource->cools_for > 0) {
        age_format(span, sizeof span, resource->cools_for + 999);
        snprintf(until, sizeof until, "%s for another %s", line->cooling > 1 ? ", the next" : ",",
            span);
    }
    reasons_say(reasons, "%llu unit%s of %s %s cooling down%s", (unsigned long long)line->cooling,
        line->cooling == 1 ? "" : "s", line->name, line->cooling == 1 ? "is" : "are", until);
}

void reasons_rate(struct reasons *reasons, const struct reasons_resource *resource)
{
    struct text sentence = TEXT_INIT;
    if (resource->goes_in > 0) {
        text_add_format(
            &sentence, "the rate of %s, %s, ", resource->line->name, resource->line->rate);
        rate_write(&sentence, resource);
        reasons_say(reasons, "%s", sentence.bytes);
    }
    text_deinit(&sentence);
}
