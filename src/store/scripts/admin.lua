-- admin.lua - ARGV: OP NAME [ITEM or N or UID] [REASON] [HOLDER]. What operators change, for the
-- whole fleet; each change is kept as JSON with a version, and every daemon fetches it.
local wrong = enter()
if wrong then
    return wrong
end
local OP, NAME, WORD, REASON, HOLDER = ARGV[5], ARGV[6], ARGV[7] or '', ARGV[8] or '', ARGV[9] or ''

local function refused(code, about)
    settle()
    return answer('refused', code, about or NAME)
end

-- ---- to a lease, wherever its daemon is ----

local function tell_owner(key, word)
    local lease = key and load_lease(key)
    if not lease then
        return refused('unknown')
    end
    emit(lease.session, word .. ' ' .. lease.id)
    settle()
    return answer('ok')
end

local function release_identity()
    local key = owner_of_identity(NAME, HOLDER, WORD)
    if key then
        return tell_owner(key, 'release')
    elseif n_taken(NAME) > 0 then
        return refused('not-holder')
    end
    settle()
    return answer('ok') -- what is free already
end

if OP == 'revoke' or OP == 'drop' then
    return tell_owner(NAME, OP)
elseif OP == 'release' then
    return release_identity()
end

-- ---- to a resource ----

local resource = resource_of(NAME)
if not resource.definition then
    return refused('unknown')
end
local change = resource.change

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

local function begin_items_change()
    if change['items-base'] ~= resource.items_text then
        change.added, change.removed = nil, nil
        change['items-base'] = resource.items_text
    end
    change.added, change.removed = change.added or {}, change.removed or {}
end

local operations = {}

function operations.limit()
    local limit = tonumber(WORD)
    if resource.is_pool or (resource.definition.kind == 'lock' and limit > 1) then
        return 'kind'
    end
    change.limit, change['limit-base'] = limit, resource.definition.limit
end

function operations.add()
    if change.reserved and change.reserved[WORD] then
        change.reserved[WORD] = nil
        return
    elseif not resource.is_pool then
        return 'kind'
    elseif has_item(items_of(resource), WORD) then
        return
    end
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
    change.paused, change.reason = true, REASON
end

function operations.resume()
    change.paused, change.reason = nil, nil
end

function operations.reset()
    for key in pairs(change) do
        change[key] = nil
    end
end

-- Empty ones are left out: JSON written from Lua cannot tell an empty list from an empty object.
local function to_json()
    for _, key in ipairs({'added', 'removed', 'reserved'}) do
        if change[key] and next(change[key]) == nil then
            change[key] = nil
        end
    end
    if not change.added and not change.removed then
        change['items-base'] = nil
    end
    change.version = nil
    return next(change) == nil and '{}' or cjson.encode(change)
end

local code, about = operations[OP]()
if code then
    return refused(code, about)
end
local json = to_json()
news().store_change(NAME, next_number(), json)
news().tell()
settle()
return answer('ok')
