-- hello.lua - ARGV: PHASE ... A daemon begins, or begins again: `begin` makes its session (or the session's
-- next incarnation), `news` returns operators' changes, `change`, `define` and `lease` say what the daemon
-- has, `end` drops what it has not listed. During a grace, listed leases are put back.
local MAX_ENDED = 100
local MAX_NEWS, MAX_NEWS_BYTES = 100, 65536
local EVENTS_ON_THEIR_WAY = 10 ^ 5 -- a bound: that many sessions of one daemon end before numbers are used up

-- DB is still missing then: it goes last.
local function fresh_keys()
    call('UNLINK', unpack(KEYS, 1, 22)) -- the history goes on
    for _, set in ipairs({SESSIONS, REST, KEEPING, FREED, UNDONE}) do
        call('ZADD', set, '+inf', KEEP) -- these are in the order of time, or of use
    end
    for _, set in ipairs({HELD, USERS, QUEUE, ASIDE, IDENTITIES, KEPT, ELSEWHERE, OWNED, EVENTS, NEWS}) do
        call('ZADD', set, '0', KEEP)
    end
    for _, hash in ipairs({SESSION, LEASES, DEFINITIONS, CHANGES}) do
        call('HSET', hash, KEEP, '')
    end
    call('SADD', DIRTY, KEEP)
    made.gone.keep()
end

local function fresh_database()
    fresh_keys()
    db.ttl = max(tonumber(ARGV[6]), tonumber(ARGV[11]))
    db.lag, db.clock, db.last = tonumber(ARGV[7]), wall, wall
    db.layout, db.epoch = LAYOUT, 0
    set_sequence(0)
    call('HSET', DB, 'layout', LAYOUT, 'ttl', text_of(db.ttl), 'lag', text_of(db.lag),
        'clock', text_of(wall), 'last', text_of(wall), 'epoch', 0, 'sequence', 0, 'first', 'new')
    made.time.begin_grace()
end

-- The ttl belongs to the database as long as another session relies on it.
local function agree_on_times()
    local ttl, lag, promised = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[11])
    local others = call('ZCOUNT', SESSIONS, '(' .. text_of(db.clock), '(+inf')
    local expiry = tonumber(call('ZSCORE', SESSIONS, ME) or 0)
    if expiry > db.clock then
        others = others - 1
    end
    if db.grace then
        if lag > db.lag then
            db.grace = db.grace + lag - db.lag
            db.lag = lag
        end
        -- Hosts that are cut off may have leases that are good for as long as the caller's were.
        db.grace = max(db.grace, tonumber(call('HGET', DB, 'since') or db.clock) + promised + db.lag)
        if db.epoch == 1 then -- no ttl was known yet
            db.ttl = max(db.ttl, promised)
        end
        call('HSET', DB, 'grace', text_of(db.grace), 'ttl', text_of(db.ttl), 'lag', text_of(db.lag))
    elseif others == 0 and ttl ~= db.ttl then
        db.ttl = ttl
        call('HSET', DB, 'ttl', text_of(ttl))
    end
end

-- Where INFO is not allowed nothing shows it; then the caller says it.
local function is_in_cluster()
    local info = info_of('cluster')
    if info then
        return string.find(info, 'cluster_enabled:1', 1, true) ~= nil
    end
    return ARGV[13] == 'cluster' or db.is_cluster
end

