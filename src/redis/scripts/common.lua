-- common.lua - what every script begins with: the database's record and its clock, leases, units,
-- queues, events. doc/fleet.md has the keys, the calls and the reasons.
--
-- Redis does not roll back: every prefix of what a script writes must be safe. Hence: what frees
-- something is written before what takes it; a name is in DIRTY before its queue may have to move;
-- a lease's record goes last, and counts as held only if its units are there as well.
--
-- Lua makes every function anew in every call (measured: 0.3 us each, as much as a command): those
-- that few calls need are made by pools(), turns() and time(), when one is needed.
local unpack = unpack or table.unpack
local call = redis.call
local format, match, floor, min, max = string.format, string.match, math.floor, math.min, math.max
local DB, SESSIONS, SESSION, LEASES, OWNED, HELD, USERS, QUEUE = unpack(KEYS, 1, 8)
local ASIDE, REST, IDENTITIES, DEFINITIONS, CHANGES, EVENTS, DIRTY, FREED = unpack(KEYS, 9, 16)
local NEWS, UNDONE, KEPT, KEEPING, ELSEWHERE = unpack(KEYS, 17, 21)
local ME, INCARNATION = ARGV[3], tonumber(ARGV[4])
local PREFIX = string.sub(DB, 1, -3)

local MOST_PURGED = 64 -- leases of dead sessions, in one call
local MOST_SERVED = 50 -- names, and waiters, in one call; the rest stays dirty
-- The next three are what every daemon keeps, too: see embed.
local MOST_CHANGE_BYTES = 65536 -- of the JSON of what operators have changed of one name
local MOST_CHANGES = 9000 -- names of which something is changed
local MOST_UNDONE = 1000 -- changes that were taken back: so many are remembered
local MOST_WORK = 1500 -- what else a call does; each part is one or two commands
local MOST_WORDS = 1000 -- members, or members and their scores, in one command
local MOST_WALKED = 30 -- names, and of those who wait, in one call, where something has changed
local CHANGED = ' !' -- behind a name in DIRTY
local WALK = 'walk ' -- before a name in DB: how far the walk over those who wait for it has come
local made = {} -- tables of functions, by whoever makes them: below
local RESTING = '-' -- instead of a KEY in HELD
-- No caller's word raises a number further: all are exact below 2^53, and what is left is for ever.
local MOST_CREDIBLE = 2 ^ 52
local MOST_EVENTS_EVER = 10 ^ 11 -- of a session: they are in order as 12 digits
-- A grace raises the sequence by more than the calls of a renewal period, so that nobody else is ahead
-- of the one who has noticed.
local SEQUENCE_MARGIN = 2 ^ 24

-- What may be much in one call is counted as it is done: members written, places looked at. When there
-- is enough of it, the rest is left to the next call.
local n_work = 0

local function text_of(number) -- below 2^53, exactly
    return format('%.0f', number)
end

