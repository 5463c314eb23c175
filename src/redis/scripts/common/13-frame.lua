-- ---- the frame of a call ----

local function answer(word, ...)
    return {word, due(), db.grace and max(db.grace - db.clock, 1) or 0, db.sequence_text, ...}
end

-- The same at the end of a call, when all queues that may move have been served.
local function finish(...)
    settle()
    return answer(...)
end

-- May these scripts use the data, and is this the server that has them? Some callers have scripts of other
-- layouts as well.
local function check_data()
    if not db.is_master then
        return redis.error_reply('READONLY it is a replica, not the master')
    elseif db.layout and db.layout ~= LAYOUT then
        return {'layout', text_of(db.layout)}
    end
end

-- The caller has had an answer or an event that these data do not know: they are older. A session's record
-- has what the session was answered, as the calls of others raise the sequence as well. (A session that has
-- not said hello in this grace lists everything anyway; an event of an earlier incarnation may be late.)
local function is_older_than_caller()
    local session = session_of(ME)
    if not session or session.epoch ~= db.epoch then
        return SEQUENCE_SAID > db.sequence
    end
    return SEQUENCE_SAID > session.sequence
        or (EVENT_SAID > session.n_events and session.incarnation <= INCARNATION)
end

-- An expired session is purged by now; if only in part, it is over all the same. (In a grace none expires:
-- nothing that belongs to it has been given away.)
local function check_me()
    local session = session_of(ME)
    if not session then
        return {'hello', 'unknown'}
    elseif session.incarnation > INCARNATION then
        return {'stale'}
    elseif session.incarnation < INCARNATION then
        return {'hello', 'incarnation'}
    elseif session.epoch ~= db.epoch then
        return {'hello', 'grace'}
    elseif db.first_expiry <= db.clock and tonumber(call('ZSCORE', SESSIONS, ME) or 0) <= db.clock then
        return {'hello', 'expired'}
    end
end

-- Sessions expire on the session clock. A call moves it as far as Redis' clock has moved and the caller's own clock
-- allows, so that steps of Redis' clock do not add up. `origin` of a session says what the session clock reads when
-- the daemon's own reads 0; `slack` is for calls that take longer than others. If Redis' clock was
-- set back, the caller's alone counts. (doc/timing.md) Returns when it was moved before.
local function advance_clock()
    local session = session_of(ME)
    local own = session and session.origin + db.at - db.clock or 0
    local slack = floor(0.007 * db.ttl) + 250
    local span = wall < db.last and own or min(wall - db.last, own + slack)
    db.clock = db.clock + max(min(span, floor(0.16 * db.ttl) + 250), 0)
    local last = db.last
    db.last, db.last_text = wall, text_of(wall)
    set_sequence(db.sequence + 1)
    call('HSET', DB, 'clock', text_of(db.clock), 'last', db.last_text,
        'sequence', db.sequence_text, unpack(db.new_memory or {}))
    return last
end

-- What time has brought, before anything is done for the caller.
local function catch_up()
    local last = advance_clock()
    if db.replid ~= db.now_replid and not made.time.goes_on() or is_older_than_caller() then
        made.history.lose(last)
        made.time.begin_grace()
    elseif db.grace and db.clock >= db.grace then
        made.time.end_grace()
    end
    if db.convert then
        made.time.convert()
    end
    db.first_expiry = math.huge
    if not db.grace then
        local _, expiry = noted_first_of(SESSIONS)
        if expiry <= db.clock then
            made.time.purge_sessions()
            _, expiry = noted_first_of(SESSIONS)
        end
        local _, rest = noted_first_of(REST)
        if rest <= db.clock then
            made.time.end_rests()
            _, rest = noted_first_of(REST)
        end
        if db.sweep then
            made.time.sweep()
        end
        local patience = db.keeps and made.time.end_patience() or math.huge
        db.first_expiry, db.has_left = expiry, min(expiry, rest, patience) <= db.clock
    end
end

