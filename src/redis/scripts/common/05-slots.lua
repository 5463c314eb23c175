-- ---- free slots ----

-- Of a word. nil: it is an item.
function rooms.first_slot(word)
    return tonumber(match(word, '^[<=]?(%d+)$'))
end

local pick_slots

do -- this block keeps its helpers out of the 200 locals that a script may have
    local MAX_ROOM = 448 -- for a lease's slots on a line; a range takes as much as two single slots
    -- Ranges, in one search: enough for the lowest slots of 2^20. A search halves the partly free ranges: at
    -- most 511 of more than 2048 slots, and, for each of the 11 sizes below, one for each word that there is
    -- room for, two for the run that is too much, and one at the limit: 511 + 11 * 451.
    local MAX_LOOKED = 5500
    local LOOKED_FOR_RESERVED = 20 -- more for each reserved slot, one for each size: reserved slots take no room
    local MAX_COARSE = 2048 -- this many ranges of one size, and all larger ones, fit into a search

    -- ---- rooms: slots of which it is known which are free ----
    --
    -- All slots below `top` are taken, but for the holes; from there on, none is. It stays true from call to call
    -- while the library remembers; else a search finds free slots.
    local MAX_HOLES, MAX_READ = 2000, 1000 -- the latter to find them: members of HELD

    local function put_hole(holes, slot) -- a heap: the lowest is the first
        local i = #holes + 1
        while i > 1 and holes[floor(i / 2)] > slot do
            holes[i] = holes[floor(i / 2)]
            i = floor(i / 2)
        end
        holes[i] = slot
    end

    local function take_lowest_hole(holes)
        local n, slot = #holes - 1, holes[#holes]
        holes[n + 1] = nil
        local i, child = 1, 2
        while child <= n do
            if child < n and holes[child + 1] < holes[child] then
                child = child + 1
            end
            if holes[child] >= slot then
                break
            end
            holes[i] = holes[child]
            i, child = child, 2 * child
        end
        if n > 0 then
            holes[i] = slot
        end
    end

    local function new_room(top, holes)
        local self = {}

        function self.n_taken()
            return top - #holes
        end

        -- The lowest free slots, as units; nil: that takes a search.
        function self.peek(count, limit)
            local slot = holes[1] or top
            if count == 1 then
                return slot < limit and {text_of(slot)} or nil
            end
            return slot == top and top + count <= limit and {format('%d-%d', top, top + count - 1)} or nil
        end

        -- False: this room is not good any more.
        function self.take(first, last)
            if first == top then
                top = last + 1
            elseif first == last and first == holes[1] then
                take_lowest_hole(holes)
            else
                return false
            end
            return true
        end

        function self.give(first, last)
            if last == top - 1 then
                top = first
            elseif #holes + last - first < MAX_HOLES then
                for slot = first, last do
                    put_hole(holes, slot)
                end
            else
                return false
            end
            return true
        end
        return self
    end

    -- Or false: there are too many holes, or a host whose file has a pool of that name has put back items.
    local function read_room(resource)
        local runs, top, holes = {}, 0, {}
        for i, member in ipairs(call('ZRANGEBYLEX', HELD, of_name(resource.name))) do
            local word = match(member, '^%S+ (%S+)')
            local first = rooms.first_slot(word)
            if not first then
                return false
            end
            runs[i] = {first = first, behind = first + size_of(resource, word)}
        end
        table.sort(runs, function(a, b)
            return a.first < b.first
        end)
        for _, run in ipairs(runs) do
            if #holes + run.first - top > MAX_HOLES then
                return false
            end
            for slot = top, run.first - 1 do
                holes[#holes + 1] = slot -- in order: a heap
            end
            top = max(top, run.behind)
        end
        rooms.weigh(resource, #holes)
        return new_room(top, holes)
    end

    -- Mostly, the lowest are taken and no others: that is seen at once.
    local function find_room(resource)
        local name = resource.name
        local n = call('ZLEXCOUNT', HELD, of_name(name))
        if n == 0 then
            return new_room(0, {})
        elseif call('ZLEXCOUNT', HELD, '[' .. name .. ' <', '(' .. name .. ' ~') == 0
            and call('ZLEXCOUNT', HELD, '[' .. name .. ' ', format('(%s %07d', name, n)) == n then
            return new_room(n, {})
        end
        resource.was_cold = not db.last_memory
        return not resource.was_cold and n <= MAX_READ and read_room(resource)
    end

    -- Or false: it is not known.
    function rooms.of(resource)
        local room = resource.room
        if room == nil or not room and resource.was_cold and db.last_memory then
            room = find_room(resource)
            resource.room = room
        end
        return room
    end

    -- How many slots of that range are taken, by blocks that lie inside it.
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

    -- Calls `take` with runs of free slots, from the lowest, until it returns true. Halves aligned ranges:
    -- one that is all taken or all free is looked at once, and no block straddles two. With a `grain`, a
    -- power of two, finds only whole ranges of that size. Returns whether it ended before the last range.
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

    -- Calls `take` with what is left of each run that find_free() finds.
    local function find_unreserved(resource, limit, grain, take)
        if not resource.has_reserved then
            return find_free(resource.name, limit, grain, MAX_LOOKED, take)
        end
        local reserved, next_reserved = reserved_slots(resource), 1
        local most_looked = MAX_LOOKED + LOOKED_FOR_RESERVED * #reserved
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

    -- The lowest free slots, in runs {FIRST, LAST}; nil if there are too few, or they are too scattered; and
    -- whether there may be more where it has not looked.
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

    -- The lowest slots; where these lie too scattered for a line, the lowest of longer runs.
    function pick_slots(resource, count, askers, n_claims)
        local limit = limit_of(resource, askers)
        local known = not resource.has_reserved and rooms.of(resource)
        local units = known and known.peek(count, limit)
        if units then
            return units
        end
        local room = 2 * floor(MAX_ROOM / 2 / n_claims)
        local below = limit -- of that one, the lowest slots
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
                while grain * MAX_COARSE < limit do
                    grain = grain * 2
                end
                runs = collect_slots(resource, count, limit, grain, room)
            end
        end
        units = runs
        for i, run in ipairs(runs or {}) do
            units[i] = run[1] == run[2] and text_of(run[1]) or format('%d-%d', run[1], run[2])
        end
        return units
    end
end

local function pick_units(claim, n_claims)
    local resource = resource_of(claim.name)
    if resource.is_pool then
        return made.pools.pick_items(resource, claim.count)
    end
    return pick_slots(resource, claim.count, own_limit(claim), n_claims)
end

-- ---- what becomes of units is noted ----

function rooms.note_taken(resource, units)
    if resource.is_pool then
        made.pools.note_taken(resource, units)
    end
    for _, unit in ipairs(resource.room and units or {}) do
        local first, last = run_of(unit)
        if resource.room and not (first and resource.room.take(first, last)) then
            resource.room = nil
        end
    end
end

function rooms.note_rested(resource, word)
    if resource.is_pool then
        made.pools.note_rested(resource, word)
    elseif resource.room then
        local first = rooms.first_slot(word)
        if not first or not resource.room.give(first, first + size_of(resource, word) - 1) then
            resource.room = nil
        end
    end
end

-- Slots alone. All of them, or it is not known which.
function rooms.note_freed(resource, units, are_all)
    for _, unit in ipairs(resource.room and units or {}) do
        local first, last = run_of(unit)
        if resource.room and not (are_all and first and resource.room.give(first, last)) then
            resource.room = nil
        end
    end
end