local function split(text, separator)
    local parts = {}
    for part in string.gmatch(text, '[^' .. separator .. ']+') do
        parts[#parts + 1] = part
    end
    return parts
end

-- ---- the database's record, and its clock ----

local function two_numbers(text)
    local first, second = match(text, '^(%d+)-(%d+)$')
    return tonumber(first), tonumber(second)
end

-- The caller's: the layouts that it reads and writes, and the largest numbers that it has had from
-- this database, of calls and of its session's events.
local FROM_LAYOUT, TO_LAYOUT = two_numbers(ARGV[1])
local SEQUENCE_SAID, EVENT_SAID = two_numbers(ARGV[2])
if SEQUENCE_SAID > MOST_CREDIBLE or EVENT_SAID > MOST_EVENTS_EVER then
    SEQUENCE_SAID, EVENT_SAID = 0, 0 -- no database has got so far
end

local db = {} -- numbers, but for run, replid, now_replid, sweep, info and is_master
local wall -- ms, Redis' own clock
local micros

local function read_database()
    local time = call('TIME')
    micros = tonumber(time[2])
    wall = tonumber(time[1]) * 1000 + floor(micros / 1000)
    local values = call('HMGET', DB, 'layout', 'replid', 'ttl', 'clock', 'last', 'grace', 'epoch',
        'lag', 'sequence', 'sweep', 'run',
        'keeps')
    if values[1] then
        db.layout, db.replid = tonumber(values[1]), values[2]
        db.ttl, db.clock, db.last = tonumber(values[3]), tonumber(values[4]), tonumber(values[5])
        db.grace = values[6] and tonumber(values[6]) or nil
        db.epoch, db.lag = tonumber(values[7]), tonumber(values[8])
        db.sequence = tonumber(values[9] or 0)
        db.sweep = values[10] or nil
        db.run = values[11]
        db.keeps = values[12] -- or false: nothing is kept for anybody
    end
    db.info = call('INFO', 'replication')
    db.is_master = string.find(db.info, 'role:master', 1, true) ~= nil
    db.now_replid = match(db.info, 'master_replid:(%w+)') or ''
end

-- Sessions expire on this clock: a step of the wall clock moves it by so much at most.
local function advance_clock()
    db.clock = db.clock + min(max(wall - db.last, 0), floor(0.16 * db.ttl) + 250)
    db.last = wall
    db.sequence = db.sequence + 1
    call('HSET', DB, 'clock', text_of(db.clock), 'last', text_of(wall),
        'sequence', text_of(db.sequence))
end

-- Tickets, tokens and versions of changes: one counter, so that each is larger than all before.
local function next_number()
    return call('HINCRBY', DB, 'number', 1)
end

-- What of these is nobody's any more is taken away by the calls that follow: numbers of time().sweep().
local SWEEP_LEASES, SWEEP_ITEMS = 1, 4

local function sweep_from(number)
    if not db.sweep or tonumber(match(db.sweep, '^%d')) >= number then
        db.sweep = text_of(number)
        call('HSET', DB, 'sweep', db.sweep)
    end
end

-- It continues above everything that any clock or daemon can have seen.
local function raise_number(least)
    local number = tonumber(call('HGET', DB, 'number') or 0)
    if number < least and least <= MOST_CREDIBLE then
        call('HSET', DB, 'number', text_of(least))
    end
end

-- ---- sessions and their events ----

local sessions = {} -- of this call, by name; false: there is none

local function session_of(name)
    if sessions[name] == nil then
        local found = call('HMGET', SESSION, name, 'n:' .. name)
        local session = false
        if found[1] then
            local sid, incarnation, epoch, listing, sequence, from, to, host =
                match(found[1], '^(%d+) (%d+) (%d+) (%d) (%d+) (%d+) (%d+) (.*)$')
            session = {name = name, sid = tonumber(sid), incarnation = tonumber(incarnation),
                epoch = tonumber(epoch), listing = listing, sequence = tonumber(sequence),
                from = tonumber(from), to = tonumber(to), host = host,
                n_events = tonumber(found[2] or 0)}
        end
        sessions[name] = session
    end
    return sessions[name]
end

local function write_session(session)
    call('HSET', SESSION, session.name, format('%d %.0f %d %s %.0f %d %d %s', session.sid,
        session.incarnation, session.epoch, session.listing, session.sequence, session.from,
        session.to, session.host))
end

-- Kept until acknowledged; published as well, so that it is there at once.
local function emit(name, text)
    local session = session_of(name)
    if session then
        local number = call('HINCRBY', SESSION, 'n:' .. name, 1)
        local event = format('%012d %s', number, text)
        call('ZADD', EVENTS, session.sid, session.sid .. ' ' .. event)
        call('PUBLISH', PREFIX .. 's:' .. name, event)
    end
end

-- ---- definitions and operators' changes ----

local definitions = {} -- of this call, by name
local DEFAULT_KEEP = 10000 -- ms

local function definition_of(name)
    if definitions[name] == nil then
        local text = call('HGET', DEFINITIONS, name)
        local generation, json = match(text or '', '^(%d+) (.*)$')
        definitions[name] = json and cjson.decode(json) or false
        if json and not definitions[name].keep then -- an older berthd has stored it
            definitions[name].keep = DEFAULT_KEEP
            json = string.gsub(json, '("cooldown":%d+)', '%1,"keep":' .. DEFAULT_KEEP, 1)
        end
        if json then
            definitions[name].generation = tonumber(generation)
            definitions[name].json = json
        end
    end
    return definitions[name]
end

local function is_template(name)
    return string.sub(name, -2) == '/*'
end

-- An exact name, else its template; whatever the asker's file has.
local function definition_name(name)
    if definition_of(name) then
        return name
    end
    local parent = match(name, '^(.*)/[^/]*$')
    return parent and parent .. '/*' or name
end

local function change_text(name) -- 0 and nil if there is none
    local version, json = match(call('HGET', CHANGES, name) or '', '^(%d+) (.*)$')
    return tonumber(version or 0), json
end

local function load_change(name)
    local version, json = change_text(name)
    local change = json and cjson.decode(json) or {}
    change.version = version
    return change
end

local resources = {} -- of this call, by name

local function items_text(definition)
    return table.concat(definition.items or {}, ',')
end

-- What is in force: a change of the limit or the items is over when the file says something else
-- than it did then.
local function resource_of(name)
    local resource = resources[name]
    if not resource then
        local definition = definition_name(name)
        resource = {name = name, definition_name = definition,
            definition = definition_of(definition), change = load_change(name)}
        local rules = resource.definition
        if rules then
            local change = resource.change
            resource.is_pool = rules.kind == 'pool'
            resource.limit_changed = change.limit and change['limit-base'] == rules.limit
                and (rules.kind ~= 'lock' or change.limit <= 1) -- it was a semaphore then
            resource.items_changed = change['items-base'] and change['items-base'] == items_text(rules)
            resource.reserved = change.reserved or {}
            resource.has_reserved = next(resource.reserved) ~= nil
        end
        resources[name] = resource
    end
    return resource
end

-- ---- units ----

-- A unit is one word in sets that are ordered by bytes: an item, or a slot in 7 digits. Of the slots of a
-- lease that stand next to each other, each aligned block is one word: a mark that no item has, and its
-- first slot. So taking n slots costs few writes, and to count them is to count words.
local BLOCKS = {{mark = '=', size = 1024}, {mark = '<', size = 32}, {mark = '', size = 1}}

-- The first word of a run of slots, and how many of them it stands for.
local function first_block(first, last)
    for _, block in ipairs(BLOCKS) do
        if first % block.size == 0 and first + block.size - 1 <= last then
            return format('%s%07d', block.mark, first), block.size
        end
    end
end

-- What a claim has are items, or slots as "7" and "0-499". nil: it is no slot.
local function run_of(unit)
    local first, last = match(unit, '^(%d+)-?(%d*)$')
    first = tonumber(first)
    return first, tonumber(last) or first
end

local function size_of(resource, word) -- in units
    local mark = string.sub(word, 1, 1)
    return not resource.is_pool and (mark == '<' and 32 or mark == '=' and 1024) or 1
end

local function first_word(resource, unit)
    local first, last = run_of(unit)
    return not resource.is_pool and first and first_block(first, last) or unit
end

local function words_of(resource, units)
    if resource.is_pool then
        return units
    end
    local words = {}
    for _, unit in ipairs(units) do
        local first, last = run_of(unit)
        if not first then
            words[#words + 1] = unit
        end
        while first and first <= last do
            local word, size = first_block(first, last)
            words[#words + 1] = word
            first = first + size
        end
    end
    return words
end

local function n_units(resource, units)
    if resource.is_pool then
        return #units
    end
    local n = 0
    for _, unit in ipairs(units) do
        local first, last = run_of(unit)
        n = n + (first and last - first + 1 or 1)
    end
    return n
end

local function of_name(name) -- the range of a name's members in a set that is ordered by its bytes
    return '[' .. name .. ' ', '(' .. name .. '!'
end

local function n_units_in(set, name) -- blocks by their size
    local n = call('ZLEXCOUNT', set, of_name(name))
    for i = 1, n > 0 and #BLOCKS - 1 or 0 do
        local block = BLOCKS[i]
        local low = name .. ' ' .. block.mark
        n = n + (block.size - 1) * call('ZLEXCOUNT', set, '[' .. low, '(' .. low .. '~')
    end
    return n
end

local function n_taken(name) -- held or at rest
    return n_units_in(HELD, name)
end

local function is_slot_taken(name, slot)
    for _, block in ipairs(BLOCKS) do
        local word = format('%s%07d', block.mark, slot - slot % block.size)
        if call('ZLEXCOUNT', HELD, of_name(name .. ' ' .. word)) > 0 then
            return true
        end
    end
    return false
end

-- Of pools, and of what is reserved.
local function make_pools()
    local MOST_FREED = 20000 -- items of pools, of which is known when they were used
    local function items_of(resource)
        if not resource.items_changed then
            return resource.definition.items
        elseif not resource.items then
            local change = resource.change
            local removed = change.removed or {}
            local items = {}
            for _, item in ipairs(resource.definition.items) do
                if not removed[item] then
                    items[#items + 1] = item
                end
            end
            for _, item in ipairs(change.added or {}) do
                items[#items + 1] = item
            end
            resource.items = items
        end
        return resource.items
    end

    local function is_in_service(resource, item)
        if not resource.in_service then
            resource.in_service = {}
            for _, other in ipairs(items_of(resource)) do
                resource.in_service[other] = true
            end
        end
        return resource.in_service[item]
    end

    local function n_reserved_and_free(resource, limit) -- of slots
        local n = 0
        for slot in pairs(resource.reserved) do
            local number = tonumber(slot) -- nil: an item, reserved when it was a pool
            if number and number < limit and not is_slot_taken(resource.name, number) then
                n = n + 1
            end
        end
        return n
    end

    -- The item that has been free for longest is the first; before all, in the file's order, those that
    -- were never used.
    local function in_order_of_use(resource, items)
        local ordered, numbers, item_of = {}, {}, {}
        for i = 1, #items, MOST_WORDS do
            local members, last = {}, min(i + MOST_WORDS - 1, #items)
            for k = i, last do
                members[#members + 1] = resource.name .. ' ' .. items[k]
            end
            for k, score in ipairs(call('ZMSCORE', FREED, unpack(members))) do
                local number = tonumber(score or nil)
                if number then
                    numbers[#numbers + 1] = number
                    item_of[number] = items[i + k - 1]
                else
                    ordered[#ordered + 1] = items[i + k - 1]
                end
            end
        end
        table.sort(numbers)
        for _, number in ipairs(numbers) do
            ordered[#ordered + 1] = item_of[number]
        end
        return ordered
    end

    local function shuffle(items)
        math.randomseed(micros)
        for i = #items, 2, -1 do
            local k = math.random(i)
            items[i], items[k] = items[k], items[i]
        end
        return items
    end

    local orders = {lru = in_order_of_use, random = function(_, items) return shuffle(items) end}

    -- Each item is its own limit: those that were removed and are held keep no others back. In the order
    -- in which they are given, from `resource.next_free` on; good until one is freed.
    local function free_items(resource)
        if not resource.free then
            local taken, free, items = {}, {}, items_of(resource)
            for _, member in ipairs(call('ZRANGEBYLEX', HELD, of_name(resource.name))) do
                taken[match(member, '^%S+ (%S+) ')] = true
            end
            for _, item in ipairs(items) do
                if not taken[item] and not resource.reserved[item] then
                    free[#free + 1] = item
                end
            end
            local order = orders[resource.definition.select]
            resource.free, resource.next_free = order and order(resource, free) or free, 1
            n_work = n_work + #items / 2 -- few commands
        end
        return resource.free
    end

    local function n_free(resource)
        return #free_items(resource) - resource.next_free + 1
    end

    local function pick_items(resource, count)
        local free = free_items(resource)
        local last = resource.next_free + count - 1
        return last <= #free and {unpack(free, resource.next_free, last)} or nil
    end

    local function note_taken(resource, items)
        for _, item in ipairs(items) do
            if not resource.free or resource.free[resource.next_free] ~= item then
                resource.free = nil -- others than those that were picked
                return
            end
            resource.next_free = resource.next_free + 1
        end
    end

    local function note_freed(resource, items) -- for select = lru
        local words = {}
        resource.free = nil
        if #items == 0 or not resource.definition or resource.definition.select ~= 'lru' then
            return
        end
        local number = call('HINCRBY', DB, 'freed', #items) - #items
        for i, item in ipairs(items) do
            if is_in_service(resource, item) then
                words[#words + 1] = number + i
                words[#words + 1] = resource.name .. ' ' .. item
            end
        end
        for i = 1, #words, MOST_WORDS do
            call('ZADD', FREED, unpack(words, i, min(i + MOST_WORDS - 1, #words)))
        end
        local n_over = call('ZCARD', FREED) - MOST_FREED
        if n_over > 0 then -- as if never used, so it is first again
            call('ZREM', FREED, unpack(call('ZRANGE', FREED, 0, min(n_over, MOST_WORDS))))
        end
    end

    -- An idle instance leaves nothing behind.
    local function forget_idle_instance(resource)
        local is_instance = string.sub(resource.definition_name, -2) == '/*'
        if not is_instance or not resource.is_pool or n_taken(resource.name) > 0 then
            return
        end
        local members = {}
        for i, item in ipairs(items_of(resource)) do
            members[i] = resource.name .. ' ' .. item
        end
        for i = 1, #members, 1000 do
            call('ZREM', FREED, unpack(members, i, min(i + 999, #members)))
        end
    end

    return {items_of = items_of, is_in_service = is_in_service,
        n_reserved_and_free = n_reserved_and_free, n_free = n_free, pick_items = pick_items,
        note_taken = note_taken, note_freed = note_freed, forget_idle_instance = forget_idle_instance}
end

local function pools()
    made.pools = made.pools or make_pools()
    return made.pools
end

local function items_of(resource)
    return pools().items_of(resource)
end

-- That of the asker's file, if it has the definition that governs the name.
local function own_limit(claim)
    return claim.definition == resource_of(claim.name).definition_name and claim.limit or nil
end

-- The smaller of the fleet's limit and that of the asker's file; an operator's overrules both.
local function limit_of(resource, askers)
    if resource.is_pool then
        return #items_of(resource)
    elseif resource.limit_changed then
        return resource.change.limit
    end
    return min(resource.definition.limit, askers or resource.definition.limit)
end

-- More can never be had; a limit of 0 in the file means closed, for now.
local function most_of(resource, askers)
    if resource.is_pool then
        return max(#items_of(resource), #resource.definition.items)
    elseif resource.definition.limit == 0 or askers == 0 then
        return math.huge
    end
    return max(limit_of(resource, askers), min(resource.definition.limit, askers or math.huge))
end

local function is_blocked(resource, askers)
    return resource.change.paused or limit_of(resource, askers) == 0
end

local function n_available(resource, askers)
    if resource.is_pool then
        return pools().n_free(resource)
    end
    local limit = limit_of(resource, askers)
    local n = limit - n_taken(resource.name)
    if resource.has_reserved then
        n = n - pools().n_reserved_and_free(resource, limit)
    end
    return n
end

-- ---- free slots ----

local pick_slots

do -- its helpers take none of the 200 locals that a script may have
    local MOST_ROOM = 448 -- for a lease's slots on a line; a range takes as much as two single slots
    -- Ranges, in one search: enough for the lowest slots of 2^20. It halves those that are partly free: 511 at
    -- most of more than 2048 slots, and of each of the 11 sizes below one for each word that there is room
    -- for, two for the run that is too much, and one at the limit: 511 + 11 * 451.
    local MOST_LOOKED = 5500
    local LOOKED_FOR_RESERVED = 20 -- more for each reserved slot, one of each size: it takes no room
    local MOST_COARSE = 2048 -- so many ranges of one size, and all larger ones, fit into a search

    -- How many slots of that range are taken, by blocks that are all in it.
    local function n_taken_by(blocks, name, first, length)
        local n = 0
        for _, block in ipairs(blocks) do
            if block.size <= length and n < length then
                local low = name .. ' ' .. block.mark
                n = n + block.size * call('ZLEXCOUNT', HELD, format('[%s%07d', low, first),
                    format('(%s%07d', low, first + length))
            end
        end
        return n
    end

    -- Calls back with runs of free slots, from the lowest, until that answers true. Aligned ranges are
    -- halved: one that is all taken or all free is looked at once, and a block is never in two. With a
    -- `grain`, a power of two, it finds only whole ranges of that size. Whether it ended before the last.
    local function find_free(name, limit, grain, most_looked, take)
        local size, n_free, blocks, n_looked = 1, nil, {}, 0
        while size < limit do
            size = size * 2
        end
        n_free = size
        for _, block in ipairs(BLOCKS) do -- a larger one begins at 0, and has all
            local n = n_taken_by({block}, name, 0, max(size, block.size))
            n_free = n_free - n
            blocks[#blocks + 1] = n > 0 and block or nil
        end
        local function look(first, length, n)
            if first >= limit or n < grain then
                return false
            elseif n >= length then
                return take(first, min(first + length, limit) - 1)
            elseif n_looked == most_looked then
                return true
            end
            n_looked = n_looked + 1
            n_work = n_work + 1
            local half = length / 2
            local n_left = max(half - n_taken_by(blocks, name, first, half), 0)
            return look(first, half, n_left) or look(first + half, half, n - n_left)
        end
        return look(0, size, n_free)
    end

    local function reserved_slots(resource)
        if not resource.reserved_slots then
            local slots = {}
            for slot in pairs(resource.reserved) do
                slots[#slots + 1] = tonumber(slot)
            end
            table.sort(slots)
            resource.reserved_slots = slots
        end
        return resource.reserved_slots
    end

    -- Calls back with what is left of each run that find_free() finds.
    local function find_unreserved(resource, limit, grain, take)
        if not resource.has_reserved then
            return find_free(resource.name, limit, grain, MOST_LOOKED, take)
        end
        local reserved, next_reserved = reserved_slots(resource), 1
        local most_looked = MOST_LOOKED + LOOKED_FOR_RESERVED * #reserved
        return find_free(resource.name, limit, grain, most_looked, function(first, last)
            while reserved[next_reserved] and reserved[next_reserved] <= last do
                local slot = reserved[next_reserved]
                next_reserved = next_reserved + 1
                if slot >= first then
                    if slot - first >= grain and take(first, slot - 1) then
                        return true
                    end
                    first = slot + 1
                end
            end
            return (last - first + 1 >= grain or last == limit - 1) and first <= last and take(first, last)
        end)
    end

    -- The lowest free slots, in runs {FIRST, LAST}; nil if they are not there, or too scattered, and
    -- whether they may be where it has not looked.
    local function collect_slots(resource, count, limit, grain, room)
        local runs, lacks = {}, count
        local was_ended = find_unreserved(resource, limit, grain, function(first, last)
            local run = runs[#runs]
            last = min(last, first + lacks - 1)
            if run and run[2] == first - 1 then
                room = room - (run[1] == run[2] and 1 or 0)
                run[2] = last
            else
                room = room - (first == last and 1 or 2)
                runs[#runs + 1] = {first, last}
            end
            lacks = lacks - (last - first + 1)
            return lacks == 0 or room < 0
        end)
        return lacks == 0 and room >= 0 and runs or nil, was_ended and room >= 0
    end

    -- The lowest ones; where those lie too scattered for a line, the lowest of longer runs.
    function pick_slots(resource, count, askers, n_claims)
        local limit = limit_of(resource, askers)
        local room = 2 * floor(MOST_ROOM / 2 / n_claims)
        local below = limit -- that one are the lowest
        if limit > 64 then
            below = min(limit, n_taken(resource.name) + #reserved_slots(resource) + count)
        end
        local runs = collect_slots(resource, count, below, 1, room)
        if not runs and count > room then
            local grain = 1
            while grain * room < 2 * count do
                grain = grain * 2
            end
            local has_more
            runs, has_more = collect_slots(resource, count, limit, grain, room)
            if not runs and has_more then
                while grain * MOST_COARSE < limit do
                    grain = grain * 2
                end
                runs = collect_slots(resource, count, limit, grain, room)
            end
        end
        local units = runs
        for i, run in ipairs(runs or {}) do
            units[i] = run[1] == run[2] and tostring(run[1]) or format('%d-%d', run[1], run[2])
        end
        return units
    end
end

local function pick_units(claim, n_claims)
    local resource = resource_of(claim.name)
    if resource.is_pool then
        return pools().pick_items(resource, claim.count)
    end
    return pick_slots(resource, claim.count, own_limit(claim), n_claims)
end

-- ---- leases ----

local function claims_text(lease)
    local parts = {}
    for i, claim in ipairs(lease.claims) do
        local units = #claim.units == 0 and '-' or table.concat(claim.units, ',')
        parts[i] = format('%s %d %.0f %s', claim.name, claim.count, claim.token, units)
    end
    return table.concat(parts, '|')
end

-- A record is packed: taken apart as text it cost as much as all the commands of a call.
local function load_lease(key)
    local record = call('HGET', LEASES, key)
    if not record then
        return nil
    end
    local state, incarnation, priority, ticket, uid, shared, holder, info, packed, road, above =
        unpack(cmsgpack.unpack(record))
    local claims = {}
    for i, claim in ipairs(packed) do
        claims[i] = {name = claim[1], count = claim[2], token = claim[3], definition = claim[4],
            limit = claim[5], ancestral = claim[6], units = claim[7]}
    end
    local session, id = match(key, '^([^/]*)/(.*)$')
    return {key = key, session = session, id = id, state = state, incarnation = incarnation,
        priority = priority, ticket = ticket, uid = uid, shared = shared, holder = holder,
        info = info, claims = claims, road = road, above = above}
end

local function write_lease(lease)
    local packed = {}
    for i, claim in ipairs(lease.claims) do
        packed[i] = {claim.name, claim.count, claim.token, claim.definition, claim.limit,
            claim.ancestral, claim.units}
    end
    call('HSET', LEASES, lease.key, cmsgpack.pack({lease.state, lease.incarnation, lease.priority,
        lease.ticket, lease.uid, lease.shared, lease.holder, lease.info, packed,
        lease.road or false, lease.above or false}))
end

-- Whose they are is in the member, whether or not the resource says that they are shared now.
local function identity_member(lease, claim)
    return claim.name .. ' ' .. lease.holder .. ' ' .. lease.uid .. ' ' .. lease.key
end

-- KEY of a lease, other than that one, that has an identity of a user, or ("*") of anybody.
local function owner_of_identity(name, holder, uid, but)
    local whose = name .. ' ' .. holder .. (uid == '*' and '' or ' ' .. uid)
    local low, high = of_name(whose)
    for _, member in ipairs(call('ZRANGEBYLEX', IDENTITIES, low, high, 'LIMIT', 0, 50)) do
        local key = match(member, '(%S+)$')
        if key ~= but and call('HEXISTS', LEASES, key) == 1 then
            return key
        elseif key ~= but then
            call('ZREM', IDENTITIES, member) -- a script was broken off
        end
    end
end

-- Where another lease has the identity of this one.
local function identity_taken(lease)
    for _, claim in ipairs(lease.holder ~= '' and lease.claims or {}) do
        local rules = resource_of(claim.name).definition
        local whose = rules and rules.shared and '*' or lease.uid
        if owner_of_identity(claim.name, lease.holder, whose, lease.key) then
            return claim.name
        end
    end
end

local function take_identities(lease)
    if lease.holder ~= '' then -- should this be broken off: see forget_unbegun
        call('ZADD', OWNED, session_of(lease.session).sid, lease.key)
    end
    for _, claim in ipairs(lease.holder ~= '' and lease.claims or {}) do
        call('ZADD', IDENTITIES, 0, identity_member(lease, claim))
    end
end

local function drop_identities(lease)
    for _, claim in ipairs(lease.holder ~= '' and lease.claims or {}) do
        call('ZREM', IDENTITIES, identity_member(lease, claim))
    end
end

-- Of a lease that is not there: if it is owned, a script was broken off before it had a record, and has
-- left what comes before that.
local function forget_unbegun(key)
    if call('ZSCORE', OWNED, key) then
        sweep_from(SWEEP_LEASES)
        call('ZREM', OWNED, key)
    end
end

-- What stands for a claim's units in a set.
local function members_of(claim, before, behind)
    local members = {}
    for i, word in ipairs(words_of(resource_of(claim.name), claim.units)) do
        members[i] = before .. ' ' .. word .. behind
    end
    return members
end

local function held_members(lease, claim)
    return members_of(claim, claim.name, ' ' .. lease.key)
end

local function user_members(lease, claim)
    return members_of(claim, claim.name .. ' ' .. lease.uid, '')
end

local function add_all(set, score, members)
    local words = {}
    n_work = n_work + #members
    for i, member in ipairs(members) do
        words[#words + 1] = score
        words[#words + 1] = member
        if #words == MOST_WORDS or i == #members then
            call('ZADD', set, unpack(words))
            words = {}
        end
    end
end

local function remove_all(set, members)
    n_work = n_work + #members
    for i = 1, #members, MOST_WORDS do
        call('ZREM', set, unpack(members, i, min(i + MOST_WORDS - 1, #members)))
    end
end

-- Its units count for its user.
local function count_units(lease)
    for _, claim in ipairs(lease.claims) do
        add_all(USERS, 0, user_members(lease, claim))
    end
end

-- Of a lease whose record says held: a script may have been broken off before they were taken, or
-- counted, or after they were freed.
local function has_its_units(lease)
    for _, claim in ipairs(lease.claims) do
        for _, member in ipairs(held_members(lease, claim)) do
            if not call('ZSCORE', HELD, member) then
                return false
            end
        end
        if n_units(resource_of(claim.name), claim.units) ~= claim.count then
            return false
        end
    end
    count_units(lease)
    return true
end

-- ---- queues ----

local function order_text(lease)
    local order = lease.order
    if not order then
        order = format('%05d %016.0f %s', 50000 - lease.priority, lease.ticket, lease.key)
        lease.order = order
    end
    return order
end

local function head_of(name) -- of its queue: the member, or nil
    return call('ZRANGEBYLEX', QUEUE, '[' .. name .. ' ', '(' .. name .. '!', 'LIMIT', 0, 1)[1]
end

local dirty = {} -- names, in the order in which they became so

local function mark_dirty(name)
    if not dirty[name] then
        dirty[name] = true
        dirty[#dirty + 1] = name
        call('SADD', DIRTY, name)
    end
end

local walked = {} -- of this call, by name: whether a walk is under way

-- What it is granted by has changed: who stands aside has to be looked at as well, from the first one
-- on.
local function mark_changed(name)
    mark_dirty(name .. CHANGED)
    call('HSET', DB, WALK .. name, '')
    walked[name] = true
end

local function is_walked(name)
    if walked[name] == nil then
        walked[name] = call('HEXISTS', DB, WALK .. name) == 1
    end
    return walked[name]
end

-- Nobody is granted any of it until all who stand aside have been looked at: in which order that is done
-- must not decide who goes first. The name of the walk.
local function held_up_by(resource)
    local name = is_walked(resource.name) and resource.name or resource.definition_name
    if is_walked(name) then
        local low, high = of_name(resource.name)
        local found = call('ZRANGEBYLEX', ASIDE, low, high, 'LIMIT', 0, 1)
        return found[1] and name
    end
end

local function mark_if_waited_for(name)
    if head_of(name) then
        mark_dirty(name)
    end
end

local function n_waiting(name)
    local low, high = of_name(name)
    return call('ZLEXCOUNT', QUEUE, low, high) + call('ZLEXCOUNT', ASIDE, low, high)
        + call('ZLEXCOUNT', ELSEWHERE, low, high)
end

local turns, roads -- () -> what only those calls need in which somebody waits; below

local function queue_members(lease) -- taken out by one command: all or none
    local members = {}
    for i, claim in ipairs(lease.claims) do
        members[i] = claim.name .. ' ' .. order_text(lease)
    end
    return members
end

-- Requests of a user that stand aside at one resource are in order of their counts: see wake_user.
local function quota_reason(lease, claim)
    return format('u%s:%07d', lease.uid, claim.count)
end

local function leave_queues(lease)
    local order = order_text(lease)
    if #lease.claims > 1 then
        roads().leave_road(lease)
    end
    for _, claim in ipairs(lease.claims) do
        call('ZREM', ASIDE, claim.name .. ' b ' .. order,
            claim.name .. ' ' .. quota_reason(lease, claim) .. ' ' .. order)
    end
    call('ZREM', QUEUE, unpack(queue_members(lease))) -- last: whoever comes upon it there mends the rest
end

local function n_units_of_user(name, uid)
    return n_units_in(USERS, name .. ' ' .. uid)
end

local function quota_left(resource, uid) -- math.huge without one
    local most = resource.definition['max-units-per-user']
    return most == 0 and math.huge or most - n_units_of_user(resource.name, uid)
end

-- The same for a request: what is kept for older ones of its user counts as well.
local function quota_left_for(lease, resource)
    local left = quota_left(resource, lease.uid)
    if db.keeps and left < math.huge and lease.ticket > 0 then
        left = left - roads().kept_before(lease, resource.name .. ' u' .. lease.uid .. ' ')
    end
    return left
end

-- Why it cannot go for a reason that is not the queue's: "b" (a resource is paused, closed, or
-- limited to less than it wants) or "u…" (its user's quota), and where. Such a lease waits aside and
-- delays nobody.
local function why_aside(lease)
    for _, claim in ipairs(lease.claims) do
        local resource = resource_of(claim.name)
        if not resource.definition then
            return nil
        end
        -- While a resource is paused or closed nobody can go there: those who want nothing else stay in line.
        local limit = limit_of(resource, own_limit(claim))
        local is_shut = resource.change.paused or limit == 0
        if is_shut and #lease.claims > 1 or not is_shut and claim.count > limit then
            return 'b', claim.name
        elseif claim.count > quota_left_for(lease, resource) then
            return quota_reason(lease, claim), claim.name
        end
    end
end

-- Into the queue, or aside: then what it is there. Writes the lease down.
local function enter_queues(lease, is_back)
    local why, name = why_aside(lease)
    if #lease.claims > 1 then
        return roads().enter_road(lease, why, name, is_back)
    end
    name = lease.claims[1].name
    local member = name .. (why and ' ' .. why .. ' ' or ' ') .. order_text(lease)
    if not why then
        mark_dirty(name)
    end
    call('ZADD', why and ASIDE or QUEUE, 0, member)
    write_lease(lease)
    return why and member
end

-- ---- news: what is stored for all, numbered in the order in which it was ----

-- "c NAME", an operator's change; "d NAME", a definition. The daemons fetch what is newer than what
-- they have.
local function newest_news() -- 0: there is none
    return tonumber(call('ZRANGE', NEWS, -1, -1, 'WITHSCORES')[2] or 0)
end

local function make_news()
    local UNDONE_KEPT = 30 * 86400 * 1000 -- ms, and for so long
    local function note(what)
        call('ZADD', NEWS, next_number(), what)
    end

    -- One message, however much is new and however many are to fetch it: over so many ms they do.
    local function tell()
        call('PUBLISH', PREFIX .. 'all', format('news %.0f %d', newest_news(), call('ZCARD', SESSIONS)))
    end

    local function floor_of_changes()
        return tonumber(call('HGET', DB, 'floor') or 0)
    end

    local function raise_floor(version)
        if version > floor_of_changes() and version <= MOST_CREDIBLE then
            call('HSET', DB, 'floor', text_of(version))
        end
    end

    -- Who has not been told of it yet and finds the floor above what he has followed starts from the first again.
    local function forget_forgotten(name)
        local number = call('ZSCORE', NEWS, 'd ' .. name)
        if number and not definition_of(name) then
            raise_floor(tonumber(number))
            call('ZREM', NEWS, 'd ' .. name)
        end
    end

    -- Not for ever: below the floor, what is not stored has been taken back.
    local function forget_undone()
        local names = call('ZRANGEBYSCORE', UNDONE, '-inf', wall - UNDONE_KEPT, 'LIMIT', 0, 2)
        if #names == 0 and call('ZCARD', UNDONE) >= MOST_UNDONE then
            names = call('ZRANGE', UNDONE, 0, 0)
        end
        for _, name in ipairs(names) do
            local version, json = change_text(name)
            local definition = match(name, '^d (.*)$')
            if definition then
                forget_forgotten(definition)
            elseif json == '{}' then
                raise_floor(version)
                call('HDEL', CHANGES, name)
                call('ZREM', NEWS, 'c ' .. name)
            end
            call('ZREM', UNDONE, name)
        end
    end

    -- What an operator takes back stays as "{}", so that no host brings it in again.
    local function store_change(name, version, json)
        mark_changed(name)
        note('c ' .. name)
        if resource_of(name).is_pool then
            sweep_from(SWEEP_ITEMS)
        end
        if json == '{}' then
            forget_undone()
            call('ZADD', UNDONE, wall, name)
        end
        call('HSET', CHANGES, name, text_of(version) .. ' ' .. json)
        if json ~= '{}' then
            call('ZREM', UNDONE, name)
        end
        resources[name] = nil
    end

    return {note = note, tell = tell, floor_of_changes = floor_of_changes, raise_floor = raise_floor,
        forget_undone = forget_undone, store_change = store_change}
end

local function news()
    made.news = made.news or make_news()
    return made.news
end

-- ---- to take and to free ----

-- Writes the lease down as holder of its claims' units, which nobody has.
local function hold_units(lease)
    local members = {}
    for _, claim in ipairs(lease.claims) do
        for _, member in ipairs(held_members(lease, claim)) do
            members[#members + 1] = member
        end
        local resource = resource_of(claim.name)
        if resource.is_pool then
            pools().note_taken(resource, claim.units)
        end
        if resource.definition and resource.definition['max-units-per-user'] > 0 then
            mark_if_waited_for(claim.name) -- another request of that user may not fit any more
        end
    end
    lease.state = 'H'
    call('ZADD', OWNED, session_of(lease.session).sid, lease.key)
    write_lease(lease)
    add_all(HELD, 0, members)
    count_units(lease)
end

-- Chooses the units of each claim; nil, and the number of a claim, if that one's are not there, or too scattered.
local function choose_units(lease)
    for i, claim in ipairs(lease.claims) do
        local units = pick_units(claim, #lease.claims)
        if not units then
            for _, other in ipairs(lease.claims) do
                other.units = {}
            end
            return nil, i
        end
        claim.units = units
    end
    return true
end

local function give_tokens(lease)
    for _, claim in ipairs(lease.claims) do
        claim.token = next_number()
    end
end

local function free_units(lease, claim, resource)
    local members, users, resting = {}, {}, {}
    n_work = n_work + 2
    for _, word in ipairs(words_of(resource, claim.units)) do
        local member = claim.name .. ' ' .. word .. ' ' .. lease.key
        if call('ZSCORE', HELD, member) then -- somebody else may have it by now
            members[#members + 1] = member
            users[#users + 1] = claim.name .. ' ' .. lease.uid .. ' ' .. word
            resting[#resting + 1] = claim.name .. ' ' .. word
        end
    end
    remove_all(USERS, users)
    local cooldown = resource.definition and resource.definition.cooldown or 0
    if cooldown > 0 then
        add_all(REST, db.clock + cooldown, resting)
        for i, where in ipairs(resting) do
            resting[i] = where .. ' ' .. RESTING
        end
        add_all(HELD, 0, resting)
    end
    remove_all(HELD, members)
    if resource.is_pool then
        for i, member in ipairs(members) do
            members[i] = match(member, '^%S+ (%S+)')
        end
        pools().note_freed(resource, members)
    end
end

local function free_claim(lease, claim)
    local resource = resource_of(claim.name)
    free_units(lease, claim, resource)
    local rules = resource.definition
    if rules and rules['max-units-per-user'] > 0 then
        turns().wake_user(resource, lease.uid)
    end
    if resource.is_pool then
        pools().forget_idle_instance(resource)
    end
end

-- The end of a lease, held or waiting. Once it is begun, calling it again ends it.
local function drop_lease(lease)
    for _, claim in ipairs(lease.claims) do
        mark_if_waited_for(claim.name)
    end
    if lease.state == 'W' then
        leave_queues(lease)
    elseif #lease.claims > 1 then
        roads().leave_road(lease) -- its grant may have been broken off
    end
    for _, claim in ipairs(lease.claims) do
        free_claim(lease, claim)
    end
    drop_identities(lease)
    call('HDEL', LEASES, lease.key)
    call('ZREM', OWNED, lease.key)
end

-- ---- who goes next: doc/ordering.md ----

-- Is there enough of it, beside what is kept for those before it, and does nobody stand before it?
local function has(lease, claim, is_head)
    local resource = resource_of(claim.name)
    local head = not is_head and head_of(claim.name)
    if head and head < claim.name .. ' ' .. order_text(lease)
        or not resource.definition or is_blocked(resource, own_limit(claim)) or held_up_by(resource) then
        return false
    end
    local n = n_available(resource, own_limit(claim))
    if db.keeps and n >= claim.count then
        n = n - roads().kept_before(lease, claim.name .. ' ')
    end
    return n >= claim.count
end

local function next_name(set, name) -- the first after `name` ("": of all) in a set ordered by names
    local from = name == '' and '-' or '(' .. name .. '!'
    local member = call('ZRANGEBYLEX', set, from, '+', 'LIMIT', 0, 1)[1]
    return member and match(member, '^(%S+)')
end

-- What only those calls need in which somebody waits for several, or something is kept.
local function make_roads()
    local MOST_DOUBLINGS = 40
    local MOST_FORCED = 3 -- nested requests that a waiter lets pass until its patience ends by itself

    -- ---- what is kept ----
    --
    -- A count is kept as its powers of two, each a member for the resource and one for its user there:
    -- so what is kept before a place takes a few ZLEXCOUNTs, however many keep. The lease's record
    -- decides; a member that a broken-off script has left goes when its lease is next looked at, or
    -- when its patience ends.

    local function kept_members(lease, claims, but_of_user)
        local members, order = {}, order_text(lease)
        for _, claim in ipairs(claims) do
            local left, power = claim.count, 0
            while left > 0 do
                if left % 2 == 1 then
                    if not but_of_user then
                        members[#members + 1] = format('%s %02d:%s', claim.name, power, order)
                    end
                    members[#members + 1] = format('%s u%s %02d:%s', claim.name, lease.uid, power, order)
                end
                left, power = floor(left / 2), power + 1
            end
        end
        return members
    end

    -- The powers of two of which something is kept: "NAME PP" or "NAME uUID PP".
    local function each_power(prefix, visit)
        local from = '[' .. prefix
        while true do
            local member = call('ZRANGEBYLEX', KEPT, from, '(' .. prefix .. ':', 'LIMIT', 0, 1)[1]
            if not member then
                return
            end
            local power = string.sub(member, 1, #prefix + 2)
            visit(power)
            from = '(' .. power .. ';'
        end
    end

    -- How many units are kept for those before it, under "NAME " or "NAME uUID ".
    local function kept_before(lease, prefix)
        local n, order = 0, order_text(lease)
        each_power(prefix, function(power)
            n = n + 2 ^ tonumber(string.sub(power, -2))
                * call('ZLEXCOUNT', KEPT, '[' .. power .. ':', '(' .. power .. ':' .. order)
        end)
        return n
    end

    -- How many units are kept there, and the place in line of the first for whom.
    local function all_kept(name)
        local n, first = 0, nil
        each_power(name .. ' ', function(power)
            local low, high = '[' .. power .. ':', '(' .. power .. ';'
            local order = string.sub(call('ZRANGEBYLEX', KEPT, low, high, 'LIMIT', 0, 1)[1], #power + 2)
            n = n + 2 ^ tonumber(string.sub(power, -2)) * call('ZLEXCOUNT', KEPT, low, high)
            if not first or order < first then
                first = order
            end
        end)
        return n, first
    end

    -- The member of the last one for whom something is kept there.
    local function last_kept(name)
        local last, last_order
        each_power(name .. ' ', function(power)
            local member = call('ZREVRANGEBYLEX', KEPT, '(' .. power .. ';', '[' .. power .. ':', 'LIMIT', 0, 1)[1]
            local order = string.sub(member, #power + 2)
            if not last or order > last_order then
                last, last_order = member, order
            end
        end)
        return last
    end

    -- ---- the road of a request for several ----
    --
    -- `order`: the numbers of its claims; the first `kept` of these are kept for it; `station`: the
    -- claim where it stands, negative where it stands aside; `ends`: its patience, on the session clock (0: it does not run);
    -- `let_go`: how often it has ended; `forced`: how often a nested request has ended it since;
    -- `is_fresh`: it stands for the first, and has to choose when it is the first there.

    local function new_road(lease)
        local order = {}
        local function part(i)
            local claim = lease.claims[i]
            local resource = resource_of(claim.name)
            return claim.count / (resource.definition and limit_of(resource, own_limit(claim)) or 1)
        end
        for i = 1, #lease.claims do
            order[i] = i
        end
        table.sort(order, function(a, b)
            local part_a, part_b = part(a), part(b)
            if part_a ~= part_b then
                return part_a > part_b
            end
            return lease.claims[a].name < lease.claims[b].name
        end)
        return {order = order, kept = 0, station = 0, ends = 0, let_go = 0, forced = 0, is_fresh = true}
    end

    local function station_of(lease)
        return lease.claims[lease.road.station]
    end

    local function claim_on(lease, name)
        for i, claim in ipairs(lease.claims) do
            if claim.name == name then
                return claim, i
            end
        end
    end

    local function place_of(road, number)
        for place, one in ipairs(road.order) do
            if one == number then
                return place
            end
        end
    end

    local function keeps(lease, claim) -- says its record
        local _, number = claim_on(lease, claim.name)
        return lease.state == 'W' and lease.road and lease.road.station > 0 and place_of(lease.road, number) <= lease.road.kept
    end

    local function move_on_road(road, number, to)
        table.remove(road.order, place_of(road, number))
        table.insert(road.order, to, number)
    end

    -- The place of what it has lost of all that is kept for it; 0: nobody knows yet, as a walk is under way.
    local function lost_place(lease)
        local road = lease.road
        for place = 1, road.kept do
            local claim = lease.claims[road.order[place]]
            if held_up_by(resource_of(claim.name)) then
                mark_dirty(held_up_by(resource_of(claim.name)) .. CHANGED)
                return 0
            elseif not has(lease, claim) then
                return place
            end
        end
    end

    -- The first place on the road, from one to another, of which it has not enough.
    local function first_without(lease, from, to)
        for place = from, to do
            if not has(lease, lease.claims[lease.road.order[place]]) then
                return place
            end
        end
    end

    local function choose_station(lease)
        local road = lease.road
        return road.order[first_without(lease, road.kept + 1, #road.order) or road.kept + 1]
    end

    -- What it wants and does not stand for: so who looks at a resource finds it.
    local function note_elsewhere(lease)
        local members, order = {}, order_text(lease)
        for i, claim in ipairs(lease.claims) do
            if i ~= math.abs(lease.road.station) then
                members[#members + 1] = 0
                members[#members + 1] = claim.name .. ' ' .. order
            end
        end
        call('ZADD', ELSEWHERE, unpack(members))
    end

    -- Its user's later requests may have what it does not take, or is not kept for it any more.
    local function wake_users(lease, claims)
        for _, claim in ipairs(claims) do
            local resource = resource_of(claim.name)
            if resource.definition and resource.definition['max-units-per-user'] > 0 then
                turns().wake_user(resource, lease.uid)
            end
        end
    end

    -- It is in no other queue than its record says. What it stood for and has not got, others of its user may
    -- have.
    local function leave_other_queues(lease)
        local here, others = math.abs(lease.road.station), queue_members(lease)
        local left = {}
        for i, claim in ipairs(lease.claims) do
            local rules = resource_of(claim.name).definition
            local stays = i == lease.road.station or keeps(lease, claim)
            if not stays and rules and rules['max-units-per-user'] > 0 and call('ZSCORE', QUEUE, others[i]) then
                left[#left + 1] = claim
            end
        end
        local member = table.remove(others, here)
        note_elsewhere(lease)
        call('ZREM', ELSEWHERE, member)
        if lease.road.station < 0 then
            others[#others + 1] = member
        end
        wake_users(lease, left)
        call('ZREM', QUEUE, unpack(others)) -- last: whoever comes upon it there does this again
    end

    -- It stands there and nowhere else, and is written down. (If that is broken off it is in more than
    -- one queue, and leaves the others when it comes to the head of one.)
    local function stand(lease, number, is_fresh)
        local road = lease.road
        mark_dirty(lease.claims[number].name)
        if road.station > 0 then
            mark_dirty(station_of(lease).name)
        end
        road.station, road.is_fresh = number, is_fresh or false
        call('ZADD', QUEUE, 0, lease.claims[number].name .. ' ' .. order_text(lease))
        write_lease(lease)
        leave_other_queues(lease)
    end

    local function mark_all_dirty(lease)
        for _, claim in ipairs(lease.claims) do
            mark_dirty(claim.name)
        end
    end

    -- Only the first `n` of what is kept still is. The record is written next, then what the claims
    -- that are returned had is free.
    local function keep_only(lease, n)
        local freed, road = {}, lease.road
        for place = n + 1, road.kept do
            freed[#freed + 1] = lease.claims[road.order[place]]
        end
        road.kept = n
        return freed
    end

    -- The resource's members go last: should this be broken off, they are found, and it is done again.
    local function free_kept(lease, freed)
        if #freed > 0 then
            call('ZREM', KEPT, unpack(kept_members(lease, freed, true)))
            wake_users(lease, freed)
            call('ZREM', KEPT, unpack(kept_members(lease, freed)))
        end
    end

    -- ms that what is kept for it stays kept.
    local function patience(lease)
        local shortest = math.huge
        for _, claim in ipairs(lease.claims) do
            local rules = resource_of(claim.name).definition
            shortest = min(shortest, rules and rules.keep or DEFAULT_KEEP)
        end
        return min(max(shortest, 1) * 2 ^ lease.road.let_go, MOST_CREDIBLE / 2)
    end

    -- It keeps what it stands for, and goes on to that claim, or to the first that it lacks.
    local function gain(lease, to)
        local road = lease.road
        local claim = station_of(lease)
        if not db.keeps then
            db.keeps = '1'
            call('HSET', DB, 'keeps', '1')
        end
        if road.ends == 0 then
            road.ends = db.clock + patience(lease)
            db.has_gained = true
        end
        call('ZADD', KEEPING, text_of(road.ends), lease.key)
        local members = {}
        for _, member in ipairs(kept_members(lease, {claim})) do
            members[#members + 1] = 0
            members[#members + 1] = member
        end
        mark_dirty(claim.name)
        call('ZADD', KEPT, unpack(members))
        move_on_road(road, road.station, road.kept + 1)
        road.kept = road.kept + 1
        for place = 1, road.kept do -- it waits for something else now: it may make way
            mark_if_waited_for(lease.claims[road.order[place]].name)
        end
        stand(lease, to or choose_station(lease))
    end

    -- What was kept at that place of its road has been taken: it stands there again.
    local function fall(lease, place)
        mark_all_dirty(lease)
        local freed = keep_only(lease, place - 1)
        stand(lease, lease.road.order[place])
        free_kept(lease, freed)
    end

    -- There is enough of all, but too scattered of one: that is what it lacks.
    local function step_to_scattered(lease, number)
        local road = lease.road
        local place = place_of(road, number)
        if number == road.station then
            return nil
        elseif place <= road.kept then
            return function()
                fall(lease, place)
            end
        end
        return function()
            gain(lease, number)
        end
    end

    local function let_go(lease, is_forced)
        local road = lease.road
        mark_all_dirty(lease)
        keep_only(lease, 0)
        if road.station > 0 then
            move_on_road(road, road.station, 1)
        end
        road.ends = 0
        if is_forced then
            road.forced = road.forced + 1
        else
            road.forced, road.let_go = 0, min(road.let_go + 1, MOST_DOUBLINGS)
        end
        write_lease(lease)
        free_kept(lease, lease.claims) -- what its record does not say a broken-off script has left
        call('ZREM', KEEPING, lease.key)
    end

    local function step_aside(lease, why, name)
        local order, road = order_text(lease), lease.road
        call('ZADD', ASIDE, 0, name .. ' ' .. why .. ' ' .. order)
        for _, claim in ipairs(lease.claims) do
            (road.kept > 0 and mark_dirty or mark_if_waited_for)(claim.name)
        end
        local _, number = claim_on(lease, name)
        keep_only(lease, 0)
        road.station, road.ends, road.is_quota = -number, 0, why ~= 'b'
        write_lease(lease)
        if db.keeps and call('ZSCORE', KEEPING, lease.key) then
            free_kept(lease, lease.claims)
            call('ZREM', KEEPING, lease.key)
        end
        leave_other_queues(lease)
    end

    -- In a grace, and while others come back from aside as well, it cannot know what it will lack.
    local function enter_road(lease, why, name, is_back)
        lease.road = lease.road or new_road(lease)
        if not why then
            local is_fresh = is_back or db.grace ~= nil
            stand(lease, is_fresh and lease.road.order[1] or choose_station(lease), is_fresh)
            return nil
        end
        local member = name .. ' ' .. why .. ' ' .. order_text(lease)
        local _, number = claim_on(lease, name)
        lease.road.station, lease.road.is_quota = -number, why ~= 'b'
        call('ZADD', ASIDE, 0, member)
        write_lease(lease)
        leave_other_queues(lease)
        return member
    end

    -- It is in the queue no more, or never was.
    local function leave_road(lease)
        call('ZREM', ELSEWHERE, unpack(queue_members(lease)))
        if db.keeps then
            call('ZREM', KEPT, unpack(kept_members(lease, lease.claims)))
            call('ZREM', KEEPING, lease.key)
        end
    end

    -- ---- nested requests ----

    -- What the leases under which it runs hold: their units come back only after it.
    local function names_above(lease)
        local names = {}
        for _, id in ipairs(split(lease.above, ',')) do
            local above = load_lease(lease.session .. '/' .. id)
            if above and above.state == 'H' and above.uid == lease.uid then
                for _, claim in ipairs(above.claims) do
                    names[claim.name] = true
                end
            end
        end
        return names
    end

    -- Those before it, oldest first, for whom some of that is kept while they wait for what its
    -- ancestors hold.
    local function keepers_to_yield(lease, name, names)
        local keepers, seen, n = {}, {}, 0
        each_power(name .. ' ', function(power)
            local members = call('ZRANGEBYLEX', KEPT, '[' .. power .. ':',
                '(' .. power .. ':' .. order_text(lease), 'LIMIT', 0, max(MOST_WALKED - n, 0))
            n = n + #members
            for _, member in ipairs(members) do
                local key = match(member, '(%S+)$')
                local keeper = not seen[key] and load_lease(key)
                local claim = keeper and claim_on(keeper, name)
                if claim and keeps(keeper, claim) and keeper.road.forced < MOST_FORCED
                    and names[station_of(keeper).name] then
                    keepers[#keepers + 1] = {lease = keeper, count = claim.count}
                end
                seen[key] = true
            end
        end)
        table.sort(keepers, function(a, b)
            return order_text(a.lease) < order_text(b.lease)
        end)
        return keepers
    end

    -- Who has to let go of these claims, as far as it takes; nil if that is not enough for all of them.
    local function who_makes_way(lease, claims)
        if not lease.above or not db.keeps then
            return nil
        end
        local names, yielding, is_in = names_above(lease), {}, {}
        for _, claim in ipairs(claims) do
            local resource = resource_of(claim.name)
            local head = head_of(claim.name)
            if not resource.definition or is_blocked(resource, own_limit(claim)) or held_up_by(resource)
                or head and head < claim.name .. ' ' .. order_text(lease) then
                return nil
            end
            local n = n_available(resource, own_limit(claim)) - kept_before(lease, claim.name .. ' ')
            for _, keeper in ipairs(n < claim.count and keepers_to_yield(lease, claim.name, names) or {}) do
                if n < claim.count then
                    n = n + keeper.count
                    yielding[#yielding + 1] = not is_in[keeper.lease.key] and keeper.lease or nil
                    is_in[keeper.lease.key] = true
                end
            end
            if n < claim.count or not pick_units(claim, #lease.claims) then
                return nil
            end
        end
        return yielding
    end

    -- Whether there is enough of all that it wants now.
    local function make_way(lease, claims)
        local yielding = who_makes_way(lease, claims)
        for _, keeper in ipairs(yielding or {}) do
            let_go(keeper, true)
        end
        return yielding ~= nil
    end

    -- Nothing is kept for it: what is left of that, as a script was broken off, goes.
    local function forget_kept(lease, key)
        if lease then
            mark_all_dirty(lease)
            free_kept(lease, lease.claims)
        end
        if lease and lease.road and lease.road.ends > 0 then
            lease.road.ends = 0
            write_lease(lease)
        end
        call('ZREM', KEEPING, key)
    end

    -- At most so many whose patience is over let go.
    local function end_patience()
        for _, key in ipairs(call('ZRANGEBYSCORE', KEEPING, '-inf', db.clock, 'LIMIT', 0, MOST_PURGED)) do
            local lease = load_lease(key)
            local road = lease and lease.state == 'W' and lease.road
            if road and road.ends > db.clock then -- a script was broken off
                call('ZADD', KEEPING, text_of(road.ends), key)
            elseif road and road.kept > 0 then
                let_go(lease)
            else
                forget_kept(lease, key)
            end
        end
    end

    return {kept_before = kept_before, all_kept = all_kept, last_kept = last_kept,
        free_kept = free_kept, new_road = new_road, station_of = station_of,
        claim_on = claim_on, keeps = keeps, lost_place = lost_place, first_without = first_without,
        choose_station = choose_station, note_elsewhere = note_elsewhere,
        leave_other_queues = leave_other_queues, stand = stand, mark_all_dirty = mark_all_dirty,
        gain = gain, fall = fall, step_to_scattered = step_to_scattered, step_aside = step_aside, enter_road = enter_road,
        leave_road = leave_road, who_makes_way = who_makes_way, make_way = make_way,
        end_patience = end_patience}
end

function roads()
    made.roads = made.roads or make_roads()
    return made.roads
end

local function make_turns()
    local wake_user

    -- It stands in line, and should not: those behind it may go, and its user's others of which there is
    -- enough in his quota.
    local function step_aside(lease, why, name)
        if lease.road then
            return roads().step_aside(lease, why, name)
        end
        local order = order_text(lease)
        call('ZADD', ASIDE, 0, name .. ' ' .. why .. ' ' .. order)
        mark_if_waited_for(name)
        wake_user(resource_of(name), lease.uid)
        call('ZREM', QUEUE, name .. ' ' .. order) -- last: should this be broken off, it is done again
    end

    -- Back from aside: into line, or aside for another reason. Whether it stays as it is.
    local function step_back(member)
        local lease = load_lease(match(member, '(%S+)$'))
        local is_aside = lease and lease.state == 'W' and (not lease.road or lease.road.station < 0)
        if is_aside and enter_queues(lease, true) == member then
            return true
        elseif lease and lease.state == 'W' and lease.road and not is_aside then -- it was broken off as it came back
            roads().leave_other_queues(lease)
        end
        call('ZREM', ASIDE, member)
        return false
    end

    -- It was broken off before it had a record, and begins again with another ticket: its first place goes.
    -- That is among the last of its priority.
    local function leave_unbegun(lease)
        local most = floor(MOST_WORDS / #lease.claims)
        for _, claim in ipairs(lease.claims) do
            local function leave(set, why)
                local low, high = of_name(claim.name .. why .. format(' %05d', 50000 - lease.priority))
                for _, member in ipairs(call('ZREVRANGEBYLEX', set, high, low, 'LIMIT', 0, most)) do
                    if match(member, '(%S+)$') == lease.key then
                        call('ZREM', set, member)
                    end
                end
            end
            leave(QUEUE, '')
            leave(ASIDE, ' b')
            leave(ASIDE, ' ' .. quota_reason(lease, claim))
        end
    end

    -- The oldest of a user's requests that stand aside there and want no more than that; its count.
    local function oldest_aside(name, uid, most)
        local prefix, oldest, order, count = name .. ' u' .. uid .. ':', nil, nil, nil
        if most < 1 then
            return nil
        end
        local from = '[' .. prefix
        for _ = 1, MOST_WALKED do -- each is one of another count
            local member = call('ZRANGEBYLEX', ASIDE, from,
                format('(%s%07d', prefix, min(most, 9999998) + 1), 'LIMIT', 0, 1)[1]
            if not member then
                break
            end
            local its_count, its_order = match(member, ':(%d+) (.*)$')
            if not order or its_order < order then
                oldest, order, count = member, its_order, tonumber(its_count)
            end
            from = '(' .. prefix .. its_count .. '!'
        end
        return oldest, count, order
    end

    -- Those of a user's requests that fit now, in order; whether there may be more. Who goes to stand
    -- elsewhere takes nothing here.
    local function wake_fitting(resource, uid)
        local left = quota_left(resource, uid)
        for _ = 1, MOST_WALKED do
            local member, count, order = oldest_aside(resource.name, uid, left)
            if not member then
                return false
            elseif step_back(member) then -- for what is kept for older ones: no less is kept for those behind it
                left = min(left, count - 1)
            elseif call('ZSCORE', QUEUE, resource.name .. ' ' .. order) then
                left = left - count
            end
        end
        return true
    end

    local waking = {} -- "NAME UID": whose leaving a queue wakes others is woken himself

    -- The user has fewer units there than before, or something else does not count any more.
    function wake_user(resource, uid)
        local rules, what = resource.definition, resource.name .. ' ' .. uid
        if waking[what] or not rules or rules['max-units-per-user'] == 0 then
            return
        end
        waking[what] = true
        if wake_fitting(resource, uid) then
            mark_changed(resource.name)
        end
        waking[what] = nil
    end

    -- What it wants may have been paused or limited: it lets go of the rest.
    local function put_aside_blocked(member)
        local lease = load_lease(match(member, '(%S+)$'))
        if not lease then
            call('ZREM', ELSEWHERE, member)
        elseif lease.state == 'W' and not (lease.road and lease.road.station < 0) then
            local why, where = why_aside(lease)
            if why then
                step_aside(lease, why, where)
            end
        end
    end

    local n_walked = 0

    -- The members of a set behind the last one. The last one of them, if there may be more.
    local function walk(set, name, last, look)
        local low, high = of_name(name)
        local most = max(MOST_WALKED - n_walked, 0)
        local members = call('ZRANGEBYLEX', set, last and '(' .. last or low, high, 'LIMIT', 0, most)
        n_walked = n_walked + #members
        for _, member in ipairs(members) do
            look(member)
        end
        return #members == most and (members[most] or last or '') or nil
    end

    -- The same with the names of a template's instances.
    local function walk_instances(set, template, last, look)
        local prefix = string.sub(template, 1, -2)
        local name = last or prefix
        while n_walked < MOST_WALKED do
            n_walked = n_walked + 1
            name = next_name(set, name)
            if not name or string.sub(name, 1, #prefix) ~= prefix then
                return nil
            elseif definition_name(name) == template then
                look(name)
            end
        end
        return name
    end

    local function wake_aside(name, last)
        return walk(ASIDE, name, last, step_back) -- whatever they stand aside for, it may be over
    end

    local function hold_up(name, last)
        return walk(QUEUE, name, last, put_aside_blocked)
    end

    local function hold_up_elsewhere(name, last)
        return walk(ELSEWHERE, name, last, put_aside_blocked)
    end

    -- What a definition's name stands for has changed, by three walks: who stands in its queue, who
    -- wants it and stands elsewhere, and who stands aside.
    local walks = {
        {of = hold_up, of_template = function(name, last)
            return walk_instances(QUEUE, name, last, mark_changed)
        end},
        {of = hold_up_elsewhere, of_template = function(name, last)
            return walk_instances(ELSEWHERE, name, last, mark_changed)
        end},
        {of = wake_aside, of_template = function(name, last)
            return walk_instances(ASIDE, name, last, mark_changed)
        end},
    }

    -- Whether it is done. Else a cursor is left: the number of the walk, and the last one that it has
    -- looked at.
    local function put_change_in_force(name)
        local number, last = match(call('HGET', DB, WALK .. name) or '', '^(%d)(.*)$')
        for i = tonumber(number or 1), #walks do
            local work = is_template(name) and walks[i].of_template or walks[i].of
            last = work(name, last ~= '' and last or nil)
            if last then
                call('HSET', DB, WALK .. name, i .. last)
                return false
            end
        end
        call('HDEL', DB, WALK .. name)
        walked[name] = false
        return true
    end

    local function tell_granted(lease)
        emit(lease.session, format('granted %s %.0f %s', lease.id, lease.ticket, claims_text(lease)))
    end

    -- Its units are chosen.
    local function grant_waiter(lease)
        if #lease.claims > 1 then
            roads().mark_all_dirty(lease)
        end
        give_tokens(lease)
        hold_units(lease)
        tell_granted(lease)
        leave_queues(lease)
    end

    -- A script was broken off before the lease had its units: it waits again.
    local function take_grant_back(lease)
        for _, claim in ipairs(lease.claims) do
            local held, users = {}, {}
            for i, member in ipairs(held_members(lease, claim)) do
                if call('ZSCORE', HELD, member) then -- else the same user's other lease may have it by now
                    held[#held + 1], users[#users + 1] = member, user_members(lease, claim)[i]
                end
            end
            remove_all(USERS, users)
            remove_all(HELD, held)
            resource_of(claim.name).free = nil
            claim.units, claim.token = {}, 0
        end
        lease.state = 'W'
        write_lease(lease)
    end

    -- ---- one step of one lease ----

    -- Who is at the head of a queue, or nil if that was something which a broken-off script has left.
    local function waiter_at(name, member)
        local lease = load_lease(match(member, '(%S+)$'))
        if not lease or member ~= name .. ' ' .. order_text(lease) then -- broken off as it began
            call('ZREM', QUEUE, member)
            return nil
        elseif lease.state == 'H' and has_its_units(lease) then -- a script was broken off
            tell_granted(lease)
            leave_queues(lease)
            return nil
        elseif lease.state == 'H' then
            take_grant_back(lease)
        end
        if #lease.claims > 1 then
            local _, number = roads().claim_on(lease, name)
            if not lease.road then -- an older berthd has made it stand in every queue
                lease.road = roads().new_road(lease)
                lease.road.station = number
            elseif lease.road.station ~= number then
                roads().leave_other_queues(lease)
                return nil
            end
        end
        return lease
    end

    local LATER = {} -- instead of a step: it is known when a walk is over

    -- What the head of a queue can do, and what that needs; nil: nothing.
    local function step_of_waiter(lease)
        local why, where = why_aside(lease)
        if why then
            return function()
                step_aside(lease, why, where)
            end
        end
        local road = lease.road
        if road and road.is_fresh then
            return function()
                roads().stand(lease, roads().choose_station(lease))
            end
        end
        local claim = road and roads().station_of(lease) or lease.claims[1]
        if not has(lease, claim, true) then
            return roads().who_makes_way(lease, {claim}) and function()
                roads().make_way(lease, {claim})
            end
        end
        local lost = road and roads().lost_place(lease)
        if lost == 0 then
            return LATER
        elseif lost then
            return function()
                roads().fall(lease, lost)
            end
        elseif road and roads().first_without(lease, road.kept + 1, #road.order) then
            return function()
                roads().gain(lease)
            end
        end
        local is_chosen, scattered = choose_units(lease)
        if not is_chosen then
            return road and roads().step_to_scattered(lease, scattered) or nil
        end
        return function()
            grant_waiter(lease)
        end
    end

    -- The last one for whom some of it is kept, if it is there no more.
    local function step_of_keeper(name)
        local member = db.keeps and roads().last_kept(name)
        local lease = member and load_lease(match(member, '(%S+)$'))
        local claim = lease and roads().claim_on(lease, name)
        if not member then
            return nil
        elseif not claim or not roads().keeps(lease, claim) then -- a script was broken off
            return function()
                roads().free_kept(lease, {claim})
                call('ZREM', KEPT, member)
            end, ''
        elseif not has(lease, claim) then
            local lost = roads().lost_place(lease)
            return lost == 0 and LATER or function()
                roads().fall(lease, lost)
            end, order_text(lease)
        end
    end

    local n_served, n_steps = 0, 0

    -- The next step of those who stand or keep there: {take, order, name, at}; nil: there is none.
    local function next_step(name)
        local change = held_up_by(resource_of(name))
        if change then
            if n_walked < MOST_WALKED then
                mark_dirty(change .. CHANGED) -- first
            end
            return {is_for_later = true}
        end
        local step, member = nil, head_of(name)
        while member do
            if n_served >= MOST_SERVED or n_work >= MOST_WORK then
                return {is_for_later = true}
            end
            local lease = waiter_at(name, member)
            local take = lease and step_of_waiter(lease)
            if lease then
                step = take and {take = take, order = order_text(lease), name = name, at = n_steps,
                    is_local = not lease.road and not lease.above} or nil
                break
            end
            n_served = n_served + 1
            member = head_of(name)
        end
        local take, order = step_of_keeper(name)
        if take == LATER or step and step.take == LATER then
            return {is_for_later = true}
        elseif take and (not step or order < step.order) then
            step = {take = take, order = order, name = name, at = n_steps}
        end
        return step
    end

    -- Whether that is done.
    local function put_in_force(name)
        local changed = match(name, '^(%S+)' .. CHANGED)
        if n_walked >= MOST_WALKED then
            return false
        end
        n_walked = n_walked + 1
        if not put_change_in_force(changed) then
            return false
        end
        mark_dirty(changed)
        return true
    end

    local steps = {} -- by name: what can be done there

    local function look_again(name)
        if not dirty[name] then
            dirty[name] = true
            dirty[#dirty + 1] = name
        end
    end

    -- All that became dirty. What is done with is in `done`, but for what somebody can do.
    local function look_at_dirty(done)
        while #dirty > 0 do
            local name = table.remove(dirty, 1)
            dirty[name] = nil -- it may become so again
            if string.find(name, CHANGED, 1, true) then
                if put_in_force(name) and not dirty[name] then
                    call('SREM', DIRTY, name)
                end
            else
                steps[name] = next_step(name)
                done[name] = true
            end
        end
    end

    local function oldest_step()
        local oldest
        for _, step in pairs(steps) do
            if not step.is_for_later and (not oldest or step.order < oldest.order) then
                oldest = step
            end
        end
        return oldest
    end

    -- The oldest who can do something does it, then all whom that concerns are asked again: so what
    -- comes of it does not depend on which queue is looked at first.
    local function serve_dirty()
        local done = {}
        for _, name in ipairs(call('SRANDMEMBER', DIRTY, MOST_SERVED)) do
            look_again(name)
        end
        look_at_dirty(done)
        local step = oldest_step()
        while step and n_served < MOST_SERVED do
            steps[step.name] = nil
            if step.is_local or step.at == n_steps then
                n_served, n_steps = n_served + 1, n_steps + 1
                step.take()
            end
            look_again(step.name)
            look_at_dirty(done)
            step = oldest_step()
        end
        local names = {}
        for name in pairs(done) do
            if not steps[name] then
                names[#names + 1] = name
            end
        end
        if #names > 0 then
            call('SREM', DIRTY, unpack(names))
        end
    end

    return {leave_unbegun = leave_unbegun, wake_user = wake_user, serve_dirty = serve_dirty}
end

function turns()
    made.turns = made.turns or make_turns()
    return made.turns
end

-- ---- what time brings ----

-- The first of a set, and its score; math.huge if it is empty.
local function first_of(set)
    local found = call('ZRANGE', set, 0, 0, 'WITHSCORES')
    return found[1], tonumber(found[2] or math.huge)
end

local function make_time()
    local MOST_SWEPT = 30 -- in one call, of what may have been left behind
    local function now_run()
        return match(call('INFO', 'server'), 'run_id:(%w+)') or ''
    end

    -- The server has another replication id. It is the same one, and has all that it had, if it was not
    -- started in between, nor a replica: then it would know the id of its master. (A master takes a new
    -- id when its first replica comes, and an hour after the last one has gone.)
    local function goes_on()
        if db.run ~= now_run() or not match(db.info, 'master_replid2:0+%s') then
            return false
        end
        db.replid = db.now_replid
        call('HSET', DB, 'replid', db.replid)
        return true
    end

    -- The server is not the one that wrote this, or the data is new: the daemons put back what they
    -- have, and nothing is granted until they have had the time.
    local function begin_grace()
        raise_number(wall * 1000)
        db.epoch = db.epoch + 1
        db.grace = db.clock + db.ttl + db.lag
        db.sequence = max(db.sequence, SEQUENCE_SAID) + SEQUENCE_MARGIN
        call('HSET', DB, 'grace', text_of(db.grace), 'epoch', text_of(db.epoch),
            'replid', db.now_replid, 'run', now_run(), 'before', call('HGET', DB, 'number'), 'sequence', text_of(db.sequence))
        call('PUBLISH', PREFIX .. 'all', 'hello ' .. call('ZCARD', SESSIONS))
    end

    local function end_rests()
        for _, member in ipairs(call('ZRANGEBYSCORE', REST, '-inf', db.clock, 'LIMIT', 0, MOST_PURGED)) do
            mark_if_waited_for(match(member, '^(%S+)'))
            call('ZREM', HELD, member .. ' ' .. RESTING)
            call('ZREM', REST, member)
            local resource = resource_of(match(member, '^(%S+)'))
            if resource.is_pool then
                pools().forget_idle_instance(resource)
            end
        end
    end

    local function purge_leases(session, most)
        local keys = call('ZRANGEBYSCORE', OWNED, session.sid, session.sid, 'LIMIT', 0, most)
        for _, key in ipairs(keys) do
            local lease = load_lease(key)
            if n_work >= MOST_WORK then
                return most -- and perhaps more
            elseif lease then
                drop_lease(lease)
            else
                forget_unbegun(key)
            end
        end
        return #keys
    end

    local function forget_session(name)
        local session = session_of(name)
        if session then
            call('ZREMRANGEBYSCORE', EVENTS, session.sid, session.sid)
        end
        call('HDEL', SESSION, name, 'n:' .. name)
        call('ZREM', SESSIONS, name)
        sessions[name] = false
    end

    local function purge_sessions()
        local left = MOST_PURGED
        while left > 0 do
            local name = call('ZRANGEBYSCORE', SESSIONS, '-inf', db.clock, 'LIMIT', 0, 1)[1]
            if not name then
                return
            end
            local session = session_of(name)
            local n = session and purge_leases(session, left) or 0
            if n < left then
                forget_session(name)
            end
            left = left - n - 1
        end
    end

    -- When the next one's patience is over.
    local function end_patience()
        local keeper, ends = first_of(KEEPING)
        if not keeper then
            call('HDEL', DB, 'keeps')
            db.keeps = false
        elseif ends <= db.clock then
            roads().end_patience()
            keeper, ends = first_of(KEEPING)
        end
        return ends
    end

    local function is_over(member) -- of a lease
        return call('HEXISTS', LEASES, match(member, '(%S+)$')) == 0
    end

    local function is_out_of_service(member)
        local name, item = match(member, '^(%S+) (%S+)$')
        local resource = resource_of(name)
        return not (resource.is_pool and pools().is_in_service(resource, item))
    end

    local sweeps = {
        {set = IDENTITIES, is_left = is_over},
        {set = ASIDE, is_left = is_over},
        {set = ELSEWHERE, is_left = is_over},
        {set = FREED, is_left = is_out_of_service, is_by_score = true},
    }

    -- Its members behind the last one, and the last one of these.
    local function page_of(row, last)
        if not row.is_by_score then
            local page = call('ZRANGEBYLEX', row.set, last == '' and '-' or '(' .. last, '+',
                'LIMIT', 0, MOST_SWEPT)
            return page, page[#page]
        end
        local page, found = {}, call('ZRANGEBYSCORE', row.set, last == '' and '-inf' or '(' .. last,
            '+inf', 'WITHSCORES', 'LIMIT', 0, MOST_SWEPT)
        for i = 1, #found, 2 do
            page[#page + 1] = found[i]
        end
        return page, found[#found]
    end

    -- Some more of it.
    local function sweep()
        local number, last = match(db.sweep, '^(%d)(.*)$')
        local page, its_last = page_of(sweeps[tonumber(number)], last)
        for _, member in ipairs(page) do
            if sweeps[tonumber(number)].is_left(member) then
                call('ZREM', sweeps[tonumber(number)].set, member)
            end
        end
        if #page == MOST_SWEPT then
            db.sweep = number .. its_last
        else
            db.sweep = sweeps[number + 1] and text_of(number + 1)
        end
        if db.sweep then
            call('HSET', DB, 'sweep', db.sweep)
        else
            call('HDEL', DB, 'sweep')
        end
    end

    -- The queues move again: what may is dirty. Who has not said hello in this grace has expired: it
    -- lasts longer than what a session is promised.
    local function end_grace()
        call('HDEL', DB, 'grace')
        db.grace = nil
    end

    return {goes_on = goes_on, begin_grace = begin_grace, end_grace = end_grace, purge_sessions = purge_sessions,
        end_rests = end_rests, end_patience = end_patience, sweep = sweep, next_name = next_name}
end

local function time()
    made.time = made.time or make_time()
    return made.time
end

-- The end of every call: all queues that may move.
local function settle()
    if db.grace or (#dirty == 0 and call('SCARD', DIRTY) == 0) then
        return
    end
    turns().serve_dirty()
end

local function is_ours(member) -- a place in a queue
    return member and match(member, ' ([^ /]+)/[^ ]*$') == ME
end

local MOST_DUE = 86400 * 1000 -- ms: a patience may have become longer than a daemon believes

-- ms until a call is needed although nobody wants anything; 0: at once, as this one has left work;
-- -1: none is, or another daemon sees to it. That is the one of the first waiter: all others would
-- only find that it is done.
local function due()
    if not db.grace and db.has_left then
        return 0
    end
    local first = call('ZRANGE', QUEUE, 0, 0)[1] or call('ZRANGE', ASIDE, 0, 0)[1]
    if not first then
        return -1
    elseif db.grace then
        return is_ours(first) and max(db.grace - db.clock, 1) or -1
    elseif call('SCARD', DIRTY) > 0 then
        return 0
    end
    local _, at = first_of(SESSIONS)
    local resting, rest_at = first_of(REST)
    if rest_at < at then
        at, first = rest_at, head_of(match(resting, '^(%S+)')) or first
    end
    if not is_ours(first) then
        at = math.huge
    end
    if db.keeps then -- whose call it was that something is kept for it is told as well: it may not know
        local keeper, ends = first_of(KEEPING)
        if keeper and (db.has_gained or match(keeper, '^[^/]*') == ME) then
            at = min(at, ends)
        end
    end
    return at < math.huge and min(max(floor(at - db.clock) + 1, 1), MOST_DUE) or -1
end

-- ---- the frame of a call ----

local function answer(word, ...)
    return {word, due(), db.grace and max(db.grace - db.clock, 1) or 0, text_of(db.sequence), ...}
end

-- May the caller's version use these data, and is this the server that has them?
local function check_data()
    if not db.is_master then
        return redis.error_reply('READONLY it is a replica, not the master')
    elseif db.layout and (db.layout < FROM_LAYOUT or db.layout > TO_LAYOUT) then
        return {'layout', text_of(db.layout)}
    end
end

-- The caller has had an answer, or an event, that these data know nothing of: they are older. What a
-- session was answered stands in its record, as the calls of others raise the sequence as well. (Who
-- has not said hello in this grace lists everything anyway; an event of an earlier incarnation may
-- be late.)
local function is_older_than_caller()
    local session = session_of(ME)
    if not session or session.epoch ~= db.epoch then
        return SEQUENCE_SAID > db.sequence
    end
    return SEQUENCE_SAID > session.sequence
        or (EVENT_SAID > session.n_events and session.incarnation <= INCARNATION)
end

-- An expired session is purged by now; if not wholly, it is over all the same. (In a grace none is:
-- nothing of it has been given to anybody.)
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

-- Time passes: before anything is done for the caller.
local function catch_up()
    advance_clock()
    if db.replid ~= db.now_replid and not time().goes_on() or is_older_than_caller() then
        time().begin_grace()
    elseif db.grace and db.clock >= db.grace then
        time().end_grace()
    end
    db.first_expiry = math.huge
    if not db.grace then
        local _, expiry = first_of(SESSIONS)
        if expiry <= db.clock then
            time().purge_sessions()
            _, expiry = first_of(SESSIONS)
        end
        local _, rest = first_of(REST)
        if rest <= db.clock then
            time().end_rests()
            _, rest = first_of(REST)
        end
        if db.sweep then
            time().sweep()
        end
        local patience = db.keeps and time().end_patience() or math.huge
        db.first_expiry, db.has_left = expiry, min(expiry, rest, patience) <= db.clock
    end
end

-- For everything but `hello begin`. What is not nil is the answer.
local function enter()
    read_database()
    local wrong = check_data()
    if wrong then
        return wrong
    elseif not db.layout then
        return {'hello', 'missing'}
    end
    catch_up()
    wrong = check_me()
    if wrong then
        settle()
        return wrong
    end
    local session = session_of(ME)
    session.sequence = db.sequence
    write_session(session)
end