-- ---- what is remembered from call to call ----
--
-- A call of the library may know what the last one has read and written, if no other call has come between: each
-- call, of whatever library or script, raises `sequence` by one. `memory` of the database names what was
-- remembered last, so that no other database is taken for it; nothing is while a call runs, so a call that is
-- broken off leaves nothing. Where old data were put back, calls of other scripts may raise the sequence to the same
-- number again: then the last call was at another instant. Whatever writes must keep what is noted true, or forget it.
local memory = {}

do
    local MAX_MEMORIES, MAX_WEIGHT = 20, 50000 -- the latter: some 100 bytes each
    local memories, n_memories = {}, 0
    local function last_of(mark, sequence, at)
        local last = memories[mark or '']
        return last and last.of == DB and last.sequence == sequence and last.at == at and last or nil
    end

    -- What only that call knew, and read_database() does not set.
    local function forget_call()
        db.grace, db.first_expiry, db.has_left, db.last_number, db.n_numbers, db.has_moved, db.has_gained,
            db.may_have_circle, db.ended, db.is_full, db.remembers, db.last_memory, db.new_memory = nil
    end

    -- The database's record, outside a grace. False: it is not known.
    function memory.recall_record()
        local mark, sequence, at, grace = unpack(call('HMGET', DB, 'memory', 'sequence', 'last', 'grace'))
        local last = not grace and last_of(mark, sequence, at)
        if not last then
            return false
        end
        last.db.at = db.at
        db = last.db
        forget_call()
        return true
    end

    function memory.forget()
        noted = {weight = 0, first = {}, is_empty = {}}
        for i = 1, #fresh.noted do
            fresh.noted[i]()
        end
    end

    function memory.recall()
        local last = last_of(db.memory, db.sequence_text, db.last_text)
        memories[db.memory or ''] = nil
        db.remembers = true
        if last and last.replid == db.now_replid then
            definitions, resources, sessions = last.definitions, last.resources, last.sessions
            walked, noted = last.walked, last.noted
            db.last_memory = last
        else
            memory.forget()
            n_memories = n_memories + 1
            db.memory = format('%s %d %d %d', LIBRARY, wall, db.micros, n_memories)
            db.new_memory = {'memory', db.memory}
        end
    end

    -- Ends a call of the library.
    function memory.keep()
        if not db.remembers or noted.weight > MAX_WEIGHT then
            return
        end
        if n_memories > MAX_MEMORIES then
            memories, n_memories = {}, 0
        end
        local now = db.last_memory or {of = DB}
        now.db, now.sequence, now.at, now.replid = db, db.sequence_text, db.last_text, db.now_replid
        now.definitions, now.resources, now.sessions = definitions, resources, sessions
        now.walked, now.noted = walked, noted
        memories[db.memory] = now
    end
end

-- For all with a session. A result other than nil is the answer.
local function enter(may_recall)
    may_recall = may_recall and LIBRARY
    read_database(may_recall and memory.recall_record)
    local wrong = check_data()
    if wrong then
        return wrong
    elseif not db.layout then
        return {'hello', 'missing'}
    end
    if may_recall and not db.convert then -- that changes what was noted
        memory.recall()
    else
        memory.forget()
    end
    catch_up()
    wrong = check_me()
    if wrong then
        settle()
        return wrong
    end
    local session = session_of(ME)
    -- Its clock allows no more than has come to pass. A call that is late does not raise that; a clock that is farther
    -- behind has stood still, or is slow.
    local origin = db.clock - db.at
    origin = min(origin, max(session.origin, origin - floor(db.ttl / 6)))
    local is_same = origin == session.origin
    session.origin, session.sequence = origin, db.sequence
    write_session(session, is_same)
end

-- Carries out an operation; returns its answer.
local function run(name)
    local script = scripts[name]
    if script.at_maxmemory and not LIBRARY then
        local refusal = redis.pcall('ZADD', SESSIONS, 'XX', '0', '') -- nobody is that member
        db.is_full = type(refusal) == 'table' and match(refusal.err or '', '^OOM') ~= nil
        call('ZREM', SESSIONS, '') -- Redis allows what a script writes after its first write; functions have a flag
    end
    if script.begin and ARGV[5] == 'begin' then
        memory.forget()
        return script.begin()
    end
    return enter(script.may_recall) or script.run()
end