local function begin()
    read_database()
    local wrong = check_data()
    if wrong then
        return wrong
    end
    local was_in_cluster = db.is_cluster
    db.is_cluster = is_in_cluster()
    if db.layout then
        catch_up()
        agree_on_times()
    else
        fresh_database()
    end
    if db.is_cluster ~= was_in_cluster then
        call('HSET', DB, 'cluster', db.is_cluster and '1' or '0')
    end
    raise_number(max(tonumber(ARGV[9]), tonumber(ARGV[10])))
    local session = session_of(ME)
    local is_new = not session
    if session and session.incarnation >= INCARNATION then -- a late call, or the daemon did not know how far it was
        session.sequence = db.sequence
        write_session(session)
        -- Never the number that the call gave: the daemon would take it for begun.
        return answer('ok', text_of(session.incarnation + 1), db.ttl, '0', 0, n_sessions())
    elseif is_new then
        made.first_grace.meet(ARGV[8])
        session = {name = ME, sid = text_of(call('HINCRBY', DB, 'sid', 1)), n_events = 0}
        sessions[ME] = session
    end
    -- New events get numbers above those that the daemon has had, and above those of a session that has ended: some
    -- may still be on their way, and must not be taken for new ones: a grant, say, of units that others have by now.
    if is_new and INCARNATION > 1 or session.n_events < EVENT_SAID then
        call('HSET', SESSION, 'n:' .. ME, text_of(EVENT_SAID + EVENTS_ON_THEIR_WAY))
    end
    session.incarnation, session.sequence = INCARNATION, db.sequence
    session.from, session.to = numbers_of(ARGV[1]) -- the layouts that it reads and writes
    session.epoch, session.listing, session.host = db.epoch, '1', ARGV[8]
    session.version = ARGV[12] or ''
    session.origin, session.ttl, session.lag = db.clock - db.at, tonumber(ARGV[6]), tonumber(ARGV[7])
    write_session(session)
    live_on()
    made.gone.come_back(ME, ARGV[8])
    made.history.agree(tonumber(ARGV[14]))
    settle()
    return answer('ok', text_of(session.incarnation), db.ttl,
        tostring(call('HGET', SESSION, 'n:' .. ME) or 0), is_new and 1 or 0, n_sessions())
end

-- ---- define ----

-- Two values of JSON.
local function are_same(a, b)
    if type(a) ~= 'table' or type(b) ~= 'table' then
        return a == b
    end
    for key, value in pairs(a) do
        if not are_same(value, b[key]) then
            return false
        end
    end
    for key in pairs(b) do
        if a[key] == nil then
            return false
        end
    end
    return true
end

-- Whether the stored definition means what the caller says, but perhaps for one key. What it has besides is a
-- newer berthd's, and none of the caller's business.
local function means_the_same(stored, said, but)
    for _, keys in ipairs({said, DEFAULTS}) do
        for key in pairs(keys) do
            if key ~= but and not are_same(stored[key], said[key]) then
                return false
            end
        end
    end
    return true
end

