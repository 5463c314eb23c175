-- acquire.lua - ARGV: {ID NOWAIT PRIORITY TICKET UID SHAREDUID HOLDER INFO ABOVE N {NAME DEFINITION COUNT
-- LIMIT}*N}... Each request gets all that it asks for, or a place in line, or a refusal. The same ID gets the
-- same answer again. Several requests in one call cost little more than one.
local function granted(lease)
    return 'granted', text_of(lease.ticket), claims_text(lease)
end

local function waiting(lease)
    return 'waiting', text_of(lease.ticket), position_of(lease)
end

-- The requester's file has only the template; the name's own definition has units of another kind.
local function asks_for_other_units(resource, claim)
    local own = claim.definition ~= resource.definition_name and definition_of(claim.definition)
    return own and (own.kind == 'pool') ~= resource.is_pool
end

-- The name where another lease has this one's identity.
local function identity_taken(lease)
    for _, claim in ipairs(rooms.identified(lease)) do
        if #other_owners(lease, claim) > 0 then
            return claim.name
        end
    end
end

-- Why no release can ever satisfy the request.
local function why_never(lease)
    local name = not lease.replace and identity_taken(lease)
    if name then
        return 'held', name
    end
    for _, claim in ipairs(lease.claims) do
        local resource = resource_of(claim.name)
        if not resource.definition then
            return 'unknown', claim.name
        end
        if asks_for_other_units(resource, claim) then
            return 'differs', claim.name
        end
        lease.is_fair = lease.is_fair or resource.definition.fair
        local most = min(max_of(resource, own_limit(claim)), resource.burst)
        local quota = resource.definition['max-units-per-user']
        if claim.count > most or (quota > 0 and (claim.is_all or claim.count > quota)) then
            return 'impossible', claim.name
        end
    end
end

-- A request that does not want to wait gets the strongest reason.
local function why_not_now(lease)
    local code = db.grace and 'grace' or 'would-wait'
    local about = lease.replace and made.newest.name_owned(lease) or lease.claims[1].name
    for _, claim in ipairs(lease.claims) do
        local resource = resource_of(claim.name)
        if resource.paused then
            return 'paused', claim.name
        elseif limit_of(resource, own_limit(claim)) == 0 then
            code, about = 'closed', claim.name
        elseif code == 'would-wait' and claim.count > quota_left_for(lease, resource) then
            code, about = 'quota', claim.name
        end
    end
    return code, about
end

local function full_queue(lease, n_leave)
    for _, claim in ipairs(lease.claims) do
        local resource = resource_of(claim.name)
        if n_waiting(claim.name) - n_leave >= resource.definition['max-waiters'] then
            return claim.name
        end
    end
    for _, claim in ipairs(lease.replace and rooms.identified(lease) or {}) do
        if 1 + #other_owners(lease, claim) - n_leave > rooms.MAX_OF_IDENTITY then
            return claim.name
        end
    end
end

local function has_all(lease)
    for _, claim in ipairs(lease.claims) do
        if not has(lease, claim) then
            return false
        end
    end
    return true
end

local function may_go(lease)
    return not db.grace and not why_aside(lease) and has_all(lease)
end

-- The script that wrote this lease was broken off before it had written all that the record says. If it was
-- granting from a queue, and the lease has not left that queue, the lease waits there again.
local function mend(known)
    if not made.turns.stands_in_line(known) then
        drop_lease(known)
        return nil
    end
    made.turns.take_grant_back(known)
    made.roads.mark_all_dirty(known)
    return known
end

-- The lease as an earlier call has left it, if there was one.
local function known_lease(key)
    local known = load_lease(key)
    if known and known.state == 'H' and not has_its_units(known) then
        known = mend(known)
    end
    return known
end

local function wait(lease)
    call('ZADD', OWNED, session_of(ME).sid, lease.key)
    take_identities(lease)
    enter_queues(lease)
end

-- `first`: or nil. With a rank, the lease's own place may be the earlier one.
local function take_place_of(lease, first)
    local ticket = first and made.newest.ticket_after(lease, first)
    if ticket and (ticket > MAX_CREDIBLE or ticket < lease.ticket) then
        lease.ticket, lease.order = ticket, nil
        lease.info = lease.info .. (match(first.info, ' rank=%d+') or '') -- among its user's words
    end
end

local owned -- by key, before the call; nil: not looked up

local function is_owned(key)
    if owned[key] == nil then
        return call('ZSCORE', OWNED, key)
    end
    return owned[key]
end

-- What is needed to begin with, for all of them at once.
local function look_up(leases)
    local keys, n_numbers = {}, 0
    for i, lease in ipairs(leases) do
        keys[i] = lease.key
        n_numbers = n_numbers + 1 + #lease.claims
    end
    owned = {}
    if #keys > 1 then
        batch.look_up(keys)
        owned = batch.ask('ZMSCORE', OWNED, keys)
    end
    batch.reserve_numbers(n_numbers)
end

local function acquire(lease)
    local known, older, first = known_lease(lease.key), {}, nil
    if known then
        if known.state == 'R' then
            return 'refused', 'replaced', known.heir
        elseif known.replace then
            made.newest.take_over(known)
        end
        if known.state == 'H' then
            return granted(known)
        end
        if known.road then
            made.roads.note_elsewhere(known)
        end
        return waiting(known)
    elseif is_owned(lease.key) then
        made.turns.leave_unbegun(lease)
    end
    lease.heir = db.replaces and lease.ticket > 0 and made.newest.heir_of(lease) or nil
    if lease.heir then
        call('ZADD', OWNED, session_of(ME).sid, lease.key)
        lease.state = 'R'
        write_lease(lease)
        return 'refused', 'replaced', lease.heir
    end
    local code, about = why_never(lease)
    if code then
        return 'refused', code, about
    elseif lease.ticket > 0 then
        note_move()
        raise_number(lease.ticket)
    else
        lease.ticket = next_number()
        if lease.is_fair and db.fairs then
            made.fair.rank(lease)
        end
    end
    if lease.replace then
        older, first = made.newest.older_than(lease)
    end
    if may_go(lease) and choose_units(lease) then
        take_place_of(lease, first)
        for _, claim in ipairs(db.keeps and lease.claims or {}) do
            mark_dirty(claim.name) -- it may stand before a lease for which units were kept
        end
        take_identities(lease)
        give_tokens(lease)
        hold_units(lease)
        if lease.is_fair and db.fairs then
            made.fair.leave(lease)
        end
        if first then
            made.newest.take_over(lease, older)
        end
        return granted(lease)
    end
    about = lease.above and made.circles.name_kept_from_itself(lease)
    if about then
        return 'refused', 'ancestor', about
    elseif lease.wants_now then
        return 'refused', why_not_now(lease)
    end
    about = full_queue(lease, #older)
    if about then
        return 'refused', 'queue-full', about
    end
    take_place_of(lease, first)
    wait(lease)
    if lease.replace then
        made.newest.take_over(lease, older)
    end
    return waiting(lease)
end

scripts.acquire = {may_recall = true}

function scripts.acquire.run()
    settle() -- what time has freed goes to waiters before new requests are answered
    local leases, rows, at = {}, {}, 5
    while at <= #ARGV do
        local word = ARGV[at + 1]
        leases[#leases + 1], at = parse_lease(at, 4)
        leases[#leases].wants_now = word == '1'
    end
    look_up(leases)
    if #leases == 1 then -- as in most calls: no table of rows
        return finish('ok', acquire(leases[1]))
    end
    for _, lease in ipairs(leases) do
        append(rows, {acquire(lease)})
    end
    return finish('ok', unpack(rows))
end
