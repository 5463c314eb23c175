#include "job/process_text.h"

#include "base/utf8.h"

#include <stddef.h>
#include <string.h>

/* The number at the start of `text`, up to a blank or the end; NULL if there is none of at most
 * `max`. */
static const char *take_number(const char *text, uint64_t max, uint64_t *out)
{
    uint64_t number = 0;
    size_t n = 0;
    for (; text[n] >= '0' && text[n] <= '9'; n++) {
        uint64_t digit = (uint64_t)(text[n] - '0');
        if (number > (max - digit) / 10) {
            return NULL;
        }
        number = number * 10 + digit;
    }
    bool ends = text[n] == '\0' || strchr(" \t\n", text[n]);
    *out = number;
    return n > 0 && ends ? text + n : NULL;
}

/* ---- stat ---- */

/* Fields as proc(5) numbers them, from 3 on: the pid and the name come before. If there
 * are not so many, the last are empty. */
enum { FIELD_STATE = 3, FIELD_PARENT = 4, FIELD_GROUP = 5, FIELD_THREADS = 20, FIELD_STARTED = 22 };

bool process_stat_parse(const char *text, struct process_stat *out)
{
    /* A process chooses its own name, with blanks, line ends and parentheses; no other field has
     * any. */
    const char *name_end = strrchr(text, ')');
    if (!name_end || name_end[1] != ' ' || name_end[2] == '\0' || name_end[3] != ' ') {
        return false;
    }
    const char *fields[FIELD_STARTED + 1], *next = name_end + 2;
    for (size_t i = FIELD_STATE; i <= FIELD_STARTED; i++) {
        fields[i] = next;
        next = strchrnul(next, ' ');
        next += *next == ' ';
    }
    uint64_t n_threads, group, parent;
    bool has_parent = take_number(fields[FIELD_PARENT], INT32_MAX, &parent);
    bool has_group = take_number(fields[FIELD_GROUP], INT32_MAX, &group); /* or it is -1 */
    if (!take_number(fields[FIELD_THREADS], INT32_MAX, &n_threads) ||
        !take_number(fields[FIELD_STARTED], UINT64_MAX, &out->started)) {
        return false;
    }
    out->state = fields[FIELD_STATE][0];
    out->parent = has_parent ? (int32_t)parent : 0;
    out->group = has_group ? (int32_t)group : 0;
    out->n_threads = (uint32_t)n_threads;
    return true;
}

bool process_stat_is_alive(const struct process_stat *stat)
{
    return !strchr("ZXx", stat->state) || stat->n_threads > 1;
}

/* ---- status ---- */

/* What follows the next `head`, which moves *atp on to there: questions come in the order of the
 * lines. NULL if there is none. The name in the first line has its line ends escaped, so that it
 * cannot pretend to be other lines. */
static const char *find_line(const char **atp, const char *head)
{
    const char *line = strstr(*atp, head);
    if (line) {
        *atp = line += strlen(head);
    }
    return line;
}

static bool read_id(const char **atp, const char *head, int32_t *out)
{
    const char *line = find_line(atp, head);
    uint64_t id;
    if (!line || !take_number(line, INT32_MAX, &id)) {
        return false;
    }
    *out = (int32_t)id;
    return true;
}

/* Real, effective, saved, of the file system. */
static bool read_uids(const char **atp, struct process_status *out)
{
    uint64_t uids[3];
    const char *next = find_line(atp, "\nUid:\t");
    for (size_t i = 0; next && i < 3; i++) {
        next += strspn(next, "\t");
        next = take_number(next, UINT32_MAX, &uids[i]);
    }
    if (!next) {
        return false;
    }
    out->real_uid = (uint32_t)uids[0];
    out->saved_uid = (uint32_t)uids[2];
    return true;
}

static uint32_t count_numbers(const char *line)
{
    uint32_t n = 0;
    uint64_t unused;
    while (line && (line = take_number(line + strspn(line, "\t"), INT32_MAX, &unused))) {
        n++;
    }
    return n;
}

bool process_status_parse(const char *text, struct process_status *out)
{
    if (!read_id(&text, "\nTgid:\t", &out->leader) || !read_id(&text, "\nPid:\t", &out->pid) ||
        !read_uids(&text, out)) {
        return false;
    }
    out->n_namespaces = count_numbers(find_line(&text, "\nNSpid:\t"));
    return true;
}

/* ---- cgroup ---- */

/* Cuts the line's end off. NULL if the line is not of that hierarchy. */
static char *path_in(char *line, const char *head)
{
    size_t n = strlen(head);
    char *end = strchr(line, '\n');
    char *start = strchr(line, ':'); /* behind the hierarchy's number */
    if (!end || !start || start > end || strncmp(start, head, n) != 0) {
        return NULL;
    }
    *end = '\0';
    return start + n;
}

const char *process_cgroup_find(char *text)
{
    static const char *const heads[] = {"::", ":name=systemd:"};
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
            const char *path = path_in(line, heads[i]);
            if (path && strcmp(path, "/") != 0) {
                return path;
            }
            *end = '\n';
        }
    }
    return NULL;
}

/* ---- arguments ---- */

const char *process_args_join(char *text, size_t length, bool is_cut)
{
    static const char more[] = "...";
    while (!is_cut && length > 0 && text[length - 1] == '\0') {
        length--;
    }
    for (size_t i = 0; i < length; i++) {
        text[i] = text[i] == '\0' ? ' ' : text[i];
    }
    text[length] = '\0';
    if (is_cut) {
        strcpy(text + utf8_cut(text, length - strlen(more)), more);
    }
    return length > 0 ? text : NULL;
}

/* ---- locks ---- */

/* A line is "NUMBER: FLOCK ADVISORY WRITE PID FILE START END"; one who waits for that lock follows,
 * with the same NUMBER and "->" before the kind. */
struct lock_line {
    const char *number;
    size_t number_length;
    bool waits, is_of_file;
    int32_t pid; /* 0: not known here */
};

/* Moves *atp behind the next word of the line, whose length it returns; 0: there is none. */
static size_t next_word(const char **atp, const char **wordp)
{
    *wordp = *atp + strspn(*atp, " ");
    size_t n = strcspn(*wordp, " \n");
    *atp = *wordp + n;
    return n;
}

static void read_lock_line(const char *at, struct lock_line *out)
{
    const char *word;
    uint64_t pid;
    out->number_length = next_word(&at, &out->number);
    size_t n = next_word(&at, &word);
    out->waits = n == 2 && strncmp(word, "->", 2) == 0;
    n = out->waits ? next_word(&at, &word) : n;
    out->is_of_file = n == 5 && strncmp(word, "FLOCK", 5) == 0;
    next_word(&at, &word);
    next_word(&at, &word);
    out->pid = next_word(&at, &word) > 0 && take_number(word, INT32_MAX, &pid) ? (int32_t)pid : 0;
}

int32_t process_locks_find(const char *text, int32_t pid)
{
    struct lock_line holder = {.number = ""}, line;
    for (const char *at = text; *at; at = strchrnul(at, '\n'), at += *at == '\n') {
        read_lock_line(at, &line);
        if (!line.waits) {
            holder = line;
        } else if (line.is_of_file && line.pid == pid) {
            bool is_his = holder.number_length == line.number_length && holder.pid > 0 &&
                strncmp(holder.number, line.number, line.number_length) == 0;
            return is_his ? holder.pid : -1;
        }
    }
    return 0;
}
