-- ---- leases ----

local function claims_text(lease)
    local parts = {}
    for i, claim in ipairs(lease.claims) do
        local units = #claim.units == 0 and '-' or table.concat(claim.units, ',')
        parts[i] = format('%s %d %d %s', claim.name, claim.count, claim.token, units)
    end
    return table.concat(parts, '|')
end

-- A claim to all is one to a unit of which it is the only holder: nothing is held or at rest when it is granted, and
-- nothing is granted until it has ended. The lease's info names them.
function rooms.note_alls(lease)
    if not string.find(lease.info, ' all=', 1, true) then -- plain: a pattern takes longer
        return
    end
    local names = match(lease.info, ' all=(%S+)') or ''
    for _, claim in ipairs(lease.claims) do
        claim.is_all = string.find(',' .. names .. ',', ',' .. claim.name .. ',', 1, true) ~= nil
    end
    if not db.alls then
        db.alls = '1'
        call('HSET', DB, 'alls', '1')
    end
end

-- Whether it takes the place of older ones of its identity (18-newest.lua): 'waiting' or 'running', as its info says.
function rooms.note_replace(lease)
    lease.replace = lease.holder ~= '' and match(lease.info, ' replace=(%a+)') or nil
    if lease.replace and not db.replaces then
        db.replaces = '1'
        call('HSET', DB, 'replaces', '1')
    end
end

-- The lease at ARGV[at], and where the words behind it begin: ID WORD PRIORITY TICKET UID SHAREDUID HOLDER INFO ABOVE
-- N, and N times `width` words: NAME DEFINITION COUNT LIMIT, or these and TOKEN UNITS.
local function parse_lease(at, width)
    local lease = {key = ME .. '/' .. ARGV[at], session = ME, id = ARGV[at], state = 'W', incarnation = INCARNATION,
        priority = tonumber(ARGV[at + 2]), ticket = tonumber(ARGV[at + 3]), uid = ARGV[at + 4],
        shared = ARGV[at + 5], holder = ARGV[at + 6], info = ARGV[at + 7],
        above = ARGV[at + 8] ~= '' and ARGV[at + 8] or nil, claims = {}}
    local behind = at + 10 + width * tonumber(ARGV[at + 9])
    for i = at + 10, behind - 1, width do
        local has_units = width > 4 and ARGV[i + 5] ~= '-'
        lease.claims[#lease.claims + 1] = {name = ARGV[i], definition = ARGV[i + 1],
            count = tonumber(ARGV[i + 2]), limit = tonumber(ARGV[i + 3]),
            token = width > 4 and tonumber(ARGV[i + 4]) or 0, units = has_units and split(ARGV[i + 5], ',') or {}}
    end
    rooms.note_alls(lease)
    rooms.note_replace(lease)
    return lease, behind
end

