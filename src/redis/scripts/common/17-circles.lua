-- ---- nested requests that wait for each other: doc/ordering.md. For calls while any such request waits ----
function make.circles()
    local MAX_REQUESTS = 64 -- more than so many are not noted
    local MAX_LOOKED_AT = 4000 -- leases and places, in one search; if that is too few, none is in a circle
    local circles = {}

    -- ---- `nested` of the database: the KEYs of requests that wait under leases ----

    local function set_nested(keys)
        db.nested = #keys > 0 and table.concat(keys, ' ')
        if db.nested then
            call('HSET', DB, 'nested', db.nested)
        else
            call('HDEL', DB, 'nested')
        end
    end

    local function nested_but(lease)
        local keys, is_in = {}, false
        for _, key in ipairs(split(db.nested or '', ' ')) do
            if key == lease.key then
                is_in = true
            else
                keys[#keys + 1] = key
            end
        end
        return keys, is_in
    end

    -- The lease begins to wait. Before its record is written: without one, it is no member. The dirty name has the
    -- search made later, if the script is broken off, or in a grace.
    function circles.note(lease)
        mark_dirty(lease.claims[1].name)
        local keys, is_in = nested_but(lease)
        if not is_in and #keys < MAX_REQUESTS then
            keys[#keys + 1] = lease.key
            set_nested(keys)
        end
        db.may_have_circle = db.nested
    end

    -- The lease waits no longer.
    function circles.forget(lease)
        local keys, is_in = nested_but(lease)
        if is_in then
            set_nested(keys)
        end
    end

    -- Whether others wait behind a member of QUEUE, there or elsewhere.
    function circles.is_before_one(member)
        local name = match(member, '^%S+')
        local low, high = of_name(name)
        return call('ZRANGEBYLEX', QUEUE, '(' .. member, high, 'LIMIT', 0, 1)[1]
            or call('ZRANGEBYLEX', ELSEWHERE, '(' .. member, high, 'LIMIT', 0, 1)[1]
            or call('ZRANGEBYLEX', ASIDE, low, high, 'LIMIT', 0, 1)[1]
    end

    -- ---- the search ----

    local leases, n_looked_at -- by KEY
    local never_owns
    local n_below -- by the KEY of a lease: how many of the requests run under it
    local inside -- by "NAME" and "NAME UID": units that leases with requests below them have; by " KEY": whether it has any
    local lines -- by name: the members of QUEUE, and from which on one may be in the way

    local function lease_at(key)
        if leases[key] == nil then
            n_looked_at = n_looked_at + 1
            leases[key] = load_lease(key) or false
        end
        return leases[key]
    end

    local function keys_above(lease)
        local keys = {}
        for i, id in ipairs(split(lease.above, ',')) do
            keys[i] = lease.session .. '/' .. id
        end
        return keys
    end

    -- Of other users only where nobody but the lease is concerned, as anybody can name another's.
    local function above_at(lease, key, of_any_user)
        local above = lease_at(key)
        return above and above.state == 'H' and (of_any_user or above.uid == lease.uid) and above
    end

    -- The units of its ancestors are inside, by 1, or not any more, by -1.
    local function put_inside(lease, by, of_any_user)
        for _, key in ipairs(keys_above(lease)) do
            local above = above_at(lease, key, of_any_user)
            local n = n_below[key] or 0
            n_below[key] = n + by
            local changes = above and min(n, n + by) == 0
            for _, claim in ipairs(changes and above.claims or {}) do
                local of_user = claim.name .. ' ' .. above.uid
                inside[claim.name] = (inside[claim.name] or 0) + by * rooms.kept_of(claim)
                inside[of_user] = (inside[of_user] or 0) + by * claim.count
            end
            if changes then
                inside[' ' .. key] = by > 0
            end
        end
    end

    -- Even when everything outside has come back. A limit that an operator has lowered may rise.
    local function never_has(claim)
        local n, resource = inside[claim.name] or 0, resource_of(claim.name)
        return n > 0 and resource.definition and rooms.kept_of(claim) > max_of(resource, own_limit(claim)) - n
    end

    local function never_fits(lease, claim)
        local n, resource = inside[claim.name .. ' ' .. lease.uid] or 0, resource_of(claim.name)
        local most = resource.definition and resource.definition['max-units-per-user'] or 0
        return n > 0 and most > 0 and claim.count > most - n
    end

    local function begin_search()
        leases, n_looked_at, n_below, inside, lines = {}, 0, {}, {}, {}
    end

    -- The first name of which its own ancestors leave the lease no room, whoever else gives something back.
    function circles.name_kept_from_itself(lease)
        begin_search()
        put_inside(lease, 1, true)
        for _, claim in ipairs(lease.claims) do
            if never_has(claim) or never_fits(lease, claim) or never_owns(lease, claim) then
                return claim.name
            end
        end
    end

    -- Such a waiter steps aside when it is the first in its queue.
    local function fits_sometime(lease)
        for _, claim in ipairs(lease.claims) do
            if never_fits(lease, claim) then
                return false
            end
        end
        return true
    end

    -- Of a member of a queue: whether it wants more there than it will ever have, and whether it is in the way.
    local function stands_for_ever(name, member)
        local other = lease_at(match(member, '(%S+)$'))
        local theirs, number = nil, nil
        if other and other.state == 'W' then
            theirs, number = claim_on(other, name)
        end
        local wants_more = theirs and (not other.road or other.road.station == number) and never_has(theirs)
        return wants_more, wants_more and fits_sometime(other)
    end

    -- The first member of that queue that is in the way for ever. As long as nothing more comes to be inside, those
    -- before it stay out of the way, unless a quota has kept them.
    local function first_in_the_way(name)
        local low, high = of_name(name)
        local line = lines[name] or {members = call('ZRANGEBYLEX', QUEUE, low, high, 'LIMIT', 0, MAX_LOOKED_AT)}
        lines[name] = line
        local at = line.at or 1
        line.at = nil
        while line.members[at] and n_looked_at <= MAX_LOOKED_AT do
            local wants_more, is_in_the_way = stands_for_ever(name, line.members[at])
            n_looked_at = n_looked_at + 1
            if is_in_the_way then
                line.at = line.at or at
                return line.members[at]
            end
            line.at = line.at or wants_more and at or nil -- from there on again
            at = at + 1
        end
        line.at = line.at or at
        return nil
    end

    -- Whether somebody stands before it for ever.
    local function is_barred(lease, claim)
        local first = (inside[claim.name] or 0) > 0 and first_in_the_way(claim.name)
        return first and first < claim.name .. ' ' .. order_text(lease) or false
    end

    -- Its identity: the lease that has it waits for its own requests, unless it is being stopped; or it waits itself, for
    -- what it will never have.
    function never_owns(lease, claim)
        local owner = lease.replace and made.newest.owner_at(lease, claim)
        if not owner or owner.state == 'H' then
            return owner and inside[' ' .. owner.key] and not owner.heir
        end
        for _, one in ipairs(owner.claims) do
            if never_has(one) or never_fits(owner, one) or is_barred(owner, one) then
                return true
            end
        end
    end

    local function is_never_had(lease, claim)
        return never_has(claim) or never_fits(lease, claim) or never_owns(lease, claim) or is_barred(lease, claim)
    end

    -- The first name of which it will never have what it wants.
    local function name_never_had(lease)
        for _, claim in ipairs(lease.claims) do
            if is_never_had(lease, claim) then
                return claim.name
            end
        end
    end

    -- The nested requests that wait, by their records; forgets the others.
    local function find_requests()
        local keys, above, requests = split(db.nested or '', ' '), {}, {}
        batch.look_up(keys)
        for _, key in ipairs(keys) do
            local lease = lease_at(key)
            if lease and lease.state == 'W' and lease.above then
                requests[#requests + 1] = lease
                append(above, keys_above(lease))
            end
        end
        if #requests < #keys then
            for i, lease in ipairs(requests) do
                keys[i] = lease.key
            end
            set_nested({unpack(keys, 1, #requests)})
        end
        batch.look_up(above)
        for _, lease in ipairs(requests) do
            put_inside(lease, 1)
        end
        return requests
    end

    -- Those that are left when all have been taken out that are served once everybody outside has given
    -- everything back, one after the other.
    local function reduce(requests)
        local n
        repeat
            n = #requests
            for i = n, 1, -1 do
                if n_looked_at > MAX_LOOKED_AT or not name_never_had(requests[i]) then
                    put_inside(table.remove(requests, i), -1)
                end
            end
        until #requests == n
    end

    -- Without those for whom none of the others waits, one after the other: to deny them would help nobody.
    local function circle_of(requests)
        local wants, n_who_want = {}, {} -- by lease, by name: the claim; by name

        local function count(lease, by)
            for name in pairs(wants[lease]) do
                n_who_want[name] = (n_who_want[name] or 0) + by
            end
        end

        local function is_waited_for(lease)
            for _, key in ipairs(keys_above(lease)) do
                local above = above_at(lease, key)
                for _, claim in ipairs(above and above.claims or {}) do
                    local own = wants[lease][claim.name]
                    if (n_who_want[claim.name] or 0) > (own and 1 or 0) or own and is_barred(lease, own) then
                        return true -- by another one, or by itself behind somebody who wants it
                    end
                end
            end
            return false
        end

        for _, lease in ipairs(requests) do
            wants[lease] = {}
            for _, claim in ipairs(lease.claims) do
                wants[lease][claim.name] = is_never_had(lease, claim) and claim or nil
            end
            count(lease, 1)
        end
        local circle, n = {unpack(requests)}, nil
        repeat
            n = #circle
            for i = n, 1, -1 do
                if not is_waited_for(circle[i]) then
                    count(table.remove(circle, i), -1)
                end
            end
        until #circle == n
        return n > 0 and circle or requests
    end

    -- Asks the daemon of the last one of those in a circle to deny it. From now on it is not noted. Returns
    -- whether there was one.
    function circles.break_one()
        begin_search()
        local requests, last = find_requests(), nil
        reduce(requests)
        n_work = n_work + n_looked_at
        for _, lease in ipairs(circle_of(requests)) do
            last = (not last or order_text(lease) > order_text(last)) and lease or last
        end
        if last then
            emit(last.session, format('circle %s %s', last.id, name_never_had(last)))
            circles.forget(last)
        end
        return last ~= nil
    end

    return circles
end
