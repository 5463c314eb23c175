-- fleet_check.lua - what is always true of the data between two calls; answers with what is not, or
-- with "". What a script has left that was broken off is mended when somebody comes upon it: after
-- that ("{berth}:broken" is there) a unit has one holder all the same, but for its rest.
local call = redis.call
local function key(word)
    return '{berth}:' .. word
end
local was_broken_off = call('SCARD', key('broken')) > 0

local function load(lease)
    local record = call('HGET', key('leases'), lease)
    return record and cmsgpack.unpack(record)
end

local sizes = {['<'] = 32, ['='] = 1024} -- of blocks of slots, by the mark before the first one

local holders = {} -- by "NAME UNIT"
for _, member in ipairs(call('ZRANGE', key('held'), 0, -1)) do
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

-- Whoever has died is gone with the first call after that.
local record = call('HMGET', key('db'), 'clock', 'grace')
if record[1] and not record[2] and call('ZCOUNT', key('sessions'), '-inf', record[1]) > 0 then
    return 'a session is there after its end'
end

local function units_of(claim) -- one by one
    local units = {}
    for _, unit in ipairs(claim[7]) do
        local first, last = string.match(unit, '^(%d+)-?(%d*)$')
        for slot = tonumber(first) or 1, tonumber(last) or tonumber(first) or 1 do
            units[#units + 1] = first and string.format('%07d', slot) or unit
        end
    end
    return units
end

local n_held = 0
local leases = call('HKEYS', key('leases'))
for _, lease in ipairs(leases) do
    local record = load(lease)
    if call('HEXISTS', key('session'), string.match(lease, '^[^/]+')) == 0 then
        return lease .. ' is nobody\'s'
    elseif not call('ZSCORE', key('owned'), lease) then
        return lease .. ' is not owned'
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
    end
end
for unit, holder in pairs(holders) do
    n_held = n_held - (holder ~= '-' and 1 or 0)
end
if n_held ~= 0 then
    return 'units are held by leases that are not there'
elseif call('ZCARD', key('owned')) ~= #leases then
    return 'there are not as many leases as are owned'
end

local stands = {} -- in a queue or aside, by lease
for _, set in ipairs({'queue', 'aside'}) do
    for _, member in ipairs(call('ZRANGE', key(set), 0, -1)) do
        stands[string.match(member, '%S+$')] = true
    end
end
for _, lease in ipairs(leases) do
    local waits = load(lease)[1] == 'W'
    if waits ~= (stands[lease] or false) then
        return lease .. (waits and ' waits nowhere' or ' waits and does not')
    end
    stands[lease] = nil
end
return next(stands) and next(stands) .. ' waits and is not there' or ''
