/* test_session.c - connecting, listing, asking, giving back, renewing. */
#include "session_fixture.h"

SESSION_SUITE(session);

static const char definitions_told[] =
    "hello define"
    " s 1 "
    "{\"kind\":\"semaphore\",\"limit\":3,\"select\":\"lru\",\"cooldown\":0,\"max-waiters\":1000,"
    "\"max-units-per-user\":0,\"shared\":false,\"items\":[]}"
    " l 1 {\"kind\":\"lock\",\"limit\":1,\"select\":\"lru\",\"cooldown\":0,\"max-waiters\":1000,"
    "\"max-units-per-user\":0,\"shared\":false,\"items\":[]}"
    " p 1 {\"kind\":\"pool\",\"limit\":0,\"select\":\"lru\",\"cooldown\":0,\"max-waiters\":1000,"
    "\"max-units-per-user\":0,\"shared\":false,\"items\":[\"a\",\"b\"]}"
    " t/* 1 "
    "{\"kind\":\"semaphore\",\"limit\":5,\"select\":\"lru\",\"cooldown\":0,\"max-waiters\":1000,"
    "\"max-units-per-user\":0,\"shared\":false,\"items\":[]}"
    " warn 1 "
    "{\"kind\":\"semaphore\",\"limit\":3,\"select\":\"lru\",\"cooldown\":0,\"max-waiters\":1000,"
    "\"max-units-per-user\":0,\"shared\":false,\"items\":[]}";

Test(session, says_hello)
{
    NO_CALL();
    connect_link();
    CALL("hello begin 30000 11000 'this host' 0 0");
    NO_CALL(); /* one at a time */
    answer("ok -1 0 '1' 30000 '0' 1");
    CALL(definitions_told);
    answer("ok -1 0 s same {} l same {} p same {} t/* stored {} warn same {}");
    CALL("hello end ''");
    EXPECT(good_for(), "-1000.000");
    answer("ok -1 0 ''");
    EXPECT(good_for(), "24.950"); /* 0.84 * 30 s - 250 ms, from the send of begin */
    NO_CALL();
}

Test(session, asks_and_gives_back)
{
    go_up();
    ask("A", "s:2 reason=a|b");
    CALL("acquire $A 0 0 0 7 7 '' i 1 s s 2 3 0");
    NO_CALL();
    answer("ok -1 0 granted '5' 's 2 17 0,1'");
    HAPPENS("A granted s=0,1");
    end("A");
    CALL("release $A");
    NO_CALL();
    answer("ok -1 0");
    NO_CALL();
}

Test(session, waits_until_a_message)
{
    go_up();
    ask("A", "l");
    CALL("acquire $A 0 0 0 7 7 '' i 1 l l 1 1 0");
    answer("ok -1 0 waiting '5' 2");
    HAPPENS("A place 2");
    message("000000000001 granted $A 5 l 1 17 0");
    HAPPENS("A granted l=0");
}
