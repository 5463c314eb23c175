-- ---- queues ----

local function order_text(lease)
    local order = lease.order
    if not order then
        local before_all = lease.ticket > MAX_CREDIBLE -- an operator has moved it
        order = format('%05d %016.0f %s', before_all and 0 or 50000 - lease.priority, lease.ticket, lease.key)
        lease.order = order
    end
    return order
end

local function add_to_line(set, member) -- to QUEUE or ASIDE
    noted.is_empty[set] = false
    if db.nested and set == QUEUE then
        db.may_have_circle = db.may_have_circle or made.circles.is_before_one(member)
    end
    call('ZADD', set, '0', member)
end

local function head_of(name) -- of its queue: the member, or nil
    return not noted.is_empty[QUEUE] and call('ZRANGEBYLEX', QUEUE, '[' .. name .. ' ', '(' .. name .. '!', 'LIMIT', '0', '1')[1]
end

local dirty -- names, in the order in which they became dirty
local walked -- of this call, by name: whether a walk is under way

fresh[#fresh + 1] = function()
    dirty = {}
end

fresh.noted[#fresh.noted + 1] = function()
    walked = {}
end

local function mark_dirty(name)
    if not dirty[name] then
        dirty[name] = true
        dirty[#dirty + 1] = name
        noted.is_empty[DIRTY] = false
        call('SADD', DIRTY, name)
    end
end

-- What decides about grants has changed: leases aside have to be looked at as well, from the first one on.
local function mark_changed(name)
    mark_dirty(name .. CHANGED)
    call('HSET', DB, WALK .. name, '')
    walked[name] = true
    db.may_have_circle = db.may_have_circle or db.nested
end

local function is_walked(name)
    if walked[name] == nil then
        walked[name] = call('HEXISTS', DB, WALK .. name) == 1
    end
    return walked[name]
end

-- Nobody is granted a unit until all leases aside have been looked at: the order in which that is done must
-- not decide who goes first. Returns the name of the walk.
local function held_up_by(resource)
    local name = is_walked(resource.name) and resource.name or resource.definition_name
    if is_walked(name) then
        return call('ZLEXCOUNT', ASIDE, of_name(resource.name)) > 0 and name
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

function rooms.forget_if_idle(resource)
    local is_idle = resource.is_pool and is_template(resource.definition_name) and next(resource.change) == nil
        and n_taken(resource.name) == 0 and n_waiting(resource.name) == 0
    if is_idle then
        made.pools.forget_idle_instance(resource)
    end
end

local function n_in_line_before(name, order)
    local low, high = '[' .. name .. ' ', '(' .. name .. ' ' .. order
    return call('ZLEXCOUNT', QUEUE, low, high) + call('ZLEXCOUNT', ELSEWHERE, low, high)
end

-- Of a waiter: the largest, if it wants several.
local function position_of(lease)
    local position = 0
    for _, claim in ipairs(lease.claims) do
        position = max(position, n_in_line_before(claim.name, order_text(lease)) + 1)
    end
    return position
end

local function queue_members(lease) -- removed by one command: all or none
    local members = {}
    for i, claim in ipairs(lease.claims) do
        members[i] = claim.name .. ' ' .. order_text(lease)
    end
    return members
end

-- A user's requests that stand aside at one resource are in order of their counts: see wake_user.
local function quota_reason(lease, claim)
    return format('u%s:%07d', lease.uid, claim.count)
end

local function leave_queues(lease)
    local order = order_text(lease)
    if #lease.claims > 1 then
        made.roads.leave_road(lease)
    end
    for _, claim in ipairs(lease.claims) do
        call('ZREM', ASIDE, claim.name .. ' b ' .. order,
            claim.name .. ' ' .. quota_reason(lease, claim) .. ' ' .. order)
        if lease.replace then
            call('ZREM', ASIDE, claim.name .. ' i ' .. order)
        end
    end
    if db.fairs then
        made.fair.leave(lease)
    end
    call('ZREM', QUEUE, unpack(queue_members(lease))) -- last: whoever finds it there repairs the rest
end

local function quota_left(resource, uid) -- math.huge without one
    local most = resource.definition['max-units-per-user']
    return most == 0 and math.huge or most - n_units_in(USERS, resource.name .. ' ' .. uid)
end

-- The same for a request: what is kept for older ones of its user counts as well.
local function quota_left_for(lease, resource)
    local left = quota_left(resource, lease.uid)
    if db.keeps and left < math.huge and lease.ticket > 0 then
        left = left - made.roads.kept_for_older(lease, resource.name .. ' u' .. lease.uid .. ' ')
    end
    return left
end

-- The reason, outside the queue, why the lease cannot go: "b" (a resource is paused, closed, or limited to
-- less than it wants), "u…" (its user's quota) or "i" (another lease has its identity); and the resource. Such a lease
-- waits aside and delays nobody.
local function why_aside(lease)
    local owned = lease.replace and made.newest.name_owned(lease)
    if owned then
        return 'i', owned
    end
    for _, claim in ipairs(lease.claims) do
        local resource = resource_of(claim.name)
        if not resource.definition then
            return nil
        end
        -- While a resource is paused or closed, nobody can go there: leases that want nothing else stay in
        -- line.
        local limit = limit_of(resource, own_limit(claim))
        local is_shut = resource.paused or limit == 0
        if is_shut and #lease.claims > 1 or not is_shut and claim.count > min(limit, resource.burst) then
            return 'b', claim.name
        elseif claim.count > quota_left_for(lease, resource) then
            return quota_reason(lease, claim), claim.name
        end
    end
end

-- Puts the lease into the queue, or aside; returns which. Writes its record.
local function enter_queues(lease, is_back)
    if lease.above then
        made.circles.note(lease)
    end
    if rooms.is_fair(lease) then
        made.fair.note(lease)
    end
    local why, name = why_aside(lease)
    if #lease.claims > 1 then
        return made.roads.enter_road(lease, why, name, is_back)
    end
    name = lease.claims[1].name
    local member = name .. (why and ' ' .. why .. ' ' or ' ') .. order_text(lease)
    if not why then
        mark_dirty(name)
    end
    add_to_line(why and ASIDE or QUEUE, member)
    write_lease(lease)
    return why and member
end

-- Are there enough units, beside those kept for older leases, and does nobody stand before it?
local function has(lease, claim, is_head)
    local resource = resource_of(claim.name)
    local head = not is_head and head_of(claim.name)
    if head and head < claim.name .. ' ' .. order_text(lease)
        or not resource.definition or is_blocked(resource, own_limit(claim)) or held_up_by(resource) then
        return false
    end
    local n = n_available(resource, own_limit(claim))
    local needed = claim.is_all and rooms.needed_for_all(claim, n) or claim.count
    if db.keeps and n >= needed then
        n = n - made.roads.kept_for_older(lease, claim.name .. ' ')
    end
    return n >= needed
end

local function next_name(set, name) -- the first after `name` ("": of all) in a set ordered by names
    local from = name == '' and '-' or '(' .. name .. '!'
    local member = call('ZRANGEBYLEX', set, from, '(' .. KEEP, 'LIMIT', 0, 1)[1]
    return member and match(member, '^(%S+)')
end