-- batch.records: of the leases that a call is about, by key, as LEASES has them; false: there is none; nil: not
-- looked up.
fresh[#fresh + 1] = function()
    batch.records = {}
end

-- What a command answers about each member of a key, by member; false: nothing.
function batch.ask(command, key, members)
    local answers = {}
    for i = 1, #members, MAX_WORDS do
        for k, answer in ipairs(call(command, key, unpack(members, i, min(i + MAX_WORDS - 1, #members)))) do
            answers[members[i + k - 1]] = answer
        end
    end
    return answers
end

function batch.look_up(keys)
    batch.records = batch.ask('HMGET', LEASES, keys)
end

-- A record is packed: parsing text would cost as much as all the commands of a call. `since` is when a holder
-- got its units, on the session clock; nil: it waits. `heir`: the KEY of a newer lease that has its place, or for which
-- its daemon was asked to stop it. What a newer berthd has put behind these thirteen is carried.
local function load_lease(key)
    local record = batch.records[key]
    if record == nil then
        record = call('HGET', LEASES, key)
    end
    if not record then
        return nil
    end
    local fields = cmsgpack.unpack(record)
    local state, incarnation, priority, ticket, uid, shared, holder, info, packed, road, above,
        since, heir = unpack(fields, 1, 13)
    local claims = {}
    for i, claim in ipairs(packed) do
        claims[i] = {name = claim[1], count = claim[2], token = claim[3], definition = claim[4],
            limit = claim[5], units = claim[6]}
    end
    local session, id = match(key, '^([^/]*)/(.*)$')
    local lease = {key = key, record = record, session = session, id = id, state = state, incarnation = incarnation,
        priority = priority, ticket = ticket, uid = uid, shared = shared, holder = holder,
        info = info, claims = claims, road = road, above = above, since = since or nil,
        heir = heir or nil, more = fields[14] ~= nil and {unpack(fields, 14)} or nil}
    if db.alls then
        rooms.note_alls(lease)
    end
    if db.replaces then
        rooms.note_replace(lease)
    end
    return lease
end

local function claim_on(lease, name)
    for i, claim in ipairs(lease.claims) do
        if claim.name == name then
            return claim, i
        end
    end
end

-- What a claim leaves to nobody else: of all, more than there can be.
function rooms.kept_of(claim)
    return claim.is_all and 2 ^ 20 or claim.count
end

function rooms.is_all_held(resource)
    local low, high = of_name(resource.name)
    local member = call('ZRANGEBYLEX', HELD, low, high, 'LIMIT', '0', '1')[1]
    local lease = member and load_lease(match(member, '(%S+)$'))
    local claim = lease and claim_on(lease, resource.name)
    return claim and claim.is_all
end

-- How many of so many free units have to be there for a claim to all.
function rooms.needed_for_all(claim, n_free)
    return n_taken(claim.name) == 0 and max(n_free, 1) or math.huge
end

function rooms.packed(lease)
    local packed = {}
    for i, claim in ipairs(lease.claims) do
        packed[i] = {claim.name, claim.count, claim.token, claim.definition, claim.limit, claim.units}
    end
    local fields = {lease.state, lease.incarnation, lease.priority, lease.ticket, lease.uid, lease.shared,
        lease.holder, lease.info, packed, lease.road or false, lease.above or false, lease.since,
        lease.heir}
    for i = 1, lease.more and #lease.more or 0 do
        fields[12], fields[13] = lease.since or false, lease.heir or false
        fields[13 + i] = lease.more[i]
    end
    batch.records[lease.key] = nil
    return cmsgpack.pack(fields)
end

local function write_lease(lease)
    call('HSET', LEASES, lease.key, rooms.packed(lease))
end

-- The member says whose identity it is, whether or not the resource now shares identities.
local function identity_member(lease, claim)
    return claim.name .. ' ' .. lease.holder .. ' ' .. lease.uid .. ' ' .. lease.key
end

-- So many have an identity at a name, or wait for it: base/replace.h has the same. Calls look at no more.
rooms.MAX_OF_IDENTITY = 50

-- The KEYs of the leases, other than `but`, that have an identity of a user, or ("*") of any user.
local function owners_of_identity(name, holder, uid, but)
    local whose = name .. ' ' .. holder .. (uid == '*' and '' or ' ' .. uid)
    local low, high = of_name(whose)
    local owners = {}
    for _, member in ipairs(call('ZRANGEBYLEX', IDENTITIES, low, high, 'LIMIT', 0, rooms.MAX_OF_IDENTITY)) do
        local key = match(member, '(%S+)$')
        if key ~= but and call('HEXISTS', LEASES, key) == 1 then
            owners[#owners + 1] = key
        elseif key ~= but then
            call('ZREM', IDENTITIES, member) -- a script was broken off
        end
    end
    return owners
end

-- The claims of names that have the lease's identity: not those to levels, which its client has not named.
rooms.nothing = {} -- nobody writes there

function rooms.identified(lease)
    if lease.holder == '' then
        return rooms.nothing
    end
    local levels = match(lease.info, ' levels=(%S+)')
    if not levels then
        return lease.claims
    end
    local claims = {}
    for _, claim in ipairs(lease.claims) do
        if not string.find(',' .. levels .. ',', ',' .. claim.name .. ',', 1, true) then
            claims[#claims + 1] = claim
        end
    end
    return claims
end

local function other_owners(lease, claim)
    local rules = resource_of(claim.name).definition
    local whose = rules and rules.shared and '*' or lease.uid
    return owners_of_identity(claim.name, lease.holder, whose, lease.key)
end

local function take_identities(lease)
    if lease.holder ~= '' then -- in case a script is broken off now: see forget_unbegun
        call('ZADD', OWNED, session_of(lease.session).sid, lease.key)
    end
    for _, claim in ipairs(rooms.identified(lease)) do
        call('ZADD', IDENTITIES, 0, identity_member(lease, claim))
    end
end

local function drop_identities(lease)
    for _, claim in ipairs(rooms.identified(lease)) do
        call('ZREM', IDENTITIES, identity_member(lease, claim))
    end
end

-- For a lease without a record: if it is owned, a script was broken off before it wrote the record, and has
-- left what it writes before that.
local function forget_unbegun(key)
    if call('ZSCORE', OWNED, key) then
        sweep_from(SWEEP_LEASES)
        call('ZREM', OWNED, key)
    end
end

-- The members that stand for a claim's units in a set.
local function members_of(claim, before, behind)
    local members = {}
    if claim.has_words_of ~= claim.units then
        claim.has_words_of, claim.words = claim.units, words_of(resource_of(claim.name), claim.units)
    end
    for i, word in ipairs(claim.words) do
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

-- The score is text, as are numbers in other frequent commands: Redis prints a number of Lua with up to 17 digits,
-- which takes longer than the command itself.
local function add_all(set, score, members)
    local words = {}
    n_work = n_work + #members
    for i, member in ipairs(members) do
        words[2 * i - 1], words[2 * i] = score, member
    end
    call_with_all('ZADD', set, words)
end

local function remove_all(set, members)
    n_work = n_work + #members
    call_with_all('ZREM', set, members)
end

-- Counts the units for their user.
local function count_units(lease)
    for _, claim in ipairs(lease.claims) do
        add_all(USERS, '0', user_members(lease, claim))
    end
end

-- For a lease whose record says held: a script may have been broken off before the units were taken or
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
