-- renew.lua - ARGV: ACKNOWLEDGED FOLLOWED. Prolongs the session, and with it all its leases and waiters. The
-- answer has the events not acknowledged yet. FOLLOWED is the number of the newest news that the daemon has
-- fetched.
local MAX_EVENTS = 100

-- The events behind those that the daemon has had, which are forgotten.
local function events_after(session, acknowledged)
    local function is_acknowledged(event)
        return tonumber(match(event, '^%d+ (%d+)')) <= acknowledged
    end

    if session.has_no_events then
        return {}
    end
    local events = call('ZRANGEBYSCORE', EVENTS, session.sid, session.sid, 'LIMIT', 0, MAX_EVENTS)
    while events[1] and is_acknowledged(events[1]) do
        for _, event in ipairs(events) do
            if is_acknowledged(event) then
                call('ZREM', EVENTS, event)
            end
        end
        events = call('ZRANGEBYSCORE', EVENTS, session.sid, session.sid, 'LIMIT', 0, MAX_EVENTS)
    end
    session.has_no_events = #events == 0
    return events
end

scripts.renew = {at_maxmemory = true, may_recall = true}

function scripts.renew.run()
    local session = session_of(ME)
    live_on()
    settle() -- the answer includes what this call itself brings about
    local events = events_after(session, tonumber(ARGV[5]))
    local more_events = #events == MAX_EVENTS and 1 or 0
    noted.news = noted.news or newest_news() -- calls that write them recall nothing
    local more_news = tonumber(ARGV[6] or 0) < noted.news and 2 or 0
    local reply = answer('ok', more_events + more_news)
    for _, event in ipairs(events) do
        local number, text = match(event, '^%d+ (%d+) (.*)$')
        append(reply, {tostring(tonumber(number)), text})
    end
    return reply
end
