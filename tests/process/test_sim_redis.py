"""The Redis in which tests/sim/fleet runs the scripts answers like a real one."""

import os
import random
import re
import subprocess

import pytest

from conftest import BUILD
from daemon_help import SOURCE
from fleet_help import clock, needs_redis, redis_server  # fixtures among them

PROBE = BUILD / "tests/sim/redis_probe"
SEED = int(os.environ.get("BERTH_SEED", "1"))

# The answers of the commands, each as a text. Where Redis keeps no order, they are sorted.
HARNESS = """
local out = {}
local function show(value)
    if type(value) == 'table' then
        local parts, n = {}, 0
        for key, part in pairs(value) do
            n = n + 1
            parts[n] = show(key) .. '=' .. show(part)
        end
        table.sort(parts)
        return '{' .. table.concat(parts, ',') .. '}'
    elseif type(value) == 'string' then
        return (string.gsub(value, '.', function(byte) return string.format('%%02x', string.byte(byte)) end))
    elseif type(value) == 'number' then
        return string.format('#%%.17g', value)
    end
    return tostring(value)
end
local function try(...)
    local worked, value = pcall(redis.call, ...)
    out[#out + 1] = worked and show(value) or 'error'
end
local function try_unordered(...)
    local worked, value = pcall(redis.call, ...)
    if worked then
        table.sort(value)
    end
    out[#out + 1] = worked and show(value) or 'error'
end
local function try_packing(value)
    out[#out + 1] = show(cmsgpack.unpack(cmsgpack.pack(value)))
end
local function try_json(text)
    out[#out + 1] = show(cjson.decode(text)) .. ' ' .. cjson.encode(cjson.decode(text).items or {x = 1})
end
%s
return table.concat(out, '\\n')
"""


