#include "base/job_status.h"

#include <limits.h>
#include <string.h>

void text_add_job_status(struct text *out, bool is_signal, uint64_t number)
{
    const char *name = is_signal && number <= INT_MAX ? sigabbrev_np((int)number) : NULL;
    if (name) {
        text_add(out, "SIG");
        text_add(out, name);
    } else {
        text_add(out, is_signal ? "signal " : "exit ");
        text_add_number(out, number);
    }
}
