-- ---- taking and freeing units ----

-- Writes the lease down as holder of its claims' units, which nobody has.
local function hold_units(lease)
    local members = {}
    for _, claim in ipairs(lease.claims) do
        append(members, held_members(lease, claim))
        local resource = resource_of(claim.name)
        rooms.note_taken(resource, claim.units)
        if resource.definition and resource.definition['max-units-per-user'] > 0 then
            mark_if_waited_for(claim.name) -- another request of that user may not fit any more
        end
    end
    lease.state, lease.since = 'H', lease.since or db.clock
    call('ZADD', OWNED, session_of(lease.session).sid, lease.key)
    write_lease(lease)
    add_all(HELD, '0', members)
    count_units(lease)
end

-- Chooses the units of each claim; nil, and the number of a claim whose units are too few or too scattered.
local function choose_units(lease)
    for i, claim in ipairs(lease.claims) do
        local units = pick_units(claim, #lease.claims)
        if not units then
            for _, other in ipairs(lease.claims) do
                other.units = {}
            end
            return nil, i
        end
        claim.units = units
    end
    return true
end

local function give_tokens(lease)
    for _, claim in ipairs(lease.claims) do
        local resource = resource_of(claim.name)
        claim.token = next_number()
        if resource.is_rated then
            made.rates.note_grant(resource, claim.count)
        end
    end
end

local function free_units(lease, claim, resource)
    local members, users, resting = {}, {}, {}
    n_work = n_work + 2
    local words = words_of(resource, claim.units)
    for _, word in ipairs(words) do
        local member = claim.name .. ' ' .. word .. ' ' .. lease.key
        if call('ZSCORE', HELD, member) then -- another lease may have it by now
            members[#members + 1] = member
            users[#users + 1] = claim.name .. ' ' .. lease.uid .. ' ' .. word
            resting[#resting + 1] = claim.name .. ' ' .. word
        end
    end
    remove_all(USERS, users)
    local cooldown = resource.definition and resource.definition.cooldown or 0
    if cooldown > 0 then
        add_all(REST, text_of(db.clock + cooldown), resting)
        noted.first[REST] = nil
        for i, where in ipairs(resting) do
            resting[i] = where .. ' ' .. RESTING
        end
        add_all(HELD, '0', resting)
    end
    remove_all(HELD, members)
    if not resource.is_pool then
        rooms.note_freed(resource, cooldown == 0 and claim.units or {}, #members == #words)
        return
    end
    for i, member in ipairs(members) do
        members[i] = match(member, '^%S+ (%S+)')
    end
    made.pools.note_freed(resource, members, cooldown > 0)
end

local function free_claim(lease, claim)
    local resource = resource_of(claim.name)
    free_units(lease, claim, resource)
    local rules = resource.definition
    if rules and rules['max-units-per-user'] > 0 then
        made.turns.wake_user(resource, lease.uid)
    end
    rooms.forget_if_idle(resource)
end

-- All that a lease has but its record, which says that it has ended, or goes next.
function rooms.leave_all(lease)
    for _, claim in ipairs(lease.claims) do
        mark_if_waited_for(claim.name)
    end
    if lease.above then
        made.circles.forget(lease)
    end
    if lease.state ~= 'H' then
        leave_queues(lease)
    elseif #lease.claims > 1 then
        made.roads.leave_road(lease) -- its grant may have been broken off
    end
    for _, claim in ipairs(lease.claims) do
        free_claim(lease, claim)
    end
    drop_identities(lease)
    if db.replaces and lease.holder ~= '' then
        made.newest.wake(lease)
    end
end

-- Ends a lease, held or waiting. If it is broken off, the next call finishes it. `ending` says how, for the history;
-- nil: it is no end, the lease goes on somehow.
local function drop_lease(lease, ending)
    rooms.leave_all(lease)
    batch.records[lease.key] = nil
    if ending and db.history then
        made.history.note(lease, ending)
    end
    if db.ended then
        db.ended[#db.ended + 1] = lease.key
    else
        call('HDEL', LEASES, lease.key)
        call('ZREM', OWNED, lease.key)
    end
end

-- The same for the key of a lease, which may have no record: `lease` is what load_lease(key) says.
local function drop_key(key, lease, ending)
    if lease then
        drop_lease(lease, ending)
    else
        forget_unbegun(key)
    end
end

-- The same for several, whose records go together, and last: if the call is broken off before that, a later one
-- ends the leases again. `endings` by key.
function batch.drop(keys, endings)
    if #keys == 1 then
        drop_key(keys[1], load_lease(keys[1]), endings[keys[1]])
        return
    end
    batch.look_up(keys)
    db.ended = {}
    for _, key in ipairs(keys) do
        drop_key(key, load_lease(key), endings[key])
    end
    local ended = db.ended
    db.ended = nil
    call_with_all('HDEL', LEASES, ended)
    call_with_all('ZREM', OWNED, ended)
end
