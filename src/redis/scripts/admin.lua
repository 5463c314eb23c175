-- admin.lua - ARGV: OP NAME [ITEM, N, UID or CURSOR] [REASON] [HOLDER] [BY]; but for `release`, which has a
-- HOLDER, BY takes its place. Operators' changes for the whole fleet. Each is kept as JSON with a version, and
-- every daemon fetches it. BY is who asks: UID, and the UID of the login behind it if that is another one.
local OP, NAME, WORD, REASON, HOLDER, BY

local function refused(code, about)
    return finish('refused', code, about or NAME)
end

-- What was done, and who did it, for the history: to that lease; or else to NAME, or (empty) to the whole database.
local function note_did(verb, word, was, lease)
    local uid, login = match(BY, '^(%d+) ?(%d*)$')
    local words = format('how=%s from=%s', verb, ME)
    for key, value in pairs({word = word, was = was, by = uid, by_login = login, why = REASON}) do
        words = value == '' and words or format('%s %s=%s', words, key, value)
    end
    made.history.note_did(words, lease, NAME ~= '' and NAME .. ' 1 0 -' or '')
end

-- ---- changes to a lease, whichever daemon has it ----

-- It is no operator's if the owner gives it back.
local function tell_owner(key, word, verb)
    local lease = key and load_lease(key)
    if not lease then
        return refused('unknown')
    end
    emit(lease.session, format('%s %s %s|%s', word, lease.id, BY, REASON))
    if verb ~= 'release' or match(BY, '^%d*') ~= lease.uid then
        note_did(verb, nil, nil, lease)
    end
    return finish('ok')
end

local function release_of_identity()
    for _, key in ipairs(owners_of_identity(NAME, HOLDER, WORD)) do
        if made.newest.has_identity(load_lease(key)) then
            return tell_owner(key, OP, OP)
        end
    end
    if (resource_of(NAME).definition or {}).shared and owners_of_identity(NAME, HOLDER, '*')[1] then
        return refused('forbidden')
    elseif n_taken(NAME) > 0 then
        return refused('not-holder')
    end
    return finish('ok') -- it is free already
end

-- ---- changes to a definition ----

