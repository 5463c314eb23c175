-- The parts in common/ are the beginning of the library: the database's record and clock, leases, units,
-- queues, events. A file for each operation follows: see assemble.
-- doc/redis.md has the keys, the calls and the reasons.
--
-- Redis does not roll back: every prefix of what a script writes must be safe. Hence: what frees something is
-- written before what takes it; a name is in DIRTY before its queue may have to move; a lease's record goes
-- last, and counts as held only if its units are there as well.
--
-- As a library, all functions are made once, and live from call to call; as a script, in each call (0.3 us each,
-- as much as a command). So those that few calls need are made on demand, by functions of `make`: they are in
-- `made`, by the same name.
--
-- What a call notes is forgotten when the next one begins, wherever this one was broken off: begin_call() sets
-- it, or a function in `fresh`. Nothing else outlives a call, but what memory.recall() finds to be true still; two calls
-- may be of different databases.
local call, unpack, format, match, floor, min, max -- of Redis and Lua: while a library is loaded, it sees neither
local KEYS, ARGV
local DB, SESSIONS, SESSION, LEASES, OWNED, HELD, USERS, QUEUE
local ASIDE, REST, IDENTITIES, DEFINITIONS, CHANGES, EVENTS, DIRTY, FREED
local NEWS, UNDONE, KEPT, KEEPING, ELSEWHERE
local ME, INCARNATION, PREFIX

local MAX_PURGED = 64 -- leases of dead sessions, in one call
local MAX_WORK = 1500 -- what else a call does; each part is one or two commands
local MAX_WORDS = 1000 -- members, or members and their scores, in one command
local MAX_WALKED = 30 -- names, and waiters, in one call, where something has changed
local CHANGED = ' !' -- follows a name in DIRTY
local WALK = 'walk ' -- precedes a name in DB: how far the walk over its waiters has come
local make, made = {}, nil -- functions that make tables of functions, and these tables
-- The operations by name, as tables: `run`; `at_maxmemory`: it works then, too; `may_recall`: it may know what the last
-- call has noted; `begin`: in its place, for the phase of that name, without a session.
local scripts = {}
-- Functions that forget what the last call has noted; in `noted`, unless this one recalls it.
local fresh = {noted = {}}
local batch = {} -- functions for calls that bring several requests: they share commands
local RESTING = '-' -- instead of a KEY in HELD
-- A member of each key but DB, behind all names. The last member of a key takes the key along; with this one none
-- ceases to exist by itself, so a key that is missing is missing data: it was evicted, deleted, or left behind by a
-- slot whose move was given up.
local KEEP = '~'
-- No caller's word raises a number further: all stay exact below 2^53, and the rest is enough for ever.
local MAX_CREDIBLE = 2 ^ 52

-- Work that may become much is counted as it is done: members written, places looked at. Above a bound, the
-- rest is left to the next call.
local n_work

local function text_of(number) -- below 2^53, exactly
    return format('%d', number) -- much faster than %.0f
end

