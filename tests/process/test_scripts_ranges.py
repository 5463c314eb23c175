"""Many slots: Redis has few blocks for them, answers have ranges, and these fit on a line."""

import pytest

from fleet_help import needs_redis
from scripts_help import Claim, definition, list_row, ok, units_text
from scripts_help import clock, redis_server, world  # fixtures

pytestmark = needs_redis

LIMIT = 100000
MAX_RANGES = 224


@pytest.fixture
def a(world):
    one, = world.several(1, {"mem": definition(limit=LIMIT), "b": definition(limit=2000)})
    return one


def slots(first, last):
    return tuple(map(str, range(first, last + 1)))


def takes_singles(one, name, n, but=()):
    """n leases of one slot each, numbered from 0."""
    for at in range(0, n, 32):
        one.call("acquire", *[word for i in range(at, min(at + 32, n)) for word in (
            i, 0, 0, 0, 1000, 1000, "", "pid=1", "", 1, name, name, 1, LIMIT)])


def released(one, leases):
    leases = list(map(str, leases))
    for at in range(0, len(leases), 100):
        ok(one.release(*leases[at:at + 100]))


@pytest.mark.parametrize("count", [500, 1000, 4097, 16384])
def test_many_slots_cost_few_commands(world, a, count):
    world.database.load()
    a.acquire("0", ("mem", 5))
    assert world.n_commands(lambda: a.acquire("1", ("mem", count))) < 110
    assert world.data().leases[a.key("1")]["claims"][0].units == slots(5, count + 4)
    assert len(world.database.client.zrange(world.database.key["held"], 0, -1)) < 150
    world.check()
    assert world.n_commands(lambda: a.release("1")) < 170
    assert a.acquire("2", "mem").units == ("5",)
    world.check()


def test_what_is_sent_are_ranges(a):
    assert a.acquire("0", ("mem", 2)).rest[1].split(" ")[3] == "0-1"
    assert a.acquire("1", "mem").rest[1].split(" ")[3] == "2"
    ok(a.release("0"))
    a.acquire("2", ("b", 1999))
    assert a.acquire("3", ("b", 2), ("mem", 500)).word == "waiting"
    ok(a.release("2"))
    event, = a.new_events()
    assert [part.split(" ")[3] for part in event.split(" ", 3)[3].split("|")] == ["0-1", "0-1,3-500"]


def test_the_gaps_are_found(world, a):
    """Between blocks and between single slots, whoever left them."""
    for i, count in enumerate([1, 70, 32, 1100, 5, 2048, 1]):
        a.acquire(str(i), ("mem", count))
    released(a, [1, 3, 4])
    assert a.acquire("7", ("mem", 1176)).units == (*slots(1, 70), *slots(103, 1207), "3257")
    world.check()


def test_a_limit_below_a_block(world, a):
    a.acquire("0", ("mem", 33))
    a.acquire("1", ("mem", 5000))
    ok(a.release("0"))
    for limit, answer in ((20, "waiting"), (5002, "granted")):
        ok(a.admin("limit", "mem", str(limit)))
        assert a.acquire(str(limit), "mem").word == answer
    assert world.data().in_use("mem") == 5002
    world.check()


def test_blocks_count_for_their_user(world):
    a, = world.several(1, {"q": definition(limit=LIMIT, user=1500)})
    a.acquire("1", ("q", 1400), uid=1)
    assert a.acquire("2", ("q", 101), uid=1).word == "waiting"
    assert a.acquire("3", ("q", 1500), uid=2).word == "granted"
    ok(a.release("1"))
    assert list(a.granted()) == ["2"]
    world.check()


def test_blocks_rest(world):
    a, = world.several(1, {"c": definition(limit=1100, cooldown=2000)})
    a.acquire("1", ("c", 1090))
    ok(a.release("1"))
    (row,) = [row for row in a.snapshot("c") if row[0] == "resource"]
    assert (row[4], row[5], row[7]) == ("0", "10", "1090")  # in use, free, cooling
    assert a.acquire("2", ("c", 11)).word == "waiting"
    world.check()
    world.tick(2000)
    assert a.granted()["2"][0].units == slots(0, 10)
    world.check()


