"""Daemons of several versions in one database: definitions compare by meaning, and what an older one
does not know it carries."""

import json

import pytest

from fleet_help import needs_redis
from scripts_help import definition, ok
from scripts_help import clock, redis_server, world  # fixtures

pytestmark = needs_redis

TEXT = definition(limit=4, items=())


def changed(text, **keys):
    """The definition with other values; None: without that key."""
    values = {**json.loads(text), **{key.replace("_", "-"): value for key, value in keys.items()}}
    return json.dumps({key: value for key, value in values.items() if value is not None})


def verdict(one, text, generation=0):
    return one.define({"a": text}, generation)["a"][0]


def stored(world, name="a"):
    generation, text = world.database.client.hget(world.database.key["definitions"], name).split(" ", 1)
    return int(generation), json.loads(text)


# ---- definitions


MEANINGS = [
    (changed(TEXT), "same"),  # blanks
    (json.dumps(dict(sorted(json.loads(TEXT).items()))), "same"),
    (changed(TEXT, keep=None, cooldown=None, max_waiters=None, max_units_per_user=None, shared=None,
             items=None), "same"),
    (changed(TEXT, max_waiters=None, limit=5), "limit"),
    (changed(TEXT, select=None), "differs"),  # it is not the default
    (changed(TEXT, cooldown=1), "differs"),
    (changed(TEXT, kind="pool"), "differs"),
    (changed(TEXT, kind="pool", limit=4, items=["x"]), "differs"),
]


def test_definitions_compare_by_meaning(world):
    a, b = world.several(2, {"a": TEXT})
    for other, expected in MEANINGS:
        assert verdict(b, other) == expected, other
        assert verdict(a, TEXT) == "same", other


def test_the_order_of_items_is_part_of_the_meaning(world):
    a, b = world.several(2, {"a": definition("pool", 0, ["x", "y"])})
    assert verdict(b, definition("pool", 0, ["y", "x"])) == "differs"
    assert verdict(b, changed(definition("pool", 0, ["x", "y"]))) == "same"


def test_a_short_definition_is_in_force_as_if_it_were_whole(world):
    a, b = world.several(2, {"a": json.dumps({"kind": "semaphore", "limit": 2})})
    assert [a.acquire(str(i), "a").word for i in range(3)] == ["granted", "granted", "waiting"]
    assert verdict(b, definition(limit=2, select="lru")) == "same"


NEWER = changed(TEXT, x_weight=3, x_tags=["a", {"b": 1}])


def test_what_a_newer_berthd_says_besides_is_none_of_an_older_ones_business(world):
    newer, older = world.several(2, {"a": NEWER})
    assert verdict(older, TEXT) == "same"
    assert verdict(older, changed(TEXT, limit=5)) == "limit"
    assert verdict(older, changed(TEXT, cooldown=1)) == "differs"
    assert verdict(newer, changed(NEWER, burst=4)) == "differs"
    assert verdict(newer, NEWER) == "same"


def test_it_is_carried_through_an_older_ones_generation(world):
    newer, older = world.several(2, {"a": NEWER})
    assert verdict(older, changed(TEXT, cooldown=7), 1) == "stored"
    assert stored(world) == (1, json.loads(changed(NEWER, cooldown=7)))
    assert verdict(newer, changed(NEWER, cooldown=7), 1) == "same"
    assert verdict(newer, changed(NEWER, burst=9), 2) == "stored"
    assert stored(world)[1]["burst"] == 9


# ---- what else is carried


def change_of(world, name):
    return json.loads(world.database.client.hget(world.database.key["changes"], name).split(" ", 1)[1])


@pytest.mark.parametrize("name", ["a", "t/*"])
def test_operators_changes_of_a_newer_berthd(world, name):
    a, = world.several(1, {name: definition(limit=3)})
    unknown = {"x-new": {"list": ["1", 2, True]}, "x-other": "text"}
    ok(a.admin("limit", name, "1"))
    version = int(world.database.client.hget(world.database.key["changes"], name).split(" ")[0])
    a.send_changes((name, version + 1, json.dumps({**change_of(world, name), **unknown})))
    for words in (("pause", name, "", "why"), ("limit", name, "2"), ("resume", name)):
        ok(a.admin(*words))
        assert {key: change_of(world, name)[key] for key in unknown} == unknown
    assert change_of(world, name)["limit"] == 2
    ok(a.admin("reset", name))
    assert change_of(world, name) == {}


# Appends fields to the record of each lease, as a newer berthd would.
MORE = """
for _, key in ipairs(redis.call('HKEYS', KEYS[1])) do
    local record = redis.call('HGET', KEYS[1], key)
    if record ~= '' then
        record = cmsgpack.unpack(record)
        record[12], record[13] = record[12] or false, record[13] or false
        record[14], record[15] = 'more', {1, 'x'}
        redis.call('HSET', KEYS[1], key, cmsgpack.pack(record))
    end
end
"""
LAST = """
local record = cmsgpack.unpack(redis.call('HGET', KEYS[1], ARGV[1]))
return cjson.encode({record[1], record[14], record[15]})
"""


def test_what_a_newer_berthd_keeps_with_a_lease(world):
    """It outlives a grant, and a hello, and does not disturb."""
    a, b = world.several(2, {"a": definition()})
    client, leases = world.database.client, world.database.key["leases"]
    held = a.acquire("1", "a", info="pid=1 colour=blue").claims
    b.acquire("1", "a")
    client.eval(MORE, 1, leases)
    assert a.lists_one(None, "1", "held", held, info="pid=1") == "held"
    assert json.loads(client.eval(LAST, 1, leases, a.key("1"))) == ["H", "more", [1, "x"]]
    assert any("colour=blue" in word for row in a.snapshot() if row[0] == "holder" for word in row)
    ok(a.release("1"))
    assert b.granted().keys() == {"1"}
    assert json.loads(client.eval(LAST, 1, leases, b.key("1"))) == ["H", "more", [1, "x"]]
    world.data().check()


def test_what_a_newer_berthd_says_about_its_session(world):
    a, b = world.several(2, {"a": definition()})
    ok(a.begin(version="9.9\tmore"))
    a.end()
    ok(b.renew())
    ok(a.renew())
    assert world.database.client.hget(world.database.key["session"], a.session).endswith("\t9.9\tmore")
    assert [row[5:8] for row in a.snapshot() if row[0] == "session" and row[1] == a.session] == [
        ["9.9\tmore", "2", "2"]]