-- The caller's JSON, and what a newer berthd has said besides: that is carried.
local function with_unknown(json, said, stored)
    local keys, parts = {}, {string.sub(json, 1, -2)}
    local all = stored and cjson.decode(stored.json) or {}
    for key in pairs(all) do
        if rawget(said, key) == nil and DEFAULTS[key] == nil then
            keys[#keys + 1] = key
        end
    end
    if #keys == 0 then
        return json
    end
    table.sort(keys)
    for _, key in ipairs(keys) do
        parts[#parts + 1] = cjson.encode(key) .. ':' .. cjson.encode(all[key])
    end
    return table.concat(parts, ',') .. '}'
end

-- For a template: as far as the names tell. Names below it with their own definitions are no instances; if
-- they are in use, a change of the template's kind waits for them too, which does no harm.
local function is_in_use(definition)
    if not is_template(definition) then
        return n_taken(definition) + n_waiting(definition) > 0
    end
    local prefix, n = string.sub(definition, 1, -2), 0
    for _, set in ipairs({HELD, QUEUE, ASIDE, ELSEWHERE}) do
        n = n + call('ZLEXCOUNT', set, '[' .. prefix, '(' .. prefix .. '\255')
    end
    return n > 0
end

-- What the file's new value has ended does not come back with the old one, nor from a daemon's copy after the
-- loss of the data. Changes to a template's instances rest on its values. First: a define that is broken off is
-- repeated.
local function end_changes(definition, stored, said, generation)
    local words_of_key = {limit = {'limit'}, items = {'added', 'removed'}}
    local is_other_sort, is_item = (stored.kind == 'pool') ~= (said.kind == 'pool'), {}
    for key in pairs(words_of_key) do
        if are_same(stored[key], said[key]) then
            words_of_key[key] = nil
        end
    end
    if next(words_of_key) == nil then
        return
    end
    for _, item in ipairs(said.items) do
        is_item[item] = true
    end
    made.news.edit_changes(definition, function(change)
        local has_ended = false
        for key, words in pairs(words_of_key) do
            if change[key .. '-base'] and generation > (tonumber(change[key .. '-generation']) or -1) then
                change[key .. '-base'], change[key .. '-generation'], has_ended = nil, nil, true
                for _, word in ipairs(words) do
                    change[word] = nil
                end
            end
        end
        for unit in pairs(words_of_key.items and change.reserved or {}) do
            if not is_item[unit] then
                change.reserved[unit], has_ended = nil, true
            end
        end
        for key in pairs(is_other_sort and change or {}) do
            change[key], has_ended = nil, true
        end
        return has_ended
    end)
end

local function store_definition(name, generation, json)
    mark_changed(name)
    local before = resource_of(name).is_pool and made.pools.grantable(resource_of(name))
    if before then
        sweep_from(SWEEP_ITEMS)
    end
    made.news.note('d ' .. name)
    call('HSET', DEFINITIONS, name, text_of(generation) .. ' ' .. json)
    definitions[name] = nil
    resources = {}
    if before then
        made.pools.note_grantable(resource_of(name), before)
    end
    return 'stored'
end

local function define_one(name, generation, json)
    local stored, governing = definition_of(name), resource_of(name).definition
    local said = with_defaults(json)
    local is_pool = said.kind == 'pool'
    if governing and (governing.kind == 'pool') ~= is_pool and is_in_use(name) then
        return 'differs', governing -- its units have other names
    elseif not stored or generation > stored.generation then
        if stored then
            end_changes(name, stored, said, generation)
        end
        return store_definition(name, generation, with_unknown(json, said, stored))
    elseif stored.json == json or means_the_same(stored, said) then
        return 'same'
    elseif (stored.kind == 'pool') ~= is_pool then
        return 'differs'
    elseif generation < stored.generation then
        return 'newer'
    end
    return means_the_same(stored, said, 'limit') and 'limit' or 'differs'
end

local function define()
    local rows, is_news = {}, false
    for i = 6, #ARGV, 3 do
        local verdict, instead = define_one(ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2])
        is_news = is_news or verdict == 'stored'
        append(rows, {ARGV[i], verdict, (instead or definition_of(ARGV[i])).json})
    end
    if is_news then
        made.news.tell()
    end
    return finish('ok', unpack(rows))
end

-- ---- news ----

-- A page of what is newer than FROM: {NUMBER WHAT VERSION JSON}... For a definition, only its name: a daemon
-- that has one of that name sends it again, and gets the verdict.
local function tell_news()
    made.news.forget_undone()
    settle()
    local from = tonumber(ARGV[6])
    local reply = answer('ok', text_of(newest_news()), text_of(made.news.floor_of_changes()))
    local found = call('ZRANGEBYSCORE', NEWS, '(' .. text_of(from), '+inf', 'WITHSCORES', 'LIMIT', 0, MAX_NEWS)
    local n_bytes = 0
    for i = 1, #found, 2 do
        local kind, name = match(found[i], '^(%a) (.*)$')
        local version, json = 0, nil
        if kind == 'c' then
            version, json = change_text(name)
        end
        n_bytes = n_bytes + #(json or '')
        if i > 1 and n_bytes > MAX_NEWS_BYTES then
            break
        end
        append(reply, {text_of(tonumber(found[i + 1])), found[i], text_of(version), json or '{}'})
    end
    return reply
end

-- ---- change ----

-- Below the higher floor, the side with that floor knows better.
local function is_newer(version, stored_version, floor_of_caller)
    local stored_floor = made.news.floor_of_changes()
    return version > stored_version and version <= MAX_CREDIBLE
        and (version > stored_floor or floor_of_caller >= stored_floor)
end

local function take_changes(floor_of_caller)
    local rows, any = {}, false
    for i = 8, #ARGV, 3 do
        local name, version, json = ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2]
        local stored_version, stored_json = change_text(name)
        if is_newer(version, stored_version, floor_of_caller) then
            raise_number(version)
            made.news.store_change(name, version, json)
            any = true
        elseif stored_version ~= version then
            append(rows, {name, text_of(max(stored_version, version)), stored_json or '{}'})
        end
    end
    if any then
        made.news.tell()
    end
    return rows
