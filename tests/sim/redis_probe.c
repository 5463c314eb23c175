/* redis_probe.c - the simulated Redis for a process test: `redis_probe` evaluates the Lua on its
 * stdin and writes the answer, in RESP; `redis_probe --commands` lists its commands. */
#include "redis_internal.h"

#include <stdio.h>
#include <string.h>

static void list_commands(void)
{
    for (const struct command *command = redis_commands; command->word; command++) {
        printf("%s%s%s\n", command->word, command->writes ? " write" : "",
            command->makes ? " denyoom" : "");
    }
}

static void read_all(FILE *file, struct text *text)
{
    char bytes[65536];
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, file)) > 0;) {
        text_add_bytes(text, bytes, n);
    }
}

int main(int argc, char **argv)
{
    struct redis redis;
    struct text script = TEXT_INIT, reply = TEXT_INIT;
    if (argc == 2 && strcmp(argv[1], "--commands") == 0) {
        list_commands();
        return 0;
    }
    read_all(stdin, &script);
    redis_init(&redis, 1);
    redis_eval(&redis, "stdin", script.bytes, script.length, &reply);
    fwrite(reply.bytes, 1, reply.length, stdout);
    redis_deinit(&redis);
    text_deinit(&script);
    text_deinit(&reply);
    return 0;
}