local function split(text, separator)
    local parts = {}
    for part in string.gmatch(text, '[^' .. separator .. ']+') do
        parts[#parts + 1] = part
    end
    return parts
end

-- A command with any number of words behind its key.
local function call_with_all(command, key, words)
    for i = 1, #words, MAX_WORDS do
        call(command, key, unpack(words, i, min(i + MAX_WORDS - 1, #words)))
    end
end

local function append(list, more)
    for i = 1, #more do
        list[#list + 1] = more[i]
    end
end

-- ---- the database's record, and its clock ----

local function numbers_of(text)
    local first, second, third = match(text, '^(%d+)-(%d+)-?(%d*)$')
    return tonumber(first), tonumber(second), tonumber(third)
end

-- From the caller: the largest numbers that it has had from this database, of calls and of its session's events.
-- (Its own clock is db.at.)
local SEQUENCE_SAID, EVENT_SAID

local noted -- of this database, besides definitions, resources and sessions: see memory.recall()
-- Numbers, but for run, replid, now_replid, sweep, info, is_cluster, is_master, and texts. What is not in the record is
-- this call's alone: forget_call() names it, as the next call may have the same table (memory.recall_record).
local db
local wall -- ms, Redis' own clock

local function begin_call(keys, arguments)
    local MAX_EVENTS_EVER = 10 ^ 11 -- of a session: 12 digits keep them in order
    KEYS, ARGV = keys, arguments
    if not made then
        call = redis.call
        unpack, format, match = table.unpack or _G.unpack, string.format, string.match
        floor, min, max = math.floor, math.min, math.max
        made = setmetatable({}, {__index = function(tables, name)
            tables[name] = make[name]()
            return tables[name]
        end})
    end
    if KEYS[1] ~= DB then -- all others follow from it: so it comes last
        PREFIX = string.sub(KEYS[1], 1, -3)
        SESSIONS, SESSION, LEASES, OWNED, HELD, USERS, QUEUE = unpack(KEYS, 2, 8)
        ASIDE, REST, IDENTITIES, DEFINITIONS, CHANGES, EVENTS, DIRTY, FREED = unpack(KEYS, 9, 16)
        NEWS, UNDONE, KEPT, KEEPING, ELSEWHERE = unpack(KEYS, 17, 21)
        DB = KEYS[1]
    end
    ME, INCARNATION = ARGV[3], tonumber(ARGV[4])
    local at
    SEQUENCE_SAID, EVENT_SAID, at = numbers_of(ARGV[2])
    if SEQUENCE_SAID > MAX_CREDIBLE or EVENT_SAID > MAX_EVENTS_EVER then
        SEQUENCE_SAID, EVENT_SAID = 0, 0 -- no database has got so far
    end
    n_work, wall = 0, nil
    db = {at = at and at < MAX_CREDIBLE and at or 0}
    for i = 1, #fresh do
        fresh[i]()
    end
end

-- A server that does not allow it counts as the one that has written the data: nothing says otherwise. berthd
-- uses such a server only if the operator has acknowledged that.
local function info_of(section)
    local is_allowed, info = pcall(call, 'INFO', section)
    return is_allowed and info or nil
end

-- Its text is needed several times in each call.
local function set_sequence(number)
    db.sequence, db.sequence_text = number, text_of(number)
end

local read_database

do -- this block keeps its helpers out of the 200 locals that Lua allows
    local function read_record()
        local values = call('HMGET', DB, 'layout', 'replid', 'ttl', 'clock', 'last', 'grace', 'epoch',
            'lag', 'sequence', 'sweep', 'run',
            'keeps', 'convert', 'cluster', 'memory', 'history', 'missed', 'nested', 'alls', 'replaces',
            'caller', 'fairs')
        if values[1] then
            db.layout, db.replid = tonumber(values[1]), values[2]
            db.ttl, db.clock, db.last = tonumber(values[3]), tonumber(values[4]), tonumber(values[5])
            db.last_text = values[5]
            db.grace = values[6] and tonumber(values[6]) or nil
            db.epoch, db.lag = tonumber(values[7]), tonumber(values[8])
            db.sequence_text = values[9] or '0'
            db.sequence = tonumber(db.sequence_text)
            db.sweep = values[10] or nil
            db.run = values[11]
            db.keeps = values[12] -- or false: nothing is kept for any waiter
            db.convert = values[13] -- or false: all is of this layout
            db.is_cluster = values[14] == '1'
            db.memory = values[15] -- or false
            db.history, db.missed = values[16], values[17] -- each, or false
            db.nested = values[18] -- or false: no request waits under a lease
            db.alls = values[19] -- or false: nobody has ever wanted all of anything
            db.replaces = values[20] -- or false: nobody has ever asked for another's place
            db.caller = values[21] -- or false: nobody has ever waited for a rate
            db.fairs = values[22] -- or false: nobody has ever waited for something in turns
        end
    end

    local N_OF_DATA = 21 -- the first of KEYS: without `gone` and `history`, nothing is lost but what people are shown

    local function make_room() -- for these names at once
        db = {at = db.at, is_full = db.is_full, micros = 0, info = '', now_replid = '', is_master = false, layout = nil,
            replid = nil, ttl = nil, clock = nil, last = nil, grace = nil, epoch = nil, lag = nil, sequence = nil,
            sweep = nil, run = nil, keeps = nil, alls = nil, convert = nil, is_cluster = false, memory = nil,
            remembers = nil, last_memory = nil, first_expiry = nil, has_left = nil, last_number = nil, n_numbers = nil,
            history = false, missed = false}
    end

    -- `recall`, if given, may know the record; it returns false if it does not.
    function read_database(recall)
        local time = call('TIME')
        db.micros = tonumber(time[2])
        wall = tonumber(time[1]) * 1000 + floor(db.micros / 1000)
        local is_whole = call('EXISTS', unpack(KEYS, 1, N_OF_DATA)) == N_OF_DATA -- else what is left proves nothing
        if not (is_whole and recall and recall()) then
            make_room()
            if is_whole then
                read_record()
            end
        end
        db.info = info_of('replication') or 'role:master' -- a replica refuses what a call writes
        db.is_master = string.find(db.info, 'role:master', 1, true) ~= nil
        local _, behind = string.find(db.info, 'master_replid:', 1, true) -- plain: a pattern takes longer
        local line_end = behind and string.find(db.info, '\r', behind, true) or 0 -- of all if there is none
        db.now_replid = behind and string.sub(db.info, behind + 1, line_end - 1) or db.replid or ''
    end
end

-- In a cluster, the nodes that have the slot hear it, not all.
local function publish(channel, text)
    if db.is_cluster then
        call('SPUBLISH', PREFIX .. channel, text)
    else
        call('PUBLISH', PREFIX .. channel, text)
    end
end

-- Tickets, tokens and versions of changes share one counter, so that each is larger than all before.
local function next_number()
    if not db.last_number or db.n_numbers == 0 then
        batch.reserve_numbers(1)
    end
    db.n_numbers = db.n_numbers - 1
    return db.last_number - db.n_numbers
end

-- This call needs so many, one after the other. Nobody else gets those that it does not use.
function batch.reserve_numbers(n)
    db.last_number, db.n_numbers = call('HINCRBY', DB, 'number', text_of(n)), n
end

-- A waiter stands elsewhere, or a lease is put back: neither a number nor how many leases there are says so.
-- Whoever follows (snapshot.lua) learns of it. Before the first such write, so that none is missed.
local function note_move()
    if not db.has_moved then
        db.has_moved = true
        call('HINCRBY', DB, 'moves', 1)
    end
end

-- The step of made.time.sweep() to begin with: later calls remove what no longer belongs to anybody.
local SWEEP_LEASES, SWEEP_ITEMS = 1, 4

local function sweep_from(number)
    if not db.sweep or tonumber(match(db.sweep, '^%d')) >= number then
        db.sweep = text_of(number)
        call('HSET', DB, 'sweep', db.sweep)
    end
end

-- Raises the counter above everything that any clock or daemon can have seen.
local function raise_number(least)
    local number = tonumber(call('HGET', DB, 'number') or 0)
    if least > MAX_CREDIBLE then
        return
    elseif number < least then
        call('HSET', DB, 'number', text_of(least))
    end
    if number - (db.n_numbers or 0) < least then
        db.n_numbers = 0 -- what this call has reserved may be too small
    end
end
