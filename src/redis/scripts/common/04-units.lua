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

local function is_slot_taken(name, slot)
    for _, block in ipairs(BLOCKS) do
        local word = format('%s%07d', block.mark, slot - slot % block.size)
        if call('ZLEXCOUNT', HELD, of_name(name .. ' ' .. word)) > 0 then
            return true
        end
    end
    return false
end

-- For pools, and for reserved units.
function make.pools()
    local MAX_FREED = 20000 -- items of pools whose last use is remembered
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
        local ordered, numbers, item_of = {}, {}, {}
        for i = 1, #items, MAX_WORDS do
            local members, last = {}, min(i + MAX_WORDS - 1, #items)
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

    -- The free items, in the order in which they are given, from `resource.next_free` on; good until one is
    -- freed. Each item is its own limit: items that are held though removed keep no others back.
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
                resource.free = nil -- not the ones that were picked
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
        for i = 1, #words, MAX_WORDS do
            call('ZADD', FREED, unpack(words, i, min(i + MAX_WORDS - 1, #words)))
        end
        local n_over = call('ZCARD', FREED) - MAX_FREED
        if n_over > 0 then -- they count as never used, and so come first again
            call('ZREM', FREED, unpack(call('ZRANGE', FREED, 0, min(n_over, MAX_WORDS))))
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
    made.pools = made.pools or make.pools()
    return made.pools
end

local function items_of(resource)
    return pools().items_of(resource)
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