-- Removes a definition from the database, with all that is kept under its name, or, for a template, under its
-- instances' names. One call does a bounded part, and answers with a CURSOR ("STEP LAST") for the next one.
-- The definition goes last: until then the operator can repeat the request, wherever a script was broken off.
local function forget()
    local MAX_SWEPT = 100 -- members that one call looks at
    local MAX_COUNTED = 1000 -- units, or blocks of units, to show an operator
    local MAX_OWN = 300 -- names below a template that are in use and have a definition of their own
    local prefix = is_template(NAME) and string.sub(NAME, 1, -2)
    local low, high = of_name(NAME)
    if prefix then
        low, high = '[' .. prefix, '(' .. prefix .. '\255'
    end
    local n_left = MAX_SWEPT

    local function is_ours(name)
        return name == NAME
            or (prefix and string.sub(name, 1, #prefix) == prefix and definition_name(name) == NAME)
    end

    local function is_changed(name)
        local _, json = change_text(name)
        return json and json ~= '{}'
    end

    local used -- "NAME N": one of our names, N units of which are held or waited for

    local function note_use(name)
        local n, low_of_it, high_of_it = n_waiting(name), of_name(name)
        for _, member in ipairs(call('ZRANGEBYLEX', HELD, low_of_it, high_of_it, 'LIMIT', 0, MAX_COUNTED)) do
            local word, key = match(member, '^%S+ (%S+) (%S+)$')
            n = n + (key == RESTING and 0 or size_of(resource_of(name), word))
        end
        used = format('%s %d', name, max(n, 1))
    end

    -- Calls `look` for our names in a set ordered by name, from behind `last` on. Returns how far it has got
    -- if there may be more. It jumps over other names, however many members they have.
    local function sweep(set, last, look)
        local from = last ~= '' and '(' .. last or low
        while n_left > 0 and not used do
            local members = call('ZRANGEBYLEX', set, from, high, 'LIMIT', 0, n_left)
            if #members == 0 then
                return nil
            end
            for _, member in ipairs(members) do
                local name = match(member, '^%S+')
                if not is_ours(name) then
                    n_left = n_left - 10 -- what follows is read again
                    from = '(' .. name .. '!'
                    break
                end
                n_left = n_left - 1
                from = '(' .. member
                look(member, name)
            end
        end
        return string.sub(from, 2)
    end

    local function find_holders(last)
        return sweep(HELD, last, function(member, name)
            if match(member, '(%S+)$') ~= RESTING then
                note_use(name)
            end
        end)
    end

    -- Ends rests: a resting unit belongs to nobody. In the order of end_rests().
    local function end_rests(last)
        return sweep(HELD, last, function(member, name)
            local unit, key = match(member, '^(%S+ %S+) (%S+)$')
            if key ~= RESTING then
                return note_use(name)
            end
            call('ZREM', HELD, member)
            call('ZREM', REST, unit)
            noted.first[REST] = nil
            rooms.forget(resource_of(name))
        end)
    end

    -- Finds all waiters: for our names, perhaps in the queue of another resource that they also want.
    local function find_waiters(set, last)
        local members = call('ZRANGEBYLEX', set, last ~= '' and '(' .. last or '-', '(' .. KEEP, 'LIMIT', 0,
            n_left)
        for _, member in ipairs(members) do
            local lease = load_lease(match(member, '(%S+)$'))
            for _, claim in ipairs(lease and lease.state == 'W' and lease.claims or {}) do
                if is_ours(claim.name) then
                    note_use(claim.name)
                end
            end
            if not lease and is_ours(match(member, '^%S+')) then
                call('ZREM', set, member) -- a script was broken off
            end
        end
        n_left = n_left - #members
        return n_left <= 0 and members[#members] or nil
    end

    local function remove_all(set, last)
        return sweep(set, last, function(member)
            call('ZREM', set, member)
        end)
    end

    -- This set is in the order of use, so all of it is read.
    local function forget_uses(last)
        local found = call('ZRANGEBYSCORE', FREED, last ~= '' and '(' .. last or '-inf', '(+inf', 'WITHSCORES',
            'LIMIT', 0, 4 * n_left)
        local ours = {}
        for i = 1, #found, 2 do
            if is_ours(match(found[i], '^%S+')) then
                ours[#ours + 1] = found[i]
            end
        end
        if #ours > 0 then
            call('ZREM', FREED, unpack(ours))
        end
        n_left = n_left - floor(#found / 8)
        return n_left <= 0 and text_of(tonumber(found[#found])) or nil
    end

    -- As a reset does: the daemons drop their copies, and no host brings the change back.
    local function undo_change(name)
        if is_changed(name) then
            n_left = n_left - 10
            made.news.store_change(name, next_number(), '{}')
        end
    end

    -- Every changed name is in NEWS.
    local function undo_changes(last)
        if not prefix then
            return undo_change(NAME)
        end
        local from = last ~= '' and '(' .. last or '-inf'
        local found = call('ZRANGEBYSCORE', NEWS, from, '+inf', 'WITHSCORES', 'LIMIT', 0, n_left)
        for i = 1, #found, 2 do
            local name = match(found[i], '^c (.*)$')
            last, n_left = text_of(tonumber(found[i + 1])), n_left - 1
            if name and is_ours(name) then
                undo_change(name)
            end
            if n_left <= 0 then
                return last
            end
        end
    end

    -- Whether, over all names in one call, no lease has come since the first steps; and whether units rest
    -- again. (Also not idle if too many names have their own definitions, or too many units rest.)
    local function is_idle()
        local n_seen, rests = 0, false
        for _, set in ipairs({HELD, QUEUE, ASIDE, ELSEWHERE}) do
            local member = call('ZRANGEBYLEX', set, low, high, 'LIMIT', 0, 1)[1]
            while member do
                local name, key = match(member, '^%S+'), match(member, '(%S+)$')
                local is_rest = is_ours(name) and key == RESTING
                n_seen = n_seen + 1
                if n_seen > MAX_OWN or (is_ours(name) and not is_rest) then
                    note_use(name)
                    return false
                end
                rests = rests or is_rest
                local from = is_rest and '(' .. member or '(' .. name .. '!'
                member = call('ZRANGEBYLEX', set, from, high, 'LIMIT', 0, 1)[1]
            end
        end
        return true, rests
    end

    local steps = {
        find_holders,
        function(last) return find_waiters(QUEUE, last) end,
        function(last) return find_waiters(ASIDE, last) end,
        function(last) return find_waiters(ELSEWHERE, last) end,
        end_rests,
        forget_uses,
        function(last) return remove_all(USERS, last) end,
        function(last) return remove_all(KEPT, last) end,
        function(last) return sweep(IDENTITIES, last, made.fair.remove) end,
        undo_changes,
    }
    local LOOKS = 5 -- the last step that only looks and ends rests; later steps remove things

    if db.grace then
        return refused('grace')
    elseif not definition_of(NAME) and not is_changed(NAME) then
        return refused('unknown')
    end
    local step, last = match(WORD, '^(%d+) ?(.*)$')
    step, last = tonumber(step or 1), last or ''
    local is_checked = false
    while step <= #steps or not is_checked do
        if step > LOOKS and not is_checked then
            local idle, rests = is_idle()
            if not idle then
                return refused('in-use', used)
            elseif rests then
                step, last = LOOKS, ''
            end
            is_checked = not rests
        end
        if step > #steps then
            break
        end
        last = steps[step](last)
        if used then
            return refused('in-use', used)
        elseif not last then
            step, last = step + 1, ''
        end
        if last ~= '' or n_left <= 0 then
            return finish('ok', format('%d %s', step, last))
        end
    end
    made.news.forget_undone()
    made.news.note('d ' .. NAME)
    call('ZADD', UNDONE, wall, 'd ' .. NAME)
    call('HDEL', DEFINITIONS, NAME)
    definitions[NAME], resources = nil, {}
    made.news.tell()
    note_did(OP)
    return finish('ok', '')
end

-- ---- the end of an upgrade ----

-- The data take the next layout once an operator says so, and all sessions that live know it: from then on its
-- scripts serve, and convert what is there. The CURSOR says that there is more to do, by those scripts.
local function upgrade()
    local MAX_BYTES = 100 -- of the names of hosts
    if db.grace then
        return refused('grace')
    elseif db.convert then
        return finish('ok', 'convert')
    end
    local newest, n_older, older = LAYOUT, 0, ''
    for _, name in ipairs(call('ZRANGEBYSCORE', SESSIONS, '(' .. text_of(db.clock), '(+inf')) do
        local session = session_of(name)
        newest = max(newest, session and session.to or LAYOUT)
        if session and session.to <= LAYOUT then
            n_older = n_older + 1
            older = older .. (#older < MAX_BYTES and ' ' .. session.host or '')
        end
    end
    if newest == LAYOUT then
        return finish('ok', '')
    elseif n_older > 0 then
        return refused('older', format('%d %d%s', LAYOUT + 1, n_older, older))
    end
    settle()
    call('HSET', DB, 'layout', LAYOUT + 1, 'convert', '1') -- at once
    note_did(OP)
    return answer('ok', 'convert')
end

-- ---- changes to a resource ----

local resource, change
local is_of_all_changed -- of the template, too

local was -- of an item that is added: 'absent', 'draining', 'reserved' or 'present'
local operations = {}

-- The file's own limit is no change, unless it keeps an instance from its template's. Returns whether it was one.
local function end_limit_of_file(one, limit_of_all)
    if one.limit ~= resource.definition.limit or limit_of_all then
        return false
    end
    one.limit, one['limit-base'], one['limit-generation'] = nil, nil, nil
    return true
end

do -- this block keeps its helpers to itself
    local MAX_ITEMS = 5000 -- in service, in a pool

    local function has_item(items, item)
        for i, other in ipairs(items or {}) do
            if other == item then
                return i
            end
        end
    end

    local function exists(item)
        if resource.is_pool then
            return has_item(items_of(resource), item)
        end
        local slot = match(item, '^%d+$') and tonumber(item)
        return slot and tostring(slot) == item and slot < max(limit_of(resource), resource.definition.limit)
    end

    -- Who has made the change of that key, when, where and why: kept as long as the change. If it has been so before,
    -- only why is new.
    local function say(key, is_again)
        change.said = change.said or {}
        if is_again and change.said[key] then
            change.said[key][4] = REASON
        else
            change.said[key] = {text_of(wall), BY, session_of(ME).host, REASON}
        end
    end

    -- The pause of an instance's template leaves it out, or no longer does.
    local function set_exempt(is_exempt)
        local of_all = resource.of_all
        if (of_all.exempt and of_all.exempt[NAME] or false) ~= is_exempt then
            of_all.exempt = of_all.exempt or {}
            of_all.exempt[NAME] = is_exempt or nil
            is_of_all_changed = true
        end
    end

    local function begin_items_change()
        if not resource.items_changed then
            change.added, change.removed = nil, nil
            change['items-base'] = items_text(resource.definition)
            change['items-generation'] = text_of(resource.definition.generation)
        end
        change.added, change.removed = change.added or {}, change.removed or {}
        say('items-base')
    end

    local function is_held(item)
        local low, high = of_name(NAME .. ' ' .. item)
        local member = call('ZRANGEBYLEX', HELD, low, high, 'LIMIT', 0, 1)[1]
        return member and match(member, '(%S+)$') ~= RESTING
    end

    function operations.limit()
        local limit = tonumber(WORD)
        if resource.is_pool or (resource.definition.kind == 'lock' and limit > max(resource.definition.limit, 1)) then
            return 'kind'
        end
        was = text_of(limit_of(resource))
        say('limit', change.limit == limit)
        change.limit, change['limit-base'] = limit, resource.definition.limit
        change['limit-generation'] = text_of(resource.definition.generation)
        end_limit_of_file(change, resource.limit_of_all)
    end

    function operations.add()
        if change.reserved and change.reserved[WORD] and (not resource.is_pool or exists(WORD)) then
            change.reserved[WORD] = nil
            was = 'reserved'
            return
        elseif not resource.is_pool then
            return 'kind'
        elseif has_item(items_of(resource), WORD) then
            was = 'present'
            return
        elseif #items_of(resource) >= MAX_ITEMS then
            return 'impossible'
        end
        was = is_held(WORD) and 'draining' or 'absent'
        begin_items_change()
        if has_item(resource.definition.items, WORD) then
            change.removed[WORD] = nil
        else
            change.added[#change.added + 1] = WORD
        end
    end

    function operations.remove()
        if not resource.is_pool then
            return 'kind'
        elseif not exists(WORD) then
            return 'unknown', WORD
        end
        begin_items_change()
        local place = has_item(change.added, WORD)
        if change.reserved then
            change.reserved[WORD] = nil
        end
        if place then
            table.remove(change.added, place)
        else
            change.removed[WORD] = true
        end
    end

    function operations.reserve()
        if not exists(WORD) then
            return 'unknown', WORD
        end
        change.reserved = change.reserved or {}
        change.reserved[WORD] = REASON
    end

    function operations.pause()
        say('paused', change.paused)
        change.paused = change.said.paused[2]
        set_exempt(false)
    end

    function operations.resume()
        change.paused, change.exempt = nil, nil
        set_exempt(resource.of_all.paused or false)
    end

    function operations.reset()
        for key in pairs(change) do
            change[key] = nil
        end
        set_exempt(false)
    end
end

-- Whether that is more than Redis or the daemons keep.
local function is_too_much(stored)
    -- Every daemon keeps to these two as well: see embed.
    local MAX_CHANGE_BYTES = 65536 -- of the JSON of operators' changes to one name
    local MAX_CHANGES = 9000 -- names with changes
    local MAX_RESERVED = 64 -- slots of one name: each search for free slots looks at all of these

    local function are_too_many_slots()
        local n = 0
        for _ in pairs(OP == 'reserve' and not resource_of(NAME).is_pool and change.reserved or {}) do
            n = n + 1
        end
        return n > MAX_RESERVED
    end

    -- Or one change more than every daemon keeps.
    local function is_too_long(name, json)
        local _, stored_json = change_text(name)
        if #json > MAX_CHANGE_BYTES then
            return true
        elseif json == '{}' or (stored_json or '{}') ~= '{}' then
            return false
        end
        return #call('HKEYS', CHANGES) - call('ZCARD', UNDONE) >= MAX_CHANGES
    end

    local too_much = are_too_many_slots()
    for _, one in ipairs(stored) do
        too_much = too_much or is_too_long(one.name, one.json)
    end
    return too_much
end

local function change_resource()
    resource, was, is_of_all_changed = resource_of(NAME), nil, false
    change = resource.change
    if not resource.definition then
        return refused('unknown')
    elseif is_template(NAME) and (OP == 'add' or OP == 'remove' or OP == 'reserve') then
        return refused('kind')
    end
    local before = resource.is_pool and made.pools.grantable(resource)
    local limit = OP == 'reset' and not resource.is_pool and text_of(limit_of(resource))
    local code, about = operations[OP]()
    if code then
        return refused(code, about)
    end
    local stored = {{name = NAME, json = made.news.to_json(change)}}
    if is_of_all_changed then -- first: a resume that is broken off leaves an instance's own pause
        table.insert(stored, 1, {name = resource.definition_name, json = made.news.to_json(resource.of_all)})
    end
    if is_too_much(stored) then
        resources = {} -- the change was undone above
        return refused('too-much')
    end
    for _, one in ipairs(stored) do
        made.news.store_change(one.name, next_number(), one.json)
    end
    if before then
        made.pools.note_grantable(resource_of(NAME), before)
    end
    if is_template(NAME) and (OP == 'limit' or OP == 'reset') then
        local limit_of_all = resource_of(NAME).limit
        made.news.edit_changes(NAME, function(one)
            return end_limit_of_file(one, limit_of_all)
        end)
    end
    made.news.tell()
    if limit and limit ~= text_of(limit_of(resource_of(NAME))) then
        was, WORD = limit, text_of(limit_of(resource_of(NAME)))
    end
    note_did(OP, WORD, was)
    if OP == 'add' then
        return finish('ok', '', was)
    end
    return finish('ok')
end

-- Those that are no change to a resource, by OP.
local others = {release = release_of_identity, forget = forget, upgrade = upgrade}

function others.revoke()
    return tell_owner(NAME, OP, WORD ~= '' and WORD or OP)
end
others.drop = others.revoke

-- A waiter gets a ticket that stands before all others, of whatever priority, or one as if it had just asked. It comes
-- to its new place first; if this is broken off, a walk removes it from the old one.
function others.move()
    local lease, before = load_lease(NAME), nil
    if not lease or lease.state == 'R' then
        return refused('unknown')
    elseif lease.state == 'H' then
        return refused('kind')
    end
    note_move()
    if lease.road then
        lease.road.let_go = 0
    end
    if lease.road and db.keeps then
        made.roads.keep_nothing(lease)
    end
    for _, claim in ipairs(lease.claims) do
        mark_changed(claim.name)
    end
    before = load_lease(NAME)
    local number = next_number()
    lease.ticket, lease.order = WORD == 'first' and 2 ^ 53 - 1 - number or number, nil
    if db.fairs then
        if WORD == 'last' then
            made.fair.rank(lease) -- its old one counts as its flow's
        end
        made.fair.look_for_left() -- if this is broken off
        made.fair.leave(before)
        lease.info = string.gsub(lease.info, ' rank=%d+', '')
    end
    enter_queues(lease, true)
    leave_queues(before)
    emit(lease.session, format('moved %s %s %d', lease.id, text_of(lease.ticket), position_of(lease)))
    note_did(OP, WORD, nil, before)
    return finish('ok')
end

function others.found()
    local reply = made.first_grace.found()
    if reply[1] == 'ok' then
        note_did(OP)
    end
    return reply
end

scripts.admin = {}

function scripts.admin.run()
    OP, NAME, WORD, REASON, HOLDER = ARGV[5], ARGV[6], ARGV[7] or '', ARGV[8] or '', ARGV[9] or ''
    BY = OP == 'release' and (ARGV[10] or '') or HOLDER
    return (others[OP] or change_resource)()
end
