-- snapshot.lua - ARGV: CURSOR {NAME}... What is held and waited for, page by page: of these names,
-- or of all that are defined or in use. Writes nothing but what time brings.
local MOST_NAMES, MOST_ROWS = 100, 2000

local wrong = enter()
if wrong then
    return wrong
end
settle()
local cursor = ARGV[5]
local rows = {}

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

local function claim_of(lease, name)
    for _, claim in ipairs(lease.claims) do
        if claim.name == name then
            return claim
        end
    end
end

local function describe_lease(kind, name, lease, ...)
    add({kind, name, lease.key, text_of(lease.ticket), lease.priority, lease.uid, lease.holder,
        lease.info, ...})
end

local function describe_holders(name)
    local seen, in_use, cooling = {}, 0, 0
    local leases = {}
    for _, member in ipairs(call('ZRANGEBYLEX', HELD, of_name(name))) do
        local key = match(member, '(%S+)$')
        if key == RESTING then
            cooling = cooling + 1
        else
            in_use = in_use + 1
            if not seen[key] then
                seen[key] = true
                leases[#leases + 1] = load_lease(key)
            end
        end
    end
    table.sort(leases, function(a, b)
        return (claim_of(a, name) or {token = 0}).token < (claim_of(b, name) or {token = 0}).token
    end)
    return leases, in_use, cooling
end

local function waiters_of(name)
    local members = call('ZRANGEBYLEX', QUEUE, of_name(name))
    local orders = {}
    for i, member in ipairs(members) do
        orders[i] = string.sub(member, #name + 2)
    end
    for _, member in ipairs(call('ZRANGEBYLEX', ASIDE, of_name(name))) do
        orders[#orders + 1] = match(member, '^%S+ %S+ (.*)$')
    end
    table.sort(orders)
    return orders
end

local function reserved_text(resource)
    local parts = {}
    for unit, reason in pairs(resource.reserved) do
        parts[#parts + 1] = unit .. ',' .. (reason == true and '' or reason)
    end
    table.sort(parts)
    return table.concat(parts, ' ')
end

local function changed_word(resource)
    if resource.limit_changed then
        return 'limit'
    end
    return resource.items_changed and 'items' or ''
end

local function describe_resource(name)
    local resource = resource_of(name)
    local rules = resource.definition
    if not rules then
        return
    end
    local leases, in_use, cooling = describe_holders(name)
    local orders = waiters_of(name)
    local free = is_blocked(resource) and 0 or max(n_available(resource), 0)
    add({'resource', name, rules.kind, limit_of(resource), in_use, free, #orders, cooling,
        resource.change.paused and 1 or 0, resource.change.reason or '', resource.definition_name,
        changed_word(resource), resource.is_pool and table.concat(items_of(resource), ',') or '',
        reserved_text(resource)})
    for _, lease in ipairs(leases) do
        local claim = claim_of(lease, name)
        if claim then
            describe_lease('holder', name, lease, claim.count, text_of(claim.token),
                table.concat(claim.units, ','), host_of(lease))
        end
    end
    for position, order in ipairs(orders) do
        local lease = load_lease(match(order, '(%S+)$'))
        local claim = lease and claim_of(lease, name)
        if claim then
            describe_lease('waiter', name, lease, claim.count, position, host_of(lease))
        end
    end
end

-- ---- which ----

-- One more than a page takes, so that it is seen whether there are more.
local function add_names_of_set(names, set)
    local name = time().next_name(set, cursor)
    for _ = 0, MOST_NAMES do
        if not name then
            return
        end
        names[name] = true
        name = time().next_name(set, name)
    end
end

local function add_names_of_hash(names, hash)
    for _, name in ipairs(call('HKEYS', hash)) do
        if name > cursor and string.sub(name, -2) ~= '/*' then
            names[name] = true
        end
    end
end

local function names_to_describe()
    if #ARGV > 5 then
        return {unpack(ARGV, 6)}
    end
    local names, list = {}, {}
    add_names_of_set(names, HELD)
    add_names_of_set(names, QUEUE)
    add_names_of_set(names, ASIDE)
    add_names_of_hash(names, DEFINITIONS)
    for _, name in ipairs(call('HKEYS', CHANGES)) do
        if name > cursor and match(call('HGET', CHANGES, name), ' {}$') == nil then
            names[name] = true
        end
    end
    for name in pairs(names) do
        list[#list + 1] = name
    end
    table.sort(list)
    return list
end

local function describe_sessions()
    for _, name in ipairs(call('ZRANGE', SESSIONS, 0, 999)) do
        local session = session_of(name)
        if session then
            local left = tonumber(call('ZSCORE', SESSIONS, name)) - db.clock
            add({'session', name, session.host, floor(left), text_of(session.incarnation)})
        end
    end
end

local names = names_to_describe()
local next_cursor = ''
for i, name in ipairs(names) do
    describe_resource(name)
    if #ARGV == 5 and i < #names and (i == MOST_NAMES or #rows >= MOST_ROWS) then
        next_cursor = name
        break
    end
end
if next_cursor == '' then
    describe_sessions()
end
local reply = answer('ok', next_cursor)
for _, row in ipairs(rows) do -- they may be more than unpack() can take
    reply[#reply + 1] = row
end
return reply
