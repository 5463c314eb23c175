-- ---- sessions and their events ----

local sessions -- of this call, by name; false: there is none

fresh.noted[#fresh.noted + 1] = function()
    sessions = {}
end

local function session_of(name)
    if sessions[name] == nil then
        local found = call('HMGET', SESSION, name, 'n:' .. name)
        local session = false
        if found[1] then
            local sid, incarnation, epoch, listing, sequence, from, to, host, origin, ttl, lag, version =
                match(found[1], '^(%d+) (%d+) (%d+) (%d) (%d+) (%d+) (%d+) ([^\t]*)\t(-?%d+)\t(%d+) (%d+)\t(.*)$')
            session = {name = name, sid = sid, incarnation = tonumber(incarnation),
                epoch = tonumber(epoch), listing = listing, sequence = tonumber(sequence),
                from = tonumber(from), to = tonumber(to), host = host, version = version,
                origin = tonumber(origin), ttl = tonumber(ttl), lag = tonumber(lag),
                n_events = tonumber(found[2] or 0)}
        end
        sessions[name] = session
        noted.weight = noted.weight + 5
    end
    return sessions[name]
end

local function n_sessions()
    return call('ZCARD', SESSIONS) - 1 -- KEEP
end

-- With the sequence of this call. `is_same`: but for that, it is what was written last. That is so in most calls, and
-- one format() costs as much as a command.
local function write_session(session, is_same)
    if not is_same or not session.before then
        session.before = format('%s %d %d %s ', session.sid, session.incarnation, session.epoch, session.listing)
        session.behind = format(' %d %d %s\t%d\t%d %d\t%s', session.from, session.to, session.host,
            session.origin, session.ttl, session.lag, session.version)
    end
    call('HSET', SESSION, session.name, session.before .. db.sequence_text .. session.behind)
end

-- An event is kept until acknowledged. It is also published, so that it arrives at once.
local function emit(name, text)
    local session = session_of(name)
    if session then
        local number = call('HINCRBY', SESSION, 'n:' .. name, '1')
        session.n_events, session.has_no_events = number, nil
        local event = format('%012d %s', number, text)
        call('ZADD', EVENTS, session.sid, session.sid .. ' ' .. event)
        publish('s:' .. name, event)
    end
end
