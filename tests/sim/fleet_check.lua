-- fleet_check.lua - what is always true of the data between two calls; answers with what is wrong, or "".
-- What a broken-off script has left is repaired when a call finds it: afterwards ("{berth}:broken" is set) a
-- unit still has one holder, but its rest may be wrong.
local call = redis.call
local function key(word)
    return '{berth}:' .. word
end

-- Without "~", which keeps the key alive and comes last in the order of bytes.
local function sorted(word)
    return call('ZRANGE', key(word), 0, -2)
end

local function names_in(word)
    local names = {}
    for _, name in ipairs(call('HKEYS', key(word))) do
        names[#names + 1] = name ~= '~' and name or nil
    end
    return names
end

local was_broken_off = call('SCARD', key('broken')) > 0

local function load(lease)
    local record = call('HGET', key('leases'), lease)
    return record and cmsgpack.unpack(record)
end

-- Whether a lease's claim is to all of that name.
local function is_all(record, name)
    local names = string.match(record[8], ' all=(%S+)') or ''
    return string.find(',' .. names .. ',', ',' .. name .. ',', 1, true) ~= nil
end

-- The names that its identity is of: all but levels.
local function identified_names(record)
    local levels, names = ',' .. (string.match(record[8], ' levels=(%S+)') or '') .. ',', {}
    for _, claim in ipairs(record[7] ~= '' and record[9] or {}) do
        if not string.find(levels, ',' .. claim[1] .. ',', 1, true) then
            names[#names + 1] = claim[1]
        end
    end
    return names
end

local function n_in(set, what)
    return call('ZLEXCOUNT', key(set), '[' .. what .. ' ', '(' .. what .. '!')
end

local function definition_of(name)
    local text = call('HGET', key('definitions'), name)
        or call('HGET', key('definitions'), (string.gsub(name, '/.*', '/*')))
    return cjson.decode(string.match(text, '{.*'))
end

local sizes = {['<'] = 32, ['='] = 1024} -- of blocks of slots, by the mark before the first one

local holders = {} -- by "NAME UNIT"
for _, member in ipairs(sorted('held')) do
    local name, mark, word, holder = string.match(member, '^(%S+) ([<=]?)(%S+) (%S+)$')
    for i = 0, (sizes[mark] or 1) - 1 do
        local unit = name .. ' ' .. (mark == '' and word or string.format('%07d', word + i))
        local is_given_back = was_broken_off and (holder == '-' or holders[unit] == '-')
        if holders[unit] and not is_given_back then
            return unit .. ' is held by ' .. holders[unit] .. ' and by ' .. holder
        end
        holders[unit] = holder
    end
end
if was_broken_off then
    return ''
end

-- A session is gone with the first calls after its end: one call does only so much work. "{berth}:ended" is the
-- one that the last check found.
local record = call('HMGET', key('db'), 'clock', 'grace')
local ended = record[1] and not record[2] and
    call('ZRANGEBYSCORE', key('sessions'), '-inf', record[1], 'LIMIT', 0, 1)[1]
if ended then
    local sid = string.match(call('HGET', key('session'), ended), '^%d+')
    if call('HGET', key('ended'), 'sid') == sid and call('ZCOUNT', key('owned'), sid, sid) == 0 then
        return ended .. ' is a session long after its end'
    end
    call('HSET', key('ended'), 'sid', sid)
end

local function units_of(claim) -- one by one
    local units = {}
    for _, unit in ipairs(claim[6]) do
        local first, last = string.match(unit, '^(%d+)-?(%d*)$')
        for slot = tonumber(first) or 1, tonumber(last) or tonumber(first) or 1 do
            units[#units + 1] = first and string.format('%07d', slot) or unit
        end
    end
    return units
end

local n_held, has_all = 0, {}
local now = tonumber(call('HGET', key('db'), 'clock') or 0)
local leases = names_in('leases')
for _, lease in ipairs(leases) do
    local record = load(lease)
    if call('HEXISTS', key('session'), string.match(lease, '^[^/]+')) == 0 then
        return lease .. ' is nobody\'s'
    elseif not call('ZSCORE', key('owned'), lease) then
        return lease .. ' is not owned'
    elseif (record[1] == 'H') ~= (record[12] ~= nil) or (record[12] or 0) > now then
        return lease .. ' is held since ' .. tostring(record[12])
    end
    for _, claim in ipairs(record[1] == 'H' and record[9] or {}) do
        local units = units_of(claim)
        for _, unit in ipairs(units) do
            local word = claim[1] .. ' ' .. unit
            n_held = n_held + 1
            if holders[word] ~= lease then
                return word .. ' is not held by ' .. lease
            end
        end
        if #units ~= claim[2] then
            return lease .. ' has not as many units of ' .. claim[1] .. ' as it wants'
        end
        if is_all(record, claim[1]) then
            has_all[claim[1]] = true
            if n_in('held', claim[1]) ~= 1 then
                return lease .. ' has all of ' .. claim[1] .. ', and others have some'
            end
        end
    end
end
for unit, holder in pairs(holders) do
    n_held = n_held - (holder ~= '-' and 1 or 0)
end
if n_held ~= 0 then
    return 'units are held by leases that are not there'
elseif call('ZCARD', key('owned')) - 1 ~= #leases then
    return 'there are not as many leases as are owned'
end

-- Who has an identity: one lease, which holds, or which waits and takes nobody's place. Of those that do, one waits for
-- the same things.
local owners, heirs = {}, {} -- by "NAME HOLDER UID"; by "HOLDER UID NAME..."
local function takes_places(record)
    return string.find(record[8], ' replace=', 1, true) ~= nil
end
local function owner_of(record, name)
    return owners[name .. ' ' .. record[7] .. ' ' .. record[5]]
end
for _, lease in ipairs(leases) do
    local record = load(lease)
    local who, names = record[7] .. ' ' .. record[5], identified_names(record)
    for _, name in ipairs(names) do
        local other = owner_of(record, name)
        if record[1] == 'H' or record[1] == 'W' and not takes_places(record) then
            if other then
                return lease .. ' and ' .. other .. ' have the identity ' .. who .. ' at ' .. name
            end
            owners[name .. ' ' .. who] = lease
        end
    end
    table.sort(names)
    local group = who .. ' ' .. table.concat(names, ' ')
    if names[1] and record[1] == 'W' then
        if heirs[group] then
            return lease .. ' and ' .. heirs[group] .. ' wait in one place'
        end
        heirs[group] = lease
    elseif record[1] == 'R' and call('ZSCORE', key('identities'), names[1] .. ' ' .. who .. ' ' .. lease) then
        return lease .. ' has an identity, and was replaced'
    end
end
-- The first name where another lease has its identity, if it waits for that.
local function owned_name(lease)
    local record = load(lease)
    for _, name in ipairs(takes_places(record) and identified_names(record) or {}) do
        if owner_of(record, name) then
            return name
        end
    end
end
-- Each waiter of something that has turns, but for those that were moved before all, is noted with its rank at the
-- first of these by name; if it wants nothing else, and has its user's turns, with its word, too.
local noted, lines = {}, {} -- by member; lines and flows
for _, member in ipairs(sorted('identities')) do
    local line, flow = string.match(member, '^(%S+  %d+) (%S+)')
    if line then
        noted[member], lines[line], lines[line .. ' ' .. flow] = true, true, true
    end
end
for _, lease in ipairs(leases) do
    local record, first, rules = load(lease), nil, nil
    for _, claim in ipairs(record[1] == 'W' and record[4] <= 2 ^ 52 and record[9] or {}) do
        local own = definition_of(claim[1])
        if own.fair and (not first or claim[1] < first) then
            first, rules = claim[1], own
        end
    end
    local word = string.match(record[8], ' share=(%S+)')
    local line = first and string.format('%s  %05d', first, 50000 - record[3])
    local members = {first and string.format('%s %s %016.0f %s', line,
        rules.fair == 'share' and word and 's' .. word or 'u' .. record[5], record[4], lease)}
    if first and rules.fair == 'user' and #record[9] == 1 then
        members[2] = string.format('%s w%s %s =%s %016.0f %s', line, record[5],
            is_all(record, first) and 'all' or record[9][1][2], word or '',
            tonumber(string.match(record[8], ' rank=(%d+)') or record[4]), lease)
    end
    for _, member in ipairs(members) do
        if not noted[member] then
            return member .. ' is not there'
        end
        noted[member] = nil
    end
end
if next(noted) then
    return next(noted) .. ' is there for nobody'
end
for _, field in ipairs(call('HKEYS', key('db'))) do
    local line = string.match(field, '^fair (.*)$')
    local flow = string.match(field, '^word (.*)$')
    if line and not lines[line] or flow and not lines[flow] then
        return field .. ' is there, and nobody waits'
    elseif line and tonumber(call('HGET', key('db'), field)) > tonumber(call('HGET', key('db'), 'number')) then
        return field .. ' is ahead of later tickets'
    end
end

local stands = {} -- in a queue or aside, by lease: in how many
for _, set in ipairs({'queue', 'aside'}) do
    for _, member in ipairs(sorted(set)) do
        local lease = string.match(member, '%S+$')
        stands[lease] = (stands[lease] or 0) + 1
    end
end
local elsewhere = {}
for _, member in ipairs(sorted('elsewhere')) do
    local lease = string.match(member, '%S+$')
    elsewhere[lease] = (elsewhere[lease] or 0) + 1
end
local kept = {} -- "NAME LEASE": units
for _, member in ipairs(sorted('kept')) do
    local name, power, lease = string.match(member, '^(%S+) (%d+):%S+ %S+ (%S+)$')
    if name then
        kept[name .. ' ' .. lease] = (kept[name .. ' ' .. lease] or 0) + 2 ^ tonumber(power)
    end
end
for _, lease in ipairs(leases) do
    local record = load(lease)
    local waits, road = record[1] == 'W', record[10]
    if waits ~= (stands[lease] == 1) or not waits and stands[lease] then
        return lease .. (waits and ' does not wait in one place' or ' waits and does not')
    elseif waits and #record[9] - 1 ~= (elsewhere[lease] or 0) then
        return lease .. ' is not noted where else it wants something'
    end
    for place, number in ipairs(waits and road and road.order or {}) do
        local claim = record[9][number]
        local where = claim[1] .. ' ' .. lease
        local n = is_all(record, claim[1]) and 2 ^ 20 or claim[2]
        if (kept[where] or 0) ~= (place <= road.kept and n or 0) then
            return where .. ' is not kept as its record says'
        end
        kept[where] = nil
    end
    if waits and road and road.kept > 0 and not call('ZSCORE', key('keeping'), lease) then
        return lease .. ' keeps for ever'
    end
    stands[lease], elsewhere[lease] = nil, nil
end
-- How many units a rate lets go now, and when so many may go: the definition, and when all of its burst may.
local function rate_of(name, rules)
    local ms, part, parts = string.match(call('HGET', key('db'), 'rate ' .. name) or '0 0 1', '^(%d+) (%d+) (%d+)')
    local step = rules.window / rules.rate
    local full = math.max(ms + part / parts, call('HGET', key('db'), 'since') + rules.burst * step)
    local owed = math.ceil((full - record[1]) / step - 1e-9)
    return rules.burst - math.min(math.max(owed, 0), rules.burst), function(n)
        return n <= rules.burst and full - (rules.burst - n) * step or math.huge
    end
end
-- No lease at the head of a queue could go on, and nobody's patience is over: what could be done has been,
-- unless work is left for the next call.
local names, patient = {}, call('ZCOUNT', key('keeping'), '-inf', record[1] or '-inf')
if record[1] and not record[2] and call('SCARD', key('dirty')) == 1 then
    for _, member in ipairs(sorted('queue')) do
        local name, order, lease = string.match(member, '^(%S+) (%S+ %S+ (%S+))$')
        names[name] = names[name] or {order = order, lease = lease}
    end
    if patient > 0 then
        return 'patience is over, and something is kept'
    end
end
local function change_of(name)
    return cjson.decode(string.match(call('HGET', key('changes'), name) or '{}', '{.*'))
end
for _, name in ipairs(names_in('changes')) do
    if change_of(name).exempt and not change_of(name).paused then
        return name .. ' has exceptions from no pause'
    end
end
-- What governs a claim: the definition, the limit, and whether it is paused.
local function rules_for(name, asked_limit)
    local rules, change, of_all = definition_of(name), change_of(name), change_of((string.gsub(name, '/.*', '/*')))
    local function limit_in(one)
        return one['limit-base'] == rules.limit and one.limit
    end
    local limit = rules.kind == 'pool' and #rules.items or limit_in(change) or limit_in(of_all)
        or math.min(rules.limit, asked_limit)
    return rules, limit, change.paused or of_all.paused and not (of_all.exempt and of_all.exempt[name])
end
local function claim_on(lease, name)
    for _, claim in ipairs(load(lease)[9]) do
        if claim[1] == name then
            return claim
        end
    end
end
for name, head in pairs(names) do
    local claim = claim_on(head.lease, name)
    local rules, limit, is_paused = rules_for(name, claim[5])
    local n_taken = n_in('held', name)
    local free = has_all[name] and 0 or limit - n_taken
    local n_kept = 0
    for power = 0, 20 do
        local word = string.format('%s %02d:', name, power)
        n_kept = n_kept + 2 ^ power * call('ZLEXCOUNT', key('kept'), '[' .. word, '(' .. word .. head.order)
    end
    if rules.rate then
        local n_now, may_go_at = rate_of(name, rules)
        free = math.min(free, n_now)
        local at, looks = may_go_at(n_kept + claim[2]), call('ZSCORE', key('rest'), name .. ' *')
        if now < at and at < math.huge and not (looks and tonumber(looks) < at + 1) then
            return 'nobody looks when ' .. head.lease .. ' may go on at ' .. name
        end
    end
    local needed = claim[2]
    if is_all(load(head.lease), name) then
        needed = n_taken == 0 and math.max(free, 1) or math.huge
    end
    if not is_paused and free - n_kept >= needed and not owned_name(head.lease) then
        return head.lease .. ' could go on at ' .. name
    end
end

-- Nothing else is kept for a request that may have to wait for an instant.
for _, lease in ipairs(leases) do
    local record = load(lease)
    local road, last_kept = record[1] == 'W' and record[10] or {order = {}, kept = 0}, nil
    for place, number in ipairs(road.order) do
        local is_rated = definition_of(record[9][number][1]).rate ~= nil
        if place <= road.kept then
            last_kept = not is_rated and record[9][number][1] or last_kept
        elseif is_rated and last_kept then
            return last_kept .. ' is kept for ' .. lease .. ', which may have to wait for an instant'
        end
    end
end

-- What older requests of the same user that stand in line there want: a wake-up leaves those aside for which
-- they leave no room.
local function n_wanted_before(name, uid, order)
    local n = 0
    for _, member in ipairs(sorted('queue')) do
        local its_name, its_order, lease = string.match(member, '^(%S+) (%S+ %S+ (%S+))$')
        if its_name == name and its_order < order and tostring(load(lease)[5]) == uid then
            n = n + claim_on(lease, name)[2]
        end
    end
    return n
end

-- Nobody stands aside without a reason. What is kept for others counts for a quota as well.
local is_settled = record[1] and not record[2] and call('SCARD', key('dirty')) == 1
for _, member in ipairs(is_settled and sorted('aside') or {}) do
    local name, uid, order, lease = string.match(member, '^(%S+) [bui](%d*)%S* (%S+ %S+ (%S+))$')
    local claim = claim_on(lease, name)
    local rules, limit, is_paused = rules_for(name, claim[5])
    local is_blocked = is_paused or claim[2] > limit
    local is_over = uid ~= '' and (call('ZCARD', key('keeping')) > 1 or claim[2]
        > rules['max-units-per-user'] - n_in('users', name .. ' ' .. uid) - n_wanted_before(name, uid, order))
    if not is_blocked and not is_over and not owned_name(lease) then
        return lease .. ' stands aside at ' .. name .. ' for nothing'
    end
end

for _, member in ipairs(was_broken_off and {} or sorted('gone')) do
    local session = string.match(member, '^%d+ (%S+)')
    if call('ZSCORE', key('sessions'), session) then
        return session .. ' is gone, and there'
    end
end

local stray = next(stands) or next(elsewhere) or next(kept)
return stray and stray .. ' waits and is not there' or ''