end

-- Without any change: the caller has told all that it knows, and has fetched the news up to that number. If
-- that is all news, nothing below the caller's floor is missing here, and nothing is too much.
local function change()
    local floor_of_caller, up_to = tonumber(ARGV[6]), tonumber(ARGV[7])
    local rows = take_changes(floor_of_caller)
    if #ARGV == 7 and up_to >= newest_news() then
        raise_number(floor_of_caller) -- later changes get larger numbers
        made.news.raise_floor(floor_of_caller)
    end
    return finish('ok', text_of(made.news.floor_of_changes()), unpack(rows))
end

-- ---- lease ----

-- One function: only this phase needs what is in it.
local function list()
    local function token_in(lease, name)
        local claim = claim_on(lease, name)
        return claim and claim.token or 0
    end

    -- The members for that unit or block, a part of it, or a block that contains it.
    -- Beside a claim to all there is no other.
    local function members_over(claim, word)
        local resource = resource_of(claim.name)
        if claim.is_all or db.alls and rooms.is_all_held(resource) then
            return call('ZRANGEBYLEX', HELD, of_name(claim.name))
        end
        local mark, digits = match(word, '^([<=]?)(%d+)$')
        if resource.is_pool or not mark then
            return call('ZRANGEBYLEX', HELD, of_name(resource.name .. ' ' .. word))
        end
        local length, members = size_of(resource, word), {}
        for _, block in ipairs(BLOCKS) do
            local size, prefix = max(block.size, length), resource.name .. ' ' .. block.mark
            local first = digits - digits % size
            append(members, call('ZRANGEBYLEX', HELD, format('[%s%07d', prefix, first),
                format('(%s%07d', prefix, first + size)))
        end
        return members
    end

    -- If two leases claim a unit, the one that got it later has it.
    local function may_win_word(lease, claim, word)
        for _, member in ipairs(members_over(claim, word)) do
            local key = match(member, '(%S+)$')
            local other = key ~= lease.key and load_lease(key)
            if other and token_in(other, claim.name) >= claim.token then
                return false
            end
        end
        return true
    end

    local function win_word(lease, claim, word)
        local resource = resource_of(claim.name)
        local members = members_over(claim, word)
        if #members > 0 then
            mark_if_waited_for(claim.name) -- the script may be broken off before the unit is taken
        end
        for _, member in ipairs(members) do
            local key = match(member, '(%S+)$')
            local other = key ~= lease.key and load_lease(key)
            if other then
                emit(other.session, 'lost ' .. other.id)
                drop_lease(other, made.history.ending_of(other, 'lost'))
            end
        end
        for _, member in ipairs(#members > 0 and members_over(claim, word) or {}) do
            call('ZREM', HELD, member)
            call('ZREM', REST, match(member, '^(%S+ %S+)')) -- at rest, and has been since the other one's end too
        end
        noted.first[REST] = nil
        rooms.forget(resource)
        call('ZREM', REST, claim.name .. ' ' .. word) -- a script was broken off between these two
    end

    -- False, and none is taken, if one belongs to another lease, which keeps it.
    local function win_units(lease)
        for _, claim in ipairs(lease.claims) do
            local resource = resource_of(claim.name)
            for _, word in ipairs(words_of(resource, claim.units)) do
                if not may_win_word(lease, claim, word) then
                    return false
                end
            end
            if n_units(resource, claim.units) ~= claim.count then
                return false
            end
        end
        for _, claim in ipairs(lease.claims) do
            for _, word in ipairs(words_of(resource_of(claim.name), claim.units)) do
                win_word(lease, claim, word)
            end
        end
        return true
    end

    -- Another lease took the identity while this one was not in the data. Which of two has it: one that is held,
    -- then the later grant; of two waiters, the one that asked first.
    local function is_better_owner(lease, said, other, name)
        if said ~= 'held' then
            return other.state == 'W' and lease.ticket > 0 and lease.ticket < other.ticket
        end
        return other.state == 'W' or token_in(other, name) < token_in(lease, name)
    end

    -- A waiter that takes places has no identity, and can wait beside those who have it. But a waiter that takes none would
    -- not have been let in after it.
    local function is_rival(lease, said, other, name)
        if other.state == 'W' and other.replace then
            return said ~= 'held' and not lease.replace and not is_better_owner(lease, said, other, name)
        elseif said ~= 'held' and lease.replace then
            return is_better_owner(lease, said, other, name)
        end
        return other.state ~= 'R'
    end

    -- The other leases with its identity there, of which it or they must go.
    local function rivals(lease, said, claim)
        local others = {}
        for _, key in ipairs(other_owners(lease, claim)) do
            local other = load_lease(key)
            others[#others + 1] = is_rival(lease, said, other, claim.name) and other or nil
        end
        return others
    end

    local function may_win_identities(lease, said)
        for _, claim in ipairs(rooms.identified(lease)) do
            for _, other in ipairs(rivals(lease, said, claim)) do
                if not is_better_owner(lease, said, other, claim.name) then
                    return false
                end
            end
        end
        return true
    end

    local function win_identities(lease, said)
        for _, claim in ipairs(rooms.identified(lease)) do
            for _, other in ipairs(rivals(lease, said, claim)) do
                emit(other.session, 'lost ' .. other.id)
                drop_lease(other, made.history.ending_of(other, 'lost'))
            end
        end
        take_identities(lease)
    end

    -- Puts a lease back into a database that has lost it.
    local function put_back(lease)
        local before = load_lease(lease.key)
        note_move()
        if before then
            drop_lease(before)
        end
        for _, claim in ipairs(lease.claims) do
            raise_number(claim.token)
        end
        if not (may_win_identities(lease, 'held') and win_units(lease)) then
            return 'lost'
        end
        win_identities(lease, 'held')
        hold_units(lease)
        return 'held'
    end

    -- (One that a newer one has replaced is told so when it asks again.)
    local function wait_again(lease)
        if db.replaces and made.newest.heir_of(lease) or not may_win_identities(lease, 'waiting') then
            return 'lost'
        end
        if lease.ticket > 0 then
            note_move()
            raise_number(lease.ticket)
        else
            lease.ticket = next_number()
        end
        if call('ZADD', OWNED, session_of(ME).sid, lease.key) == 0 then
            made.turns.leave_unbegun(lease)
        end
        win_identities(lease, 'waiting')
        enter_queues(lease)
        return 'waiting'
    end

    local function is_in_force(stored, said)
        if stored.state ~= 'H' then
            return said ~= 'held'
        end
        return has_its_units(stored)
    end

    -- What the job was told counts. (Token 0: the daemon has lost its journal, and does not know the token.)
    local function has_same_units(stored, lease)
        for i, claim in ipairs(stored.claims) do
            local said = lease.claims[i]
            if not said or said.name ~= claim.name or (said.token ~= 0 and said.token ~= claim.token)
                or table.concat(said.units, ',') ~= table.concat(claim.units, ',') then
                return false
            end
        end
        return true
    end

    -- For a waiter: its daemon's file may have changed.
    local function take_limits(stored, lease)
        for i, claim in ipairs(stored.claims) do
            local now = lease.claims[i]
            if claim.limit ~= now.limit or claim.definition ~= now.definition then
                claim.limit, claim.definition = now.limit, now.definition
                mark_changed(claim.name)
            end
        end
    end

    -- Decides about a lease that the caller lists: the word, and the lease as it is now stored.
    local function list_one(lease, said)
        local stored = load_lease(lease.key)
        if not stored and (said == 'held' or (said == 'waiting' and db.grace)) then
            made.first_grace.miss_lease(session_of(ME).host)
        end

        -- The daemon knows nothing of the grant. A grant from before the last grace may be old data, with a token
        -- that others have overtaken.
        local function is_grant_of_now()
            local before = tonumber(call('HGET', DB, 'before') or 0)
            for _, claim in ipairs(stored.claims) do
                if claim.token <= before then
                    return false
                end
            end
            return not db.grace
        end

        if stored and stored.state == 'R' and said ~= 'held' then
            stored.incarnation = INCARNATION
            write_lease(stored)
            return 'lost', stored
        elseif stored and is_in_force(stored, said) and (said == 'held' and has_same_units(stored, lease)
            or said ~= 'held' and (stored.state == 'W' or is_grant_of_now())) then
            stored.incarnation = INCARNATION
            if stored.state == 'H' then
                -- The session clock stands while no daemon reaches the database, and a daemon that has lost its
                -- journal knows less: of two instants at which one grant is said to have been, the earlier is right.
                stored.since = min(stored.since, lease.since or stored.since)
            end
            if stored.state == 'W' and #lease.claims == #stored.claims then
                take_limits(stored, lease)
                stored.above = lease.above
                if stored.above then
                    made.circles.note(stored)
                end
            end
            if stored.state == 'W' and rooms.is_fair(stored) then
                made.fair.note(stored)
            end
            write_lease(stored)
            if stored.state == 'W' and stored.road then
                made.roads.note_elsewhere(stored) -- a script may have been broken off
            end
            return stored.state == 'H' and 'held' or 'waiting', stored
        elseif said == 'asked' and not stored then
            return 'lost', lease
        elseif said ~= 'held' then
            if stored then -- it may have been granted: old data may grant units that others have by now
                lease.ticket = max(lease.ticket, stored.ticket)
                drop_lease(stored)
            end
            return wait_again(lease), lease
        elseif db.grace then
            return put_back(lease), lease
        end
        return 'lost', lease
    end

    -- A holder that the data know has taken over before.
    local function list_and_take_over(lease, said)
        local word, now = list_one(lease, said)
        if now.replace and (word == 'waiting' or word == 'held' and now == lease) then
            made.newest.take_over(now)
        end
        return word, now
    end

    local rows, at = {}, 6
    while at <= #ARGV do
        local said = ARGV[at + 1]
        local lease, behind = parse_lease(at, 6)
        lease.since = said == 'held' and db.clock - tonumber(ARGV[behind]) or nil
        at = behind + 1
        local word, now = list_and_take_over(lease, said)
        append(rows, {lease.id, word, word == 'lost' and '0' or text_of(now.ticket),
            word == 'held' and claims_text(now) or word == 'waiting' and text_of(position_of(now)) or '-'})
    end
    return finish('ok', unpack(rows))
end

-- ---- end ----

-- CURSOR: "KEPT ALL": how many of the session's leases have been looked at and stay, and how many it had then. Those
-- that it has lost since may have stood before that place.
local function end_listing()
    local session = session_of(ME)
    local function n_all()
        return call('ZCOUNT', OWNED, session.sid, session.sid)
    end
    local kept_before, all_before = match(ARGV[6], '^(%d+) (%d+)$')
    local n_kept = kept_before and max(0, kept_before - max(0, all_before - n_all())) or 0
    local keys = call('ZRANGEBYSCORE', OWNED, session.sid, session.sid, 'LIMIT', n_kept, MAX_ENDED)
    for _, key in ipairs(keys) do
        local lease = load_lease(key)
        if lease and lease.incarnation == INCARNATION then
            n_kept = n_kept + 1
        elseif n_work >= MAX_WORK then
            break
        else
            -- A waiter may ask again; a holder has ended while its daemon could not say how.
            drop_key(key, lease, made.history.ending_of(lease, 'gone'))
        end
    end
    local is_done = #keys < MAX_ENDED and n_work < MAX_WORK
    if is_done then
        session.listing = '0'
        write_session(session)
    end
    local cursor = is_done and '' or n_kept .. ' ' .. n_all()
    return finish('ok', cursor, made.first_grace.is_new() and 1 or nil)
end

-- The daemon stops, and says so: if none follows it, its host is not gone. Its leases last as long as before.
local function leave()
    call('HSET', SESSION, 'g:' .. ME, 'left')
    return finish('ok')
end

local phases = {leave = leave, news = tell_news, change = change, define = define, lease = list, ['end'] = end_listing}

scripts.hello = {at_maxmemory = true, begin = begin} -- a host must be able to come back

function scripts.hello.run()
    if ARGV[5] ~= 'leave' then
        live_on()
    end
    return phases[ARGV[5]]()
end
