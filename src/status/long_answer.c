#include "status/long_answer.h"

bool long_answer_continue(struct long_answer *answer, const struct answer_moment *moment,
    struct text *out, size_t enough)
{
    if (answer->kind->more(answer, moment, out, enough)) {
        return true;
    }
    text_add(out, answer->kind->has_no_end ? "" : "end\n");
    text_add_bytes(out, answer->held_back.bytes, answer->held_back.length);
    return false;
}

uint32_t long_answer_view_weight(const struct long_answer *answer)
{
    return answer->kind->view_weight ? answer->kind->view_weight(answer) : 0;
}

struct long_answer *long_answer_free(struct long_answer *answer)
{
    text_deinit(&answer->held_back);
    answer->kind->free(answer);
    return NULL;
}