def test_reserved_slots_are_left_out(world, a):
    for slot in (0, 40, 1500):
        ok(a.admin("reserve", "mem", str(slot), "x"))
    assert units_text(a.acquire("1", ("mem", 2000)).units) == "1-39,41-1499,1501-2002"
    ok(a.admin("limit", "mem", "2003"))
    assert a.acquire("2", "mem").word == "waiting"
    world.check()


# ---- scattered ----

def test_as_many_scattered_slots_as_fit_on_a_line(world, a):
    takes_singles(a, "mem", 1200)
    released(a, range(0, 1200, 2))
    assert a.acquire("few", ("mem", 2 * MAX_RANGES)).units == tuple(map(str, range(0, 4 * MAX_RANGES, 2)))
    ok(a.release("few"))
    units = a.acquire("more", ("mem", 2 * MAX_RANGES + 1)).units
    assert units_text(units).count(",") < MAX_RANGES
    assert units == slots(1200, 1200 + 2 * MAX_RANGES)
    world.check()


def test_a_lease_of_several_has_less_room_for_each(world, a):
    takes_singles(a, "mem", 1200)
    released(a, range(0, 1200, 2))
    few, _ = a.acquire("few", ("mem", MAX_RANGES), "b").claims
    assert len(few.units) == MAX_RANGES and "1" not in few.units
    more, _ = a.acquire("more", ("mem", MAX_RANGES + 1), "b").claims
    assert units_text(more.units).count(",") < MAX_RANGES // 2


def test_a_lease_waits_until_its_slots_fit_on_a_line(world):
    a, = world.several(1, {"small": definition(limit=1200)})
    takes_singles(a, "small", 1200)
    released(a, range(0, 1200, 2))
    assert a.acquire("now", ("small", 500), nowait=True).code == "would-wait"
    assert a.acquire("all", ("small", 500)).word == "waiting"
    assert a.acquire("behind", "small").word == "waiting"
    released(a, range(1, 301, 2))
    granted = a.granted()
    assert set(granted) == {"all", "behind"}
    assert units_text(granted["all"][0].units).count(",") < 2 * MAX_RANGES
    world.check()


def test_pieces_beside_a_reserved_slot_take_no_room_of_longer_runs(world, a):
    """224 runs of 64 slots just fit on a line."""
    runs = range(0, 225 * 128, 128)
    takes_all_but(world, "mem", 100000, [first + i for first in runs for i in range(64)])
    ok(a.admin("reserve", "mem", "31", "x"))
    units = a.acquire("1", ("mem", 224 * 64)).units
    assert units_text(units) == ",".join(f"{first}-{first + 63}" for first in runs[1:])


def takes_all_but(world, name, limit, free):
    """As if each unit, and each block, were at rest."""
    words, first = [], 0
    for slot in (*sorted(free), limit):
        while first < slot:
            mark, size = next((mark, size) for mark, size in (("=", 1024), ("<", 32), ("", 1))
                              if first % size == 0 and first + size <= slot)
            words.append(f"{name} {mark}{first:07} -")
            first += size
        first += 1
    for i in range(0, len(words), 5000):
        world.database.client.zadd(world.database.key["held"], dict.fromkeys(words[i:i + 5000], 0))
        world.database.was_edited()


