-- snapshot.lua - ARGV: CURSOR {NAME}... Returns what is held and waited for, page by page: for these names,
-- or for all that are defined or in use; with `*` as the only name, sums alone; with `@ KEY` in place of names,
-- for those of the lease. Writes only what becomes due.
-- CURSOR is the last finished name, or "NAME PART FROM": the unfinished name, and where to go on.
-- `? MARK` in place of names: all, each page below a row with the mark of its moment; a row `unchanged` and
-- nothing else if that is MARK still.
-- `! FROM` or `! FROM BEFORE` in place of names: a page of the history, see 16-history.lua.
local MAX_NAMES, MAX_ROWS = 50, 150

local sums -- of this page's resources, by the name of their definition; or false
local cursor, cursor_part, cursor_from
local rows

local function add(row)
    for i, value in ipairs(row) do
        row[i] = tostring(value)
    end
    rows[#rows + 1] = row
end

local function host_of(lease)
    local session = session_of(lease.session)
    return session and session.host or '?'
end

local function describe_lease(kind, name, lease, ...)
    add({kind, name, lease.key, text_of(lease.ticket), lease.priority, lease.uid, lease.holder,
        lease.info, ...})
end

-- In the order of the units.
local function reserved_text(resource)
    local units, parts = {}, {}
    for _, item in ipairs(resource.is_pool and resource.has_reserved and items_of(resource) or {}) do
        units[#units + 1] = resource.reserved[item] and item
    end
    for slot in pairs(not resource.is_pool and resource.reserved or {}) do
        units[#units + 1] = tonumber(slot) and slot -- else an item, reserved when this was a pool
    end
    if not resource.is_pool then
        table.sort(units, function(a, b)
            return tonumber(a) < tonumber(b)
        end)
    end
    for i, unit in ipairs(units) do
        local reason = resource.reserved[unit]
        parts[i] = unit .. ',' .. (reason == true and '' or reason)
    end
    return table.concat(parts, ' ')
end

local function changed_word(resource)
    if resource.limit then
        return 'limit'
    end
    return resource.items_changed and 'items' or ''
end

-- How many units rest; and, to be shown, the items that are held though removed.
local function look_at_taken(resource, is_shown)
    local n_cooling, draining = 0, {}
    if resource.is_pool and is_shown or call('ZCARD', REST) > 1 then -- KEEP
        for _, member in ipairs(call('ZRANGEBYLEX', HELD, of_name(resource.name))) do
            local word, key = match(member, '^%S+ (%S+) (%S+)$')
            if key == RESTING then
                n_cooling = n_cooling + size_of(resource, word)
            elseif resource.is_pool and is_shown and not made.pools.is_in_service(resource, word) then
                draining[#draining + 1] = word
            end
        end
    end
    return n_cooling, table.concat(draining, ',')
end

local function n_free(resource)
    return is_blocked(resource) and 0 or max(rooms.n_free(resource), 0)
end

local function add_to_sum(name)
    local resource = resource_of(name)
    if resource.definition and not is_template(name) then
        local sum = sums[resource.definition_name] or {limit = 0, held = 0, free = 0, waiting = 0}
        sum.limit = sum.limit + limit_of(resource)
        sum.held = sum.held + n_taken(name) - look_at_taken(resource)
        sum.free = sum.free + n_free(resource)
        sum.waiting = sum.waiting + n_waiting(name)
        sums[resource.definition_name] = sum
    end
end

local function describe_resource(name)
    local resource = resource_of(name)
    local rules = resource.definition
    if not rules then
        return false
    end

    -- AT, BY, HOST and REASON, with tabs between, of a change to the resource itself or to its template. All are empty
    -- if an older berthd has made it.
    local function said(key, is_own)
        local one = is_own and resource.change or resource.of_all
        return table.concat((one.said or {})[key] or {'', '', '', ''}, '\t')
    end

    local change_said = resource.items_changed and said('items-base', true) or ''
    if resource.limit then
        change_said = said('limit', resource.own_limit) .. '\t' .. rules.limit
    end
    local cooling, draining = look_at_taken(resource, true)
    local n_kept, first_kept = 0, nil
    if db.keeps then
        n_kept, first_kept = made.roads.all_kept(name)
        n_kept = min(n_kept, n_free(resource)) -- more is kept of all
    end
    add({'resource', name, rules.kind, limit_of(resource), n_taken(name) - cooling, n_free(resource),
        n_waiting(name), cooling, resource.paused and 1 or 0,
        resource.paused and said('paused', resource.change.paused) or '',
        resource.definition_name, changed_word(resource),
        resource.is_pool and table.concat(items_of(resource), ',') or '', reserved_text(resource),
        n_kept, first_kept and n_in_line_before(name, first_kept) + 1 or 0,
        change_said, draining, resource.is_rated and made.rates.full_in(resource) or nil})
    return true
end

-- Describes a holder once, where its first unit is.
local function describe_holder(name, member)
    local word, key = match(member, '^%S+ (%S+) (%S+)$')
    local lease = key ~= RESTING and load_lease(key)
    local claim = lease and claim_on(lease, name)
    if claim and first_word(resource_of(name), claim.units[1] or '') == word then
        describe_lease('holder', name, lease, claim.count, text_of(claim.token),
            table.concat(claim.units, ','), host_of(lease),
            text_of(max(db.clock - (lease.since or db.clock), 0)))
    end
end

local function describe_waiter(name, member, position)
    local lease = load_lease(match(member, '(%S+)$'))
    local claim = lease and claim_on(lease, name)
    if claim then
        local reason = match(member, '^%S+ ([bui]%S*) ') or ''
        local owned, owner = made.newest.name_owned(lease)
        local road = lease.road
        local n_kept = road and made.roads.keeps(lease, claim) and claim.count or 0
        local first, blocked = road and lease.claims[math.abs(road.station)] or claim, '' -- what it lacks
        if owned then
            first, blocked = claim_on(lease, owned), 'identity'
        elseif road and road.station < 0 and road.is_quota or match(reason, '^u') then
            blocked = 'quota'
        elseif first ~= claim or reason ~= '' or is_blocked(resource_of(name), own_limit(claim)) then
            blocked = 'other'
        end
        describe_lease('waiter', name, lease, claim.count,
            position or n_in_line_before(name, order_text(lease)) + 1, host_of(lease), n_kept,
            blocked, blocked ~= '' and first.name or '', owner and owner.key, owner and owner.state)
    end
end

-- A resource's parts, in the order of the pages: holders, waiters in its queue, waiters that stand elsewhere,
-- waiters aside.
local parts = {
    {set = function() return HELD end, describe = describe_holder},
    {set = function() return QUEUE end, describe = describe_waiter, is_in_line = true},
    {set = function() return ELSEWHERE end, describe = describe_waiter, is_in_line = true},
    {set = function() return ASIDE end, describe = describe_waiter, is_behind = true},
}

-- Describes a part from `from` on; returns where to go on with the next page, if this one is full.
local function describe_part(name, number, from)
    local part = parts[number]
    local low, high = of_name(name)
    local before = part.is_behind
        and call('ZLEXCOUNT', QUEUE, low, high) + call('ZLEXCOUNT', ELSEWHERE, low, high) or 0
    local members = call('ZRANGEBYLEX', part.set(), low, high, 'LIMIT', from, MAX_ROWS)
    for i, member in ipairs(members) do
        part.describe(name, member, not part.is_in_line and before + from + i)
    end
    return #members == MAX_ROWS and from + MAX_ROWS
end

-- Sorts waiters by place, within one page.
local function sort_waiters(first)
    local POSITION = 10 -- in a waiter's row
    local waiters = {unpack(rows, first)}
    table.sort(waiters, function(a, b)
        return tonumber(a[POSITION]) < tonumber(b[POSITION])
    end)
    for i, row in ipairs(waiters) do
        rows[first + i - 1] = row
    end
end

-- The cursor behind what fits; nil if everything did.
local function describe(name, first_part, from)
    local FIRST_OF_WAITERS = 2 -- of the parts
    if sums then
        return add_to_sum(name)
    end
    if first_part == 0 then
        if not describe_resource(name) then
            return nil
        end
        first_part = 1
    end
    local first_waiter = #rows + 1
    for number = first_part, #parts do
        if number <= FIRST_OF_WAITERS then
            first_waiter = #rows + 1
        end
        if #rows >= MAX_ROWS then
            sort_waiters(first_waiter)
            return format('%s %d %d', name, number, from)
        end
        local next_from = describe_part(name, number, from)
        if next_from then
            sort_waiters(number < FIRST_OF_WAITERS and #rows + 1 or first_waiter)
            return format('%s %d %d', name, number, next_from)
        end
        from = 0
    end
    sort_waiters(first_waiter)
end

local describe_page

do -- this block keeps its helpers out of the 200 locals that Lua allows
    -- ---- the names to describe ----

    -- The first names behind the cursor, in order: one more than a page takes, which shows whether there are
    -- more.
    local function names_to_describe()
        local names, is_listed = {}, {}

        -- Lua compares by the server's locale, sorted sets by bytes.
        local function is_before(a, b)
            local i = 1
            while a:byte(i) and a:byte(i) == b:byte(i) do
                i = i + 1
            end
            return (a:byte(i) or -1) < (b:byte(i) or -1)
        end

        local function add(name)
            local n = #names
            if is_listed[name] or not is_before(cursor, name)
                or (n > MAX_NAMES and not is_before(name, names[n])) then
                return
            end
            local at = n + 1
            while at > 1 and is_before(name, names[at - 1]) do
                at = at - 1
            end
            table.insert(names, at, name)
            is_listed[name] = true
            names[MAX_NAMES + 2] = nil
        end

        for _, set in ipairs({HELD, QUEUE, ASIDE, ELSEWHERE}) do
            local name, n_looked = next_name(set, cursor), 0
            while name and n_looked <= MAX_NAMES do
                add(name)
                name, n_looked = next_name(set, name), n_looked + 1
            end
        end
        for _, name in ipairs(call('HKEYS', DEFINITIONS)) do
            if not is_template(name) and name ~= KEEP then
                add(name)
            end
        end
        for _, name in ipairs(call('HKEYS', CHANGES)) do
            local _, json = change_text(name)
            if json and json ~= '{}' then
                add(name)
                for instance in pairs(is_template(name) and load_change(name).exempt or {}) do
                    add(instance)
                end
            end
        end
        return names
    end

    local function describe_sessions()
        local is_first_grace = db.grace and db.epoch == 1
        for _, name in ipairs(call('ZRANGE', SESSIONS, 0, 999)) do
            local session = name ~= KEEP and session_of(name)
            if session then
                local left = tonumber(call('ZSCORE', SESSIONS, name)) - db.clock
                local began = is_first_grace and call('HGET', SESSION, 'f:' .. name)
                add({'session', name, session.host, floor(left), text_of(session.incarnation),
                    session.version, session.from, session.to, text_of(session.ttl), text_of(session.lag),
                    began and floor(db.clock - began) or nil})
            end
        end
    end

    -- What the server has counted since it was started: calls of scripts and us in them (other databases' and
    -- strangers' too), us of its main thread. Nothing if it does not say.
    local function describe_load()
        local stats, cpu = redis.pcall('INFO', 'commandstats'), redis.pcall('INFO', 'cpu')
        if type(stats) ~= 'string' or type(cpu) ~= 'string' then
            return
        end
        local calls, us, main_thread = 0, 0, 0
        for _, word in ipairs({'eval', 'evalsha', 'fcall'}) do
            local n, spent = match(stats, 'cmdstat_' .. word .. ':calls=(%d+),usec=(%d+)')
            calls, us = calls + tonumber(n or 0), us + tonumber(spent or 0)
        end
        for _, word in ipairs({'sys', 'user'}) do
            main_thread = main_thread + tonumber(match(cpu, 'used_cpu_' .. word .. '_main_thread:([%d.]+)') or 0)
        end
        add({'load', n_sessions(), text_of(calls), text_of(us), text_of(floor(main_thread * 1e6))})
    end

    -- The caller's names, or its lease's, from the cursor on.
    local function named()
        local asked, names, is_behind = {unpack(ARGV, 6)}, {}, cursor == ''
        if asked[1] == '@' then
            local lease = load_lease(asked[2])
            asked = {}
            for i, claim in ipairs(lease and lease.claims or {}) do
                asked[i] = claim.name
            end
        end
        for _, name in ipairs(asked) do
            if is_behind then
                names[#names + 1] = name
            end
            is_behind = is_behind or name == cursor
        end
        return names
    end

    -- The rows of this page. Returns the cursor of the next one; nil: there is none.
    function describe_page()
        local next_cursor
        local has_mark = ARGV[6] == '?'
        local has_names = #ARGV > 5 and not sums and not has_mark

        -- Each change that a listing shows moves one of these: tickets, tokens and what operators or files change
        -- have numbers, all leases are owned, and note_move() counts the rest. Only ages and places may differ.
        local function mark_of_now()
            local numbers = call('HMGET', DB, 'number', 'moves')
            return format('%s-%s-%d-%d', numbers[1] or '0', numbers[2] or '0', call('ZCARD', OWNED),
                call('ZCARD', REST))
        end

        if has_mark then
            local mark = mark_of_now()
            if cursor == '' and mark == ARGV[7] then
                add({'unchanged'})
                return nil
            end
            add({'mark', mark})
        end
        if cursor_part ~= '' then
            next_cursor = describe(cursor, tonumber(cursor_part), tonumber(cursor_from))
        end
        local names = next_cursor and {} or has_names and named() or names_to_describe()
        for i, name in ipairs(names) do
            if #rows >= MAX_ROWS or i > MAX_NAMES then
                next_cursor = names[i - 1] or cursor
                break
            end
            next_cursor = describe(name, 0, 0)
            if next_cursor then
                break
            end
        end
        for name, sum in pairs(sums or {}) do
            add({'sum', name, sum.limit, sum.held, sum.free, sum.waiting})
        end
        if sums and not next_cursor then
            add({'sessions', call('ZCOUNT', SESSIONS, '(' .. text_of(db.clock), '(+inf'), #made.gone.rows()})
        elseif not next_cursor then
            describe_sessions()
            for _, row in ipairs(made.gone.rows()) do
                add(row)
            end
        end
        if not next_cursor and not has_names and not has_mark then
            describe_load()
        end
        return next_cursor
    end
end

scripts.snapshot = {at_maxmemory = true, may_recall = true} -- operators can look then, too

function scripts.snapshot.run()
    settle()
    if ARGV[6] == '!' then
        local reply = answer('ok', '')
        append(reply, made.history.page(ARGV[7], ARGV[8]))
        return reply
    end
    sums, rows = ARGV[6] == '*' and {}, {}
    cursor, cursor_part, cursor_from = match(ARGV[5], '^(%S*) ?(%d*) ?(%d*)$')
    local reply = answer('ok', describe_page() or '')
    append(reply, rows) -- there may be more than unpack() can take
    return reply
end
