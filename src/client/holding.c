#include "client/holding.h"

#include "client/answer.h"
#include "client/message.h"
#include "client/request.h"

#include <sched.h>
#include <string.h>

void holding_init(struct holding *holding, struct connection *connection, const char *lease)
{
    *holding = (struct holding){.connection = connection};
    memcpy(holding->lease, lease, strlen(lease) + 1);
}

/* The one place that decides what becomes of a job whose lease is lost. It goes on. */
static void lease_is_lost(struct holding *holding, const char *why)
{
    message("lost the lease (%s); the job goes on", why);
    holding->lease[0] = '\0';
    connection_close(holding->connection);
}

/* The one place that decides what to do about a lease whose connection is gone. berthd frees what
 * a lost connection held, so there is nothing to come back to. */
static void connection_is_lost(struct holding *holding)
{
    lease_is_lost(holding, "berthd closed the connection");
}

static void take_event(struct holding *holding, struct answer *answer)
{
    if (answer->event == EVENT_LOST && strcmp(answer->lease, holding->lease) == 0) {
        const char *text = message_clean(answer->text);
        lease_is_lost(holding, text[0] ? text : answer->code_word);
    }
}

void holding_take_lines(struct holding *holding)
{
    static struct answer answer; /* large */
    enum connection_line found;
    char *line;
    while (holding->connection->fd >= 0 &&
        (found = connection_next(holding->connection, &line)) != CONNECTION_MORE) {
        if (found == CONNECTION_LINE) {
            answer_parse(&answer, line);
            take_event(holding, &answer);
        }
    }
}

void holding_read(struct holding *holding)
{
    bool is_open = connection_read(holding->connection);
    holding_take_lines(holding);
    if (!is_open && holding->connection->fd >= 0) {
        connection_is_lost(holding);
    }
}

void holding_release(struct holding *holding)
{
    struct request_line line;
    if (holding->lease[0] && holding->connection->fd >= 0) {
        request_release_lease(&line, holding->lease);
        /* Whether or not it can be sent: the end of the connection says the same. */
        connection_send(holding->connection, line.text, line.length);
        /* The next job waits for that. If berthd was woken on our CPU, the end of our process,
         * which takes longer than its turn, would come first. */
        sched_yield();
    }
    connection_close(holding->connection);
}
