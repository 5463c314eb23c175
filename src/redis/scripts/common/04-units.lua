-- ---- units ----

-- A unit is one word in sets that are ordered by bytes: an item, or a slot in 7 digits. For adjacent slots of
-- a lease, each aligned block is one word: a mark that no item has, and the first slot. So taking n slots
-- costs few writes, and counting them is counting words.
local BLOCKS = {{mark = '=', size = 1024}, {mark = '<', size = 32}, {mark = '', size = 1}}

-- The first word of a run of slots, and how many slots it stands for.
local function first_block(first, last)
    for _, block in ipairs(BLOCKS) do
        if first % block.size == 0 and first + block.size - 1 <= last then
            return format('%s%07d', block.mark, first), block.size
        end
    end
end

-- The units of a claim are items, or slots as "7" and "0-499". nil: this is no slot.
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

local function of_name(name) -- the range of a name's members in a set ordered by bytes
    return '[' .. name .. ' ', '(' .. name .. '!'
end

local function n_units_in(set, name) -- blocks count by their size
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

local rooms = {} -- what is noted of free units: the functions are below

-- What is noted takes the place of what was noted before.
function rooms.weigh(resource, weight)
    noted.weight = noted.weight + weight - (resource.weight or 0)
    resource.weight = weight
end

-- For pools, and for reserved units.
function make.pools()
    local pools = {}
    local MAX_FREED = 20000 -- items of pools whose last use is remembered
    function pools.items_of(resource)
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
            append(items, change.added or {})
            resource.items = items
        end
        return resource.items
    end

    function pools.is_in_service(resource, item)
        if not resource.in_service then
            resource.in_service = {}
            for place, other in ipairs(pools.items_of(resource)) do
                resource.in_service[other] = place
            end
        end
        return resource.in_service[item]
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

    function pools.n_reserved_and_free(resource, limit) -- of slots
        local n = 0
        for slot in pairs(resource.reserved) do
            local number = tonumber(slot) -- nil: an item, reserved when this was a pool
            if number and number < limit and not is_slot_taken(resource.name, number) then
                n = n + 1
            end
        end
        return n
    end

    -- Orders items by how long they have been free, longest first. Items that were never used come before
    -- all, in the file's order.
    local function in_order_of_use(resource, items)
        local ordered, numbers, item_of, members = {}, {}, {}, {}
        for i, item in ipairs(items) do
            members[i] = resource.name .. ' ' .. item
        end
        local scores = batch.ask('ZMSCORE', FREED, members)
        for i, item in ipairs(items) do
            local number = tonumber(scores[members[i]] or nil)
            if number then
                numbers[#numbers + 1] = number
                item_of[number] = item
            else
                ordered[#ordered + 1] = item
            end
        end
        table.sort(numbers)
        for _, number in ipairs(numbers) do
            ordered[#ordered + 1] = item_of[number]
        end
        return ordered
    end

    -- ---- free items: one object for each way to select ----
    --
    -- `n`; `peek(count)`: the next ones, in the order in which they are given; `take(item)`: false if it is not
    -- the next one, and then the object is no longer good; `give(item)`: it is free again. None looks at all items.

    -- The first in the file's order: by blocks of places, and the first block that may have one.
    local function first_of_file(resource, items)
        local BLOCK = 64
        local all, place_of = pools.items_of(resource), resource.in_service
        local self, is_free, n_in, lowest = {n = 0}, {}, {}, 0
        local n_blocks = floor(#all / BLOCK)

        function self.give(item)
            local place = place_of[item]
            local block = floor(place / BLOCK)
            is_free[place], n_in[block] = true, (n_in[block] or 0) + 1
            self.n, lowest = self.n + 1, min(lowest, block)
        end

        function self.take(item)
            local place = place_of[item]
            if not is_free[place] then
                return false
            end
            local block = floor(place / BLOCK)
            is_free[place], n_in[block] = nil, n_in[block] - 1
            self.n = self.n - 1
            return true
        end

        function self.peek(count)
            local picked = {}
            while lowest < n_blocks and (n_in[lowest] or 0) == 0 do
                lowest = lowest + 1
            end
            for place = lowest * BLOCK, #all do
                if #picked == count then
                    break
                elseif is_free[place] then
                    picked[#picked + 1] = all[place]
                end
            end
            return picked
        end

        for _, item in ipairs(items) do
            self.give(item)
        end
        return self
    end

    -- In the order of a list; what is given back comes last.
    local function in_a_row(list)
        local self, first, last = {n = #list}, 1, #list

        function self.give(item)
            last = last + 1
            list[last], self.n = item, self.n + 1
        end

        function self.take(item)
            if list[first] ~= item then
                return false
            end
            list[first] = nil
            first, self.n = first + 1, self.n - 1
            return true
        end

        function self.peek(count)
            return {unpack(list, first, min(first + count - 1, last))}
        end
        return self
    end

    -- Any: those at the end of a list are shuffled when they are needed.
    local function any_free(_, list)
        local self = {n = #list}

        function self.give(item)
            self.n = self.n + 1
            list[self.n] = item
        end

        function self.take(item)
            if list[self.n] ~= item then
                return false
            end
            list[self.n] = nil
            self.n = self.n - 1
            return true
        end

        function self.peek(count)
            local picked = {}
            math.randomseed(db.micros)
            for i = self.n, max(self.n - count + 1, 1), -1 do
                local k = math.random(i)
                list[i], list[k] = list[k], list[i]
                picked[#picked + 1] = list[i]
            end
            return picked
        end
        return self
    end

    -- Those that have been free for longest.
    local function longest_free(resource, items)
        return in_a_row(in_order_of_use(resource, items))
    end

    -- For a call that remembers nothing, nor may the next one: quickly made, and good until one is given back.
    local function for_one_call(_, items)
        local self = in_a_row(items)
        self.is_for_one_call = true
        return self
    end

    local selections = {first = first_of_file, lru = longest_free, random = any_free}

    -- Each item is its own limit: items that are held though removed keep no others back.
    local function free_items(resource)
        if not resource.free then
            local taken, free, items = {}, {}, pools.items_of(resource)
            for _, member in ipairs(call('ZRANGEBYLEX', HELD, of_name(resource.name))) do
                taken[match(member, '^%S+ (%S+) ')] = true
            end
            for _, item in ipairs(items) do
                if not taken[item] and not resource.reserved[item] then
                    free[#free + 1] = item
                end
            end
            local select = selections[resource.definition.select] or first_of_file
            if select == first_of_file and not db.last_memory then
                select = for_one_call
            elseif select == first_of_file then
                pools.is_in_service(resource, '') -- it looks there
            end
            resource.free = select(resource, free)
            n_work = n_work + #items / 2 -- few commands
            rooms.weigh(resource, #items)
        end
        return resource.free
    end

    function pools.n_free(resource)
        return free_items(resource).n
    end

    function pools.pick_items(resource, count)
        local free = free_items(resource)
        return count <= free.n and free.peek(count) or nil
    end

    function pools.note_taken(resource, items)
        for _, item in ipairs(items) do
            if not resource.free or not resource.free.take(item) then
                resource.free = nil -- not the ones that were picked
                return
            end
        end
    end

    local function note_free(resource, item)
        if resource.free and resource.free.is_for_one_call then
            resource.free = nil
        elseif resource.free and pools.is_in_service(resource, item) and not resource.reserved[item] then
            resource.free.give(item)
        end
    end

    -- What has rested is free now. It was given back in another order, perhaps.
    function pools.note_rested(resource, item)
        if resource.free and resource.definition.select == 'lru' then
            resource.free = nil
        end
        note_free(resource, item)
    end

    -- The items that were never used come before all others.
    local function forget_some_uses()
        local N = 1000
        call('ZREM', FREED, unpack(call('ZRANGE', FREED, 0, N - 1)))
        for _, resource in pairs(resources) do
            resource.free = nil
        end
    end

    -- They are free from now on, or once they have rested: they come behind all others.
    local function note_use(resource, items)
        local words = {}
        if #items == 0 or not resource.definition or resource.definition.select ~= 'lru' then
            return
        end
        local number = call('HINCRBY', DB, 'freed', #items) - #items
        for i, item in ipairs(items) do
            if pools.is_in_service(resource, item) then
                words[#words + 1] = number + i
                words[#words + 1] = resource.name .. ' ' .. item
            end
        end
        call_with_all('ZADD', FREED, words)
        if call('ZCARD', FREED) > MAX_FREED then -- they count as never used, and so come first again
            forget_some_uses()
        end
    end

    function pools.note_freed(resource, items, is_resting)
        for _, item in ipairs(is_resting and {} or items) do
            note_free(resource, item)
        end
        note_use(resource, items)
    end

    -- The items that only a holder, or a rest, keeps from being granted.
    function pools.grantable(resource)
        local items = {}
        for _, item in ipairs(resource.is_pool and pools.items_of(resource) or {}) do
            items[item] = not resource.reserved[item]
        end
        return items
    end

    -- Items that are grantable now, and were not before.
    function pools.note_grantable(resource, before)
        local is_now, items = pools.grantable(resource), {}
        for _, item in ipairs(resource.is_pool and pools.items_of(resource) or {}) do
            items[#items + 1] = is_now[item] and not before[item] and item or nil
        end
        note_use(resource, items)
    end

    -- An idle instance leaves nothing behind.
    function pools.forget_idle_instance(resource)
        local members = {}
        resource.free = nil
        for i, item in ipairs(pools.items_of(resource)) do
            members[i] = resource.name .. ' ' .. item
        end
        call_with_all('ZREM', FREED, members)
    end

    return pools
end

-- Somebody has written to HELD, whatever that was.
function rooms.forget(resource)
    resource.free, resource.room = nil, nil
end

local function items_of(resource)
    return made.pools.items_of(resource)
end

-- The limit of the caller's file, if that has the definition that governs the name.
local function own_limit(claim)
    return claim.definition == resource_of(claim.name).definition_name and claim.limit or nil
end

-- The smaller of the fleet's limit and that of the caller's file; an operator's overrules both.
local function limit_of(resource, askers)
    if resource.is_pool then
        return #items_of(resource)
    elseif resource.limit then
        return resource.limit
    end
    return min(resource.definition.limit, askers or resource.definition.limit)
end

-- The largest count that one request can ever get. While the file's limit is 0, the
-- name is closed: requests of any count wait until it opens.
local function max_of(resource, askers)
    if resource.is_pool then
        return max(#items_of(resource), #resource.definition.items)
    elseif resource.definition.limit == 0 or askers == 0 then
        return math.huge
    end
    return max(limit_of(resource, askers), min(resource.definition.limit, askers or math.huge))
end

local function is_blocked(resource, askers)
    return resource.paused or limit_of(resource, askers) == 0
end

function rooms.n_free(resource, askers)
    if db.alls and rooms.is_all_held(resource) then
        return 0
    end
    if resource.is_pool then
        return made.pools.n_free(resource)
    end
    local limit = limit_of(resource, askers)
    local room = rooms.of(resource)
    local n = limit - (room and room.n_taken() or n_taken(resource.name))
    if resource.has_reserved then
        n = n - made.pools.n_reserved_and_free(resource, limit)
    end
    return n
end

-- Free units, but no more than the rate lets go now.
local function n_available(resource, askers)
    local n = rooms.n_free(resource, askers)
    return resource.is_rated and min(n, made.rates.n_now(resource)) or n
end