def far_apart(n):
    """That many of 10^6 slots, each in another part of 2048."""
    return [i * 10**6 // n + i * i % 1999 for i in range(n)]


@pytest.mark.parametrize("n_reserved", [0, 40])
def test_all_ranges_of_a_line_are_found_at_the_largest_limit(world, n_reserved):
    a, = world.several(1, {"x": definition(limit=10**6)})
    free = far_apart(2 * MAX_RANGES + n_reserved)
    reserved = free[5:5 + n_reserved]
    takes_all_but(world, "x", 10**6, free)
    for slot in reserved:
        ok(a.admin("reserve", "x", slot, "why"))
    units = a.acquire("1", ("x", 2 * MAX_RANGES)).units
    assert set(map(int, units)) == {*free} - {*reserved}


def test_longer_runs_behind_many_places_too_small_for_them(world):
    a, = world.several(1, {"x": definition(limit=10**6)})
    takes_all_but(world, "x", 80000, range(0, 80000, 2))
    units = a.acquire("1", ("x", 500)).units
    assert units_text(units).count(",") < MAX_RANGES and int(units[0]) >= 80000


def test_a_large_gap_costs_little(world):
    """What the library remembers of slots is bounded while it is made, too."""
    a, = world.several(1, {"x": definition(limit=10**6)})
    a.acquire("1", ("x", 900000))
    a.acquire("2", "x")
    ok(a.release("1"))
    for lease in range(3, 6):
        assert a.acquire(str(lease), "x").units == ("0",)
        ok(a.release(str(lease)))
    memory = world.database.client.info("memory")
    assert memory["used_memory_vm_functions"] < 4 << 20, memory
    world.check()

# ---- what is listed ----

def test_blocks_are_put_back(world):
    a, b = world.several(2, {"mem": definition(limit=LIMIT)})
    first = a.acquire("1", ("mem", 3000))
    second = b.acquire("1", ("mem", 50))
    world.database.client.flushall()
    rows = {one: list_row("1", "held", reply.claims, ticket=reply.ticket)
            for one, reply in ((a, first), (b, second))}
    for one, row in rows.items():
        word, _, claims = one.hello({"mem": definition(limit=LIMIT)}, [row])["1"]
        assert word == "held" and claims == one.lists(row)["1"][2]
    assert world.check().in_use("mem") == 3050


@pytest.mark.parametrize("old, new", [
    (slots(0, 99), ("40",)), (slots(0, 99), slots(90, 2000)), (("7",), slots(0, 31)),
    (slots(1000, 1100), slots(0, 4095)), (slots(0, 4095), slots(1030, 1040)), (slots(32, 63), slots(32, 63)),
])
@pytest.mark.parametrize("cooldown", [0, 2000])
def test_of_two_that_overlap_the_larger_token_wins(world, old, new, cooldown):
    a, b = world.several(2, {"mem": definition(limit=LIMIT, cooldown=cooldown)})
    world.database.client.flushall()
    for one in (a, b):
        one.hello({"mem": definition(limit=LIMIT, cooldown=cooldown)})
    def row(token, units):
        return list_row("1", "held", [Claim("mem", len(units), token, units)], ticket=5)
    assert a.lists(row(10, old))["1"][0] == "held"
    assert b.lists(row(9, new))["1"][0] == "lost"
    assert b.lists(row(20, new))["1"][0] == "held"
    assert "lost 1" in a.new_events()
    data = world.data()
    assert data.in_use("mem") == len(new)
    assert all(len(keys) == 1 for keys in data.held.values())


@pytest.mark.parametrize("item", ["alpha", "gpu30000000"])
def test_items_that_were_put_back_take_slots(world, item):
    """The host's file has a pool of that name."""
    a, b = world.several(2, {"x": definition(limit=2)})
    world.database.client.flushall()
    b.hello({"x": definition(limit=2)})
    assert a.lists_one({}, "1", "held", [Claim("x", 1, 10, (item,))], ticket=5) == "held"
    world.end_grace(a, b)
    for lease in map(str, range(4)):
        assert len(b.acquire(lease, "x").units) == 1
        assert b.acquire(lease + "more", "x", nowait=True).code == "would-wait"
        ok(b.release(lease))
    ok(a.release("1"))
    b.acquire("5", "x"), b.acquire("6", "x")
    assert b.acquire("7", "x", nowait=True).code == "would-wait"
    world.check()



def test_an_item_that_has_rested_frees_no_slot(world):
    """Not that of the number in its name."""
    rules = {"x": definition(limit=4, cooldown=2000)}
    a, b = world.several(2, rules)
    world.database.client.flushall()
    b.hello(rules)
    assert a.lists_one({}, "1", "held", [Claim("x", 1, 10, ("/dev/x1",))], ticket=5) == "held"
    world.end_grace(a, b)
    b.acquire("1", "x"), b.acquire("2", "x"), b.acquire("3", "x")
    ok(a.release("1"))
    world.pass_time(3000, a, b)
    assert b.acquire("4", "x").word == "granted"
    assert b.acquire("5", "x", nowait=True).code == "would-wait"
    world.check()


def test_a_holder_of_many_is_shown_once(world, a):
    takes_singles(a, "mem", 400)
    released(a, range(0, 400, 2))
    a.acquire("many", ("mem", 3000))
    rows = [row for row in a.snapshot() if row[0] == "holder" and row[2] == a.key("many")]
    assert len(rows) == 1
    assert rows[0][8] == "3000" and rows[0][10].startswith("0,2,4,") and rows[0][10].endswith("-3199")
