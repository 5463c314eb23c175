-- ---- what becomes due ----

-- The first of a set, and its score; math.huge if it is empty.
local function first_of(set)
    local found = call('ZRANGE', set, '0', '0', 'WITHSCORES')
    if found[1] == KEEP then
        return nil, math.huge
    end
    return found[1], tonumber(found[2] or math.huge)
end

-- The same of SESSIONS or REST, where whoever writes to it forgets what was noted.
local function noted_first_of(set)
    local first = noted.first[set]
    if not first then
        local member, score = first_of(set)
        first = {member = member, score = score}
        noted.first[set] = first
    end
    return first.member, first.score
end

function make.time()
    local MAX_SWEPT = 30 -- in one call, of what may have been left behind
    local MAX_READ = 1000 -- records at once: Lua's stack has room for 8000
    -- A grace raises the sequence by more than the calls of a renewal period, so that no daemon is ahead of the
    -- one that has noticed.
    local SEQUENCE_MARGIN = 2 ^ 24

    local function now_run()
        return match(info_of('server') or '', 'run_id:(%w+)') or db.run or ''
    end

    -- The server has another replication id. It is the same server, with all its data, unless it was started
    -- in between, or was a replica: then it would know its master's id. (A master takes a new id when its
    -- first replica comes, and an hour after the last one has gone.)
    local function goes_on()
        if db.run ~= now_run() or not match(db.info, 'master_replid2:0+%s') then
            return false
        end
        db.replid = db.now_replid
        call('HSET', DB, 'replid', db.replid)
        return true
    end

    -- Until no promise is left. The ttl may have fallen since the longest was given: `sessions` says until when
    -- each lasts, and each session what its host's file says of the lag, where write_session() has put it: all
    -- sessions are read in one call, and there may be thousands.
    local function set_grace()
        local names, lag = call('ZRANGE', SESSIONS, '0', '-1'), nil
        for i = 1, #names - 1, MAX_READ do -- the last one is KEEP
            for _, record in ipairs(call('HMGET', SESSION, unpack(names, i, min(i + MAX_READ, #names) - 1))) do
                lag = max(lag or 0, tonumber(record and match(record, '^[^\t]*\t[^\t]*\t%d+ (%d+)') or db.lag))
            end
        end
        local last = max(db.clock + db.ttl, tonumber(call('ZRANGE', SESSIONS, '-2', '-2', 'WITHSCORES')[2] or 0))
        db.lag = lag or db.lag
        db.grace = max(db.grace or 0, last + db.lag)
        call('HSET', DB, 'grace', text_of(db.grace), 'since', text_of(db.clock), 'lag', text_of(db.lag))
    end

    -- A grace has begun, or has ended early: every daemon renews soon, and its answer says so.
    local function ask_to_renew()
        publish('all', 'hello ' .. n_sessions())
    end

    -- This server has not written these data, or the data are new: the daemons put back what they have, and
    -- nothing is granted until they have had the time.
    local function begin_grace()
        raise_number(wall * 1000)
        db.epoch = db.epoch + 1
        set_grace()
        set_sequence(max(db.sequence, SEQUENCE_SAID) + SEQUENCE_MARGIN)
        call('HSET', DB, 'epoch', text_of(db.epoch), 'replid', db.now_replid, 'run', now_run(),
            'before', call('HGET', DB, 'number'), 'sequence', db.sequence_text)
        ask_to_renew()
    end

    local function end_one(member)
        local has_rested = call('ZREM', HELD, member .. ' ' .. RESTING) == 1
        call('ZREM', REST, member)
        local name, word = match(member, '^(%S+) (%S+)')
        local resource = resource_of(name)
        if has_rested then
            rooms.note_rested(resource, word)
        end
        rooms.forget_if_idle(resource)
    end

    local function end_rests()
        for _, member in ipairs(call('ZRANGEBYSCORE', REST, '-inf', db.clock, 'LIMIT', 0, MAX_PURGED)) do
            mark_if_waited_for(match(member, '^(%S+)'))
            if string.sub(member, -2) == ' *' then
                made.rates.end_rest(member)
            else
                end_one(member)
            end
        end
        noted.first[REST] = nil
    end

    -- They have ended when the session did, whenever that is noticed.
    local function purge_leases(session, most, losses, expiry)
        local keys = call('ZRANGEBYSCORE', OWNED, session.sid, session.sid, 'LIMIT', 0, most)
        for _, key in ipairs(keys) do
            if n_work >= MAX_WORK then
                return most -- and perhaps more
            end
            local lease = load_lease(key)
            drop_key(key, lease, made.history.ending_of(lease, 'deadline', expiry))
            if losses and lease and lease.state == 'H' then
                made.gone.note_loss(losses, lease)
            end
        end
        return #keys
    end

    local function forget_session(name)
        local session = session_of(name)
        if session then
            call('ZREMRANGEBYSCORE', EVENTS, session.sid, session.sid)
            made.gone.forget(session)
        end
        call('HDEL', SESSION, name, 'n:' .. name, 'f:' .. name, 'g:' .. name)
        call('ZREM', SESSIONS, name)
        noted.first[SESSIONS] = nil
        sessions[name] = nil
    end

    local function purge_sessions()
        local left, gone = MAX_PURGED, {}
        while left > 0 do
            local name, expiry = unpack(call('ZRANGEBYSCORE', SESSIONS, '-inf', db.clock, 'WITHSCORES', 'LIMIT', 0, 1))
            if not name then
                break
            end
            local session = session_of(name)
            local losses = session and made.gone.losses_of(name)
            local n = session and purge_leases(session, left, losses, tonumber(expiry)) or 0
            if n < left then
                local heard_at = tonumber(expiry) - db.ttl
                if losses and not made.gone.is_back(session, heard_at) then
                    gone[#gone + 1] = made.gone.note(session, heard_at, losses)
                end
                forget_session(name)
            elseif losses then
                made.gone.keep_losses(name, losses)
            end
            left = left - n - 1
        end
        made.gone.tell(gone)
    end

    -- When the next lease's patience is over.
    local function end_patience()
        local keeper, ends = first_of(KEEPING)
        if not keeper then
            call('HDEL', DB, 'keeps')
            db.keeps = false
        elseif ends <= db.clock then
            made.roads.end_patience()
            keeper, ends = first_of(KEEPING)
        end
        return ends
    end

    local function is_over(member) -- of a lease
        return call('HEXISTS', LEASES, match(member, '(%S+)$')) == 0
    end

    local function is_of_none(member) -- of IDENTITIES
        return is_over(member) or db.fairs and made.fair.is_left(member)
    end

    local function is_out_of_service(member)
        local name, item = match(member, '^(%S+) (%S+)$')
        local resource = resource_of(name)
        return not (resource.is_pool and made.pools.is_in_service(resource, item))
    end

    local function sweeps()
        return {
            {set = IDENTITIES, is_left = is_of_none, remove = made.fair.remove},
            {set = ASIDE, is_left = is_over},
            {set = ELSEWHERE, is_left = is_over},
            {set = FREED, is_left = is_out_of_service, is_by_score = true},
        }
    end

    -- The members behind the last one, and the last of these.
    local function page_of(row, last)
        if not row.is_by_score then
            local page = call('ZRANGEBYLEX', row.set, last == '' and '-' or '(' .. last, '(' .. KEEP,
                'LIMIT', 0, MAX_SWEPT)
            return page, page[#page]
        end
        local page, found = {}, call('ZRANGEBYSCORE', row.set, last == '' and '-inf' or '(' .. last,
            '(+inf', 'WITHSCORES', 'LIMIT', 0, MAX_SWEPT)
        for i = 1, #found, 2 do
            page[#page + 1] = found[i]
        end
        return page, found[#found]
    end

    -- What differs from the layout before, as steps: {set = a set ordered by bytes, convert = a function of its
    -- member, which it may meet again}. Until all are done, these scripts read what those of the layout before
    -- have written; later ones need not.
    local function conversions()
        return {}
    end

    -- Visits one more page of a walk, and notes in DB how far it has come: "STEP MEMBER" without the blank; nothing
    -- when it is over.
    local function walk_on(field, rows, visit)
        local number, last = match(db[field], '^(%d)(.*)$')
        local row = rows[tonumber(number)]
        local page, its_last = {}, nil
        if row then
            page, its_last = page_of(row, last)
        end
        for _, member in ipairs(page) do
            visit(row, member)
        end
        if #page == MAX_SWEPT then
            db[field] = number .. its_last
        else
            db[field] = rows[number + 1] and text_of(number + 1)
        end
        if db[field] then
            call('HSET', DB, field, db[field])
        else
            call('HDEL', DB, field)
        end
    end

    -- After the end of an upgrade: does some more of it.
    local function convert()
        walk_on('convert', conversions(), function(row, member)
            row.convert(member)
        end)
    end

    -- Does some more of the sweep.
    local function sweep()
        walk_on('sweep', sweeps(), function(row, member)
            if row.is_left(member) and row.remove then
                row.remove(member)
            elseif row.is_left(member) then
                call('ZREM', row.set, member)
            end
        end)
    end

    -- The queues move again: all that may move are dirty. A session that has not said hello in this grace has
    -- expired: the grace is longer than any promise to a session.
    local function end_grace()
        call('HDEL', DB, 'grace', 'first')
        db.grace = nil
    end

    return {goes_on = goes_on, begin_grace = begin_grace, end_grace = end_grace,
        purge_sessions = purge_sessions, end_rests = end_rests, end_patience = end_patience, sweep = sweep, convert = convert,
        ask_to_renew = ask_to_renew}
end

-- The caller's session does. If it was the first of SESSIONS, another one may be; the others end later all the same.
local function live_on()
    local first = noted.first[SESSIONS]
    call('ZADD', SESSIONS, 'GT', text_of(db.clock + db.ttl), ME) -- no promise is ever shortened
    if first and (first.member == ME or not first.member) then
        noted.first[SESSIONS] = nil
    end
end

local settle, due

do -- this block keeps its helpers out of the 200 locals that Lua allows
    local function is_clean()
        if not noted.is_empty[DIRTY] then
            noted.is_empty[DIRTY] = call('SCARD', DIRTY) == 1 -- KEEP
        end
        return noted.is_empty[DIRTY]
    end

    -- The first member of QUEUE or ASIDE: once empty, they are until somebody is added.
    local function first_in_line(set)
        if noted.is_empty[set] then
            return nil
        end
        local first = call('ZRANGE', set, '0', '0')[1]
        first = first ~= KEEP and first or nil
        noted.is_empty[set] = not first
        return first
    end

    -- Ends every call: serves all queues that may move.
    function settle()
        if db.grace then
            return
        elseif #dirty > 0 or not is_clean() then
            made.turns.serve_dirty()
        elseif db.may_have_circle then
            made.turns.break_circles()
        end
    end

    local function is_ours(member) -- a place in a queue
        return member and match(member, ' ([^ /]+)/[^ ]*$') == ME
    end

    local MAX_DUE = 86400 * 1000 -- ms: a patience may have become longer than a daemon believes

    -- ms until a call is needed even if nobody asks for anything; 0: at once, as this call has left work; -1:
    -- never, or another daemon sees to it. Only the first waiter's daemon makes the call: the others would find
    -- the work done.
    function due()
        if not db.grace and db.has_left then
            return 0
        end
        local first = first_in_line(QUEUE) or first_in_line(ASIDE)
        if not first then
            return -1
        elseif db.grace then
            return is_ours(first) and max(db.grace - db.clock, 1) or -1
        elseif not is_clean() then
            return 0
        end
        local _, at = noted_first_of(SESSIONS)
        local resting, rest_at = noted_first_of(REST)
        if rest_at < at then
            at, first = rest_at, head_of(match(resting, '^(%S+)')) or first
        end
        if not is_ours(first) then
            at = math.huge
        end
        if db.caller == ME then
            at = min(at, rest_at)
        end
        if db.keeps then -- the keeper's daemon is told as well: it may not know
            local keeper, ends = first_of(KEEPING)
            if keeper and (db.has_gained or match(keeper, '^[^/]*') == ME) then
                at = min(at, ends)
            end
        end
        return at < math.huge and min(max(floor(at - db.clock) + 1, 1), MAX_DUE) or -1
    end
end