def literal(value):
    """As a literal of Lua."""
    if isinstance(value, dict):
        return "{" + ",".join(f"[{literal(key)}]={literal(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "{" + ",".join(map(literal, value)) + "}"
    if isinstance(value, bytes):
        return '"' + "".join(f"\\{byte:03d}" for byte in value) + '"'
    if isinstance(value, str):
        return literal(value.encode())
    return {True: "true", False: "false", None: "nil"}.get(value, repr(value)) if isinstance(
        value, (bool, type(None))) else repr(value)


def evaluate_here(text):
    done = subprocess.run([PROBE], input=text.encode(), stdout=subprocess.PIPE, check=True, timeout=60)
    head, body = done.stdout.split(b"\r\n", 1)
    assert head == b"$%d" % (len(body) - 2), done.stdout[:1000]
    return body[:-2].decode()


def compare(server, lines):
    text = HARNESS % "\n".join(lines)
    here, there = evaluate_here(text).split("\n"), server.client().eval(text, 0).split("\n")
    assert len(here) == len(there) == len(lines)
    for line, ours, theirs in zip(lines, here, there):
        assert ours == theirs, line


class Play:
    """Random commands on few keys and members."""

    KEYS = {"hash": ["h1", "h2"], "set": ["s"], "equal": ["e"], "scored": ["z1", "z2"]}

    def __init__(self, seed):
        self.chance = random.Random(seed)

    def key(self, kind):
        if kind != "equal" and self.chance.randrange(20) == 0:  # one of another type
            return "h1" if kind == "set" else "s"
        return self.chance.choice(self.KEYS[kind])

    def name(self):
        return self.chance.choice([b"a", b"b", b"a b", b"a!", b"a a", b"", b"\xff", b"\0x", b"0012", b"12"])

    # Of a number that is no sum of powers of two, 7.0 writes all digits, and 8.0 those that matter.
    def score(self):
        return self.chance.choice([0, 1, 2, -3, 2.5, 0.125, 1e15, 9007199254740991, 1700000000000.25, "7", "inf",
                                   "-inf", "1e3", "3.0", "x", "", "nan"])

    def bound(self):
        return self.chance.choice(["-inf", "+inf", 0, 1, "(1", "(0", 2.5, "(2.5", 1e15, "(-3", "x"])

    def lex(self):
        return self.chance.choice([b"-", b"+", b"[" + self.name(), b"(" + self.name(), b"[a ", b"(a!", b"x", b""])

    def limit(self):
        return self.chance.choice([[], [], ["LIMIT", self.chance.randrange(-1, 4), self.chance.randrange(-1, 5)],
                                   ["LIMIT", 0], ["LIMIT", "x", 1]])

    def names(self):
        return [self.name() for _ in range(self.chance.randrange(1, 4))]

    def command(self):
        choose = self.chance.choice
        return choose([
            lambda: ["EXISTS", self.key("hash"), self.key("set"), self.key("scored")],
            lambda: ["HDEL", self.key("hash"), *self.names()],
            lambda: ["HEXISTS", self.key("hash"), self.name()],
            lambda: ["HGET", self.key("hash"), self.name()],
            lambda: ["HINCRBY", self.key("hash"), self.name(), choose([1, -2, "5", "x", 2 ** 40])],
            lambda: ["HMGET", self.key("hash"), *self.names()],
            lambda: ["HSET", self.key("hash"), *[word for name in self.names() for word in (
                name, choose([name, 7, 0.125, -1e15, "12"]))]],
            lambda: ["hset", self.key("hash"), self.name()],
            lambda: ["SADD", self.key("set"), *self.names()],
            lambda: ["SCARD", self.key("set")],
            lambda: ["SREM", self.key("set"), *self.names()],
            lambda: ["SRANDMEMBER", self.key("set"), choose([0, 100, "x"])] if choose([0, 0, 1]) else ["SCARD", "s"],
            lambda: ["UNLINK", self.key("hash"), self.key("scored")],
            lambda: ["ZADD", self.key("scored"), *choose([[], [], ["GT"], ["XX"]]), *[
                word for name in self.names() for word in (self.score(), name)]],
            lambda: ["ZADD", "e", 0, self.name(), 0, self.name()],
            lambda: ["ZADD", self.key("scored"), 1],
            lambda: ["ZCARD", self.key("scored")],
            lambda: ["ZCOUNT", self.key("scored"), self.bound(), self.bound()],
            lambda: ["ZLEXCOUNT", self.key("equal"), self.lex(), self.lex()],
            lambda: ["ZMSCORE", self.key("scored"), *self.names()],
            lambda: ["ZRANGE", self.key("scored"), choose([0, 1, -2, "x"]), choose([0, 1, -1, 999]),
                     *choose([[], ["WITHSCORES"]])],
            lambda: ["ZRANGEBYLEX", self.key("equal"), self.lex(), self.lex(), *self.limit()],
            lambda: ["ZREVRANGEBYLEX", self.key("equal"), self.lex(), self.lex(), *self.limit()],
            lambda: ["ZRANGEBYSCORE", self.key("scored"), self.bound(), self.bound(), *self.limit()],
            lambda: ["ZRANGEBYSCORE", self.key("scored"), self.bound(), self.bound(), "WITHSCORES",
                     *self.limit()],
            lambda: ["ZREM", self.key("scored"), *self.names()],
            lambda: ["ZREM", "e", *self.names()],
            lambda: ["ZREMRANGEBYSCORE", self.key("scored"), self.bound(), self.bound()],
            lambda: ["ZSCORE", self.key("scored"), self.name()],
            lambda: ["HKEYS", self.key("hash")] if choose([0, 1]) else ["ZCARD", "e"],
        ])()

    def line(self):
        command = self.command()
        if command[0] == "HKEYS":  # of any key: whichever has become a hash
            return f"try_unordered({','.join(map(literal, command))})"
        if command[0] == "SRANDMEMBER" and command[2] == 100:  # of any key, likewise
            return f"try_unordered({','.join(map(literal, command))})"
        return f"try({','.join(map(literal, command))})"

    def value(self, depth=0):
        choose = self.chance.choice
        number = choose([0, 1, 127, 128, 255, 256, 65535, 65536, 2 ** 32 - 1, 2 ** 32, 2 ** 53, -1, -32, -33, -128, -129,
                         -32768, -32769, -2 ** 31, -2 ** 31 - 1, 0.5, 0.1, 1e300, -2.25])
        text = bytes(self.chance.randrange(256) for _ in range(choose([0, 1, 31, 32, 255, 256, 70000 // (1 + depth * 99)])))
        some = [number, number, text, True, False]
        if depth < 3:
            some.append([self.value(depth + 1) for _ in range(choose([0, 1, 3, 15, 16]))])
            some.append({"only": self.value(depth + 1)})
        return choose(some)


@needs_redis
@pytest.mark.parametrize("seed", range(SEED, SEED + 6))
def test_the_same_commands_have_the_same_answers(redis_server, seed):
    play = Play(seed)
    compare(redis_server, [play.line() for _ in range(1500)])


@needs_redis
def test_what_is_packed_comes_back_the_same(redis_server):
    play = Play(SEED)
    compare(redis_server, [f"try_packing({literal(play.value())})" for _ in range(300)])
    compare(redis_server, ["try_packing({1, nil, 3})", "try_packing({1, 2, x = 3})",
                           "try_packing({[1] = 1, [3] = 3})", "try_packing({{}, {{}}})"])


@needs_redis
def test_the_same_is_json(redis_server):
    compare(redis_server, [f"try_json({literal(text)})" for text in (
        '{"kind":"pool","limit":0,"items":["a","b/1"],"cooldown":2000}', '{}', '{"limit":4,"shared":false}',
        '{"items":{"a":true,"reason":"\\u00e4\\"\\/"}}', '{"limit":1e3,"limit-base":0.5,"items":[1,2.5,-7]}')])


def commands_of_scripts():
    text = "".join(path.read_text() for path in (SOURCE / "src/redis/scripts").glob("**/*.lua"))
    return {word.lower() for word in re.findall(r"(?:all|ask)\('([A-Za-z]+)'", text)}


def test_it_has_the_commands_of_the_scripts_and_no_others():
    listed = subprocess.run([PROBE, "--commands"], stdout=subprocess.PIPE, check=True, text=True).stdout
    in_clusters = {"spublish"}  # it models none
    assert {line.split()[0] for line in listed.splitlines()} == commands_of_scripts() - in_clusters


@needs_redis
def test_the_same_commands_write_and_need_memory(redis_server):
    listed = subprocess.run([PROBE, "--commands"], stdout=subprocess.PIPE, check=True, text=True).stdout
    for line in listed.splitlines():
        word, *flags = line.split()
        known = redis_server.client().execute_command("COMMAND", "INFO", word)[word]["flags"]
        assert set(flags) == set(known) & {"write", "denyoom"}, line
