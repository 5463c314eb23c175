#include "daemon/counting.h"

#include <string.h>

void counting_refused(struct daemon_counts *counts, const char *answer)
{
    char word[32];
    const char *code = answer + strcspn(answer, " ");
    size_t length = code[0] != '\0' ? strcspn(++code, " \n") : 0;
    length = length < sizeof word ? length : sizeof word - 1;
    memcpy(word, code, length);
    word[length] = '\0';
    counts->refusals[code_find(word)]++;
}
