"""Several requests in one call get what they get one by one: a call looks up, counts and forgets for all of them
together."""

from fleet_help import needs_redis
from scripts_help import World, claim_words, definition, ok, parse_claims
from scripts_help import clock, redis_server, world  # fixtures

pytestmark = needs_redis

DEFINITIONS = {
    "a": definition(limit=3), "b": definition(limit=2), "u": definition(limit=6, user=2),
    "p": definition("pool", 0, [f"i{i}" for i in range(4)]), "q": definition(limit=2, max_waiters=1),
}
LATER = 2 * 10 ** 15  # than any number of a world that has just begun


def request(lease, *claims, ticket=0, nowait=False, holder=""):
    words = [word for claim in claims for word in claim_words(claim)]
    return [lease, int(nowait), 0, ticket, 1000, 1000, holder, "pid=1", "", len(claims), *words]


def acquire(member, *requests):
    """(word, ticket or code, and what comes behind) of each."""
    reply = member.call("acquire", *(word for one in requests for word in one))
    return reply.rows(3) if reply.word == "ok" else [(reply.word, *reply.rest)]


def without_numbers(row):
    """Tickets and tokens differ."""
    word, first, second = row
    if word == "granted":
        return word, [(claim.name, claim.count, claim.units) for claim in parse_claims(second)]
    return (word,) if word == "waiting" else (word, first, second)


def places(rows):
    return [int(position) for word, _, position in rows if word == "waiting"]


def random_request(chance, lease):
    names = chance.sample(sorted(DEFINITIONS), chance.choice([1, 1, 1, 2]))
    return request(lease, *((name, chance.choice([1, 1, 2])) for name in names), nowait=chance.random() < 0.2,
                   holder=chance.choice(["", "", "x"]))


def test_they_get_what_they_get_one_by_one(redis_server, clock, chance):  # noqa: F811
    worlds, members = [], []
    for prefix in ("together", "one"):
        clock.stand_at(World.START)
        worlds.append(World(redis_server, clock, prefix))
        members += worlds[-1].several(1, DEFINITIONS)
    together, one_by_one = members
    leases = []
    for _ in range(60):
        requests = [random_request(chance, chance.choice([*leases, *(str(i) for i in range(40))][-50:]))
                    for _ in range(chance.randrange(1, 9))]
        replies = acquire(together, *requests)
        each = [acquire(one_by_one, one)[0] for one in requests]
        assert list(map(without_numbers, replies)) == list(map(without_numbers, each))
        # Between two calls, a waiter that cannot go for another reason may step aside.
        assert all(place >= later for place, later in zip(places(replies), places(each)))
        leases += [one[0] for one, row in zip(requests, replies) if row[0] != "refused"]
        ended = chance.sample(leases, min(len(leases), chance.randrange(7)))
        leases = [lease for lease in leases if lease not in ended]
        for member in members:
            for lease in ended:  # what is free at once for several goes to others than what comes bit by bit
                ok(member.release(lease))
            ok(member.renew())
        assert [text.split(" ")[1] for text in together.events] == [text.split(" ")[1] for text in one_by_one.events]
        for world in worlds:
            world.check()
    for world, member in zip(worlds, members):
        ok(member.release(*leases))
        world.must_be_empty()


def test_each_number_is_larger_than_all_before(world):  # noqa: F811
    a, = world.several(1, DEFINITIONS)
    rows = acquire(a, request("1", ("a", 1), ("b", 1)), request("2", "a", ticket=LATER), request("3", "a"),
                   request("4", "p"))
    assert [row[0] for row in rows] == ["granted"] * 4
    tickets = [int(row[1]) for row in rows]
    tokens = [[claim.token for claim in parse_claims(row[2])] for row in rows]
    assert tickets[1] == LATER
    numbers = [tickets[0], *tokens[0], *tokens[1], tickets[2], *tokens[2], tickets[3], *tokens[3]]
    assert numbers == sorted(set(numbers))
    assert tokens[1][0] > LATER
    assert int(acquire(a, request("5", "p"))[0][1]) > numbers[-1]


def test_numbers_that_are_reserved_are_larger_than_a_ticket_that_comes(world):  # noqa: F811
    """It is larger than the last one given, though not larger than the last one of the call."""
    a, = world.several(1, DEFINITIONS)
    ticket = int(world.database.data()["db"]["number"]) + 3
    first, second = acquire(a, request("1", "a"), request("2", "b", ticket=ticket))
    tokens = [parse_claims(row[2])[0].token for row in (first, second)]
    assert int(second[1]) == ticket
    assert sorted({int(first[1]), tokens[0], ticket, tokens[1]}) == [int(first[1]), tokens[0], ticket, tokens[1]]


def test_the_same_one_twice(world):  # noqa: F811
    a, = world.several(1, DEFINITIONS)
    first, second, third = acquire(a, request("1", "a"), request("1", "a"), request("2", ("a", 3)))
    assert first == second and first[0] == "granted" and third[0] == "waiting"
    ok(a.release("1", "1", "2", "2"))
    world.must_be_empty()
