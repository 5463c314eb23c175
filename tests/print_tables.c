/* print_tables.c - the tables of requests, codes, events and configuration keys as text, for
 * tests/check_docs.py and tests/check_man.py. */
#include "conf/conf.h"
#include "conf/keys.h"
#include "conf/values.h"
#include "wire/protocol.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const right_words[] = {
    [RIGHT_ANYONE] = "anyone",
    [RIGHT_USE] = "use",
    [RIGHT_OWNER] = "owner",
    [RIGHT_RESOURCE_ADMIN] = "admin",
    [RIGHT_DAEMON_ADMIN] = "daemon admin",
};

static void print_conf_key(const struct key_row *key)
{
    printf("conf\t%s\t", key->word);
    for (enum section_kind kind = 0; kind < N_SECTION_KINDS; kind++) {
        if (key_is_in(key, kind)) {
            printf("%s ", section_words[kind]);
        }
    }
    printf("\t%s\t%s\t", key->initial ? key->initial : "(required)",
        key->reloadable ? "reload" : "start");
    printf("%s\t%" PRIu64 "\t", key->type->is_list ? "list" : "word", key->max);
    key->type->describe(key, stdout);
    printf("\t%s\n", key->help);
}

int main(void)
{
    for (size_t i = 0; i < N_COMMANDS; i++) {
        const struct command_row *row = &command_table[i];
        printf("command\t%s\t%s\t", row->word, right_words[row->right]);
        for (size_t key = 0; key < N_REQUEST_KEYS; key++) {
            if (row->keys & UINT32_C(1) << key) {
                printf("%s ", request_key_words[key]);
            }
        }
        putchar('\n');
    }
    for (size_t i = CODE_NONE + 1; i < N_CODES; i++) {
        printf("code\t%s\t%d\t%s\n", code_table[i].word, code_table[i].exit_status,
            code_table[i].meaning);
    }
    for (size_t i = EVENT_NONE + 1; i < N_EVENTS; i++) {
        printf("event\t%s\n", event_words[i]);
    }
    for (size_t i = 0; i < N_KEYS; i++) {
        print_conf_key(&key_table[i]);
    }
    printf("keys\n");
    keys_print(stdout);
    return 0;
}
