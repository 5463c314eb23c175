-- acquire.lua - ARGV: ID NOWAIT PRIORITY TICKET UID SHAREDUID HOLDER INFO {NAME DEFINITION COUNT
-- LIMIT ANCESTRAL}... All or nothing: granted, or a place in line, or refused. The same ID again
-- gets the same answer.
local wrong = enter()
if wrong then
    return wrong
end
local ticket = tonumber(ARGV[8])
local lease = {key = ME .. '/' .. ARGV[5], session = ME, id = ARGV[5], state = 'W',
    incarnation = INCARNATION, priority = tonumber(ARGV[7]), uid = ARGV[9], shared = ARGV[10],
    holder = ARGV[11], info = ARGV[12], claims = {}}
for i = 13, #ARGV, 5 do
    lease.claims[#lease.claims + 1] = {name = ARGV[i], definition = ARGV[i + 1],
        count = tonumber(ARGV[i + 2]), limit = tonumber(ARGV[i + 3]),
        ancestral = tonumber(ARGV[i + 4]), token = 0, units = {}}
end

local function granted(of)
    settle()
    return answer('granted', text_of(of.ticket), claims_text(of))
end

local function waiting(of)
    local position = 0
    for _, claim in ipairs(of.claims) do
        local before = call('ZLEXCOUNT', QUEUE, '[' .. claim.name .. ' ',
            '(' .. claim.name .. ' ' .. order_text(of))
        position = math.max(position, before + 1)
    end
    return answer('waiting', text_of(of.ticket), position)
end

local function refused(code, name)
    settle()
    return answer('refused', code, name)
end

-- What can never be, whatever is given back.
local function why_never()
    local _, name = identity_taken(lease)
    if name then
        return 'held', name
    end
    for _, claim in ipairs(lease.claims) do
        local resource = resource_of(claim.name, claim.definition)
        if not resource.definition then
            return 'unknown', claim.name
        end
        local most = most_of(resource, claim.limit)
        local quota = resource.definition['max-units-per-user']
        if claim.count > most or (quota > 0 and claim.count > quota) then
            return 'impossible', claim.name
        elseif claim.ancestral > 0 and claim.count > most - claim.ancestral then
            return 'ancestor', claim.name
        end
    end
end

-- Whoever does not want to wait is told the strongest reason.
local function why_not_now()
    local code, about = db.grace and 'grace' or 'would-wait', lease.claims[1].name
    for _, claim in ipairs(lease.claims) do
        local resource = resource_of(claim.name, claim.definition)
        if resource.change.paused then
            return 'paused', claim.name
        elseif limit_of(resource, claim.limit) == 0 then
            code, about = 'closed', claim.name
        elseif code == 'would-wait' and claim.count > quota_left(resource, lease.uid) then
            code, about = 'quota', claim.name
        end
    end
    return code, about
end

local function full_queue()
    for _, claim in ipairs(lease.claims) do
        local resource = resource_of(claim.name, claim.definition)
        if n_waiting(claim.name) >= resource.definition['max-waiters'] then
            return claim.name
        end
    end
end

-- Nobody who waits is before it.
local function is_first()
    local order = order_text(lease)
    for _, claim in ipairs(lease.claims) do
        local head = head_of(claim.name)
        if head and head < claim.name .. ' ' .. order then
            return false
        end
    end
    return true
end

local known = load_lease(lease.key)
if known and known.state == 'H' and not has_its_units(known) then
    drop_lease(known) -- a script was broken off
    known = nil
end
if known then
    return known.state == 'H' and granted(known) or waiting(known)
end

local code, about = why_never()
if code then
    return refused(code, about)
end
if ticket > 0 then
    raise_number(ticket)
else
    ticket = next_number()
end
lease.ticket = ticket
if is_first() and may_go(lease, true) == 'go' and choose_units(lease) then
    take_identities(lease)
    give_tokens(lease)
    hold_units(lease)
    return granted(lease)
elseif ARGV[6] == '1' then
    return refused(why_not_now())
end
about = full_queue()
if about then
    return refused('queue-full', about)
end
call('ZADD', OWNED, session_of(ME).sid, lease.key)
take_identities(lease)
write_lease(lease)
enter_queues(lease)
settle()
local now = load_lease(lease.key)
return now.state == 'H' and granted(now) or waiting(now)
