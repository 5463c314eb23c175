-- ---- requests that take the place of older ones: doc/ordering.md. For calls of a database that has had one ----
--
-- A *group* is the leases of one identity, user and set of names, but for levels. A replaced one has the state R: it is
-- in no queue, has no identity, and says to whoever asks for it again which is its heir, until its daemon gives it back.
function make.newest()
    local newest = {}

    local function has_all_of(claims, others)
        if #claims ~= #others then
            return false
        end
        for _, claim in ipairs(others) do
            if not claim_on({claims = claims}, claim.name) then
                return false
            end
        end
        return true
    end

    local function is_of_group(lease, other)
        return other.uid == lease.uid and has_all_of(rooms.identified(lease), rooms.identified(other))
    end

    -- The others of its group.
    local function group_of(lease)
        local group, claim = {}, rooms.identified(lease)[1]
        for _, key in ipairs(claim and other_owners(lease, claim) or {}) do
            local other = load_lease(key)
            if is_of_group(lease, other) then
                group[#group + 1] = other
            end
        end
        return group
    end

    -- Since when it waits, or is held, by its host's clock.
    local function begun_at(lease)
        return tonumber(match(lease.info, ' at=(%d+)') or 0)
    end

    -- Whoever has taken a place has the ticket of the one who had it, and a rank, or a ticket that an operator has moved
    -- before all others, says nothing: then the hosts' clocks do.
    local function is_older(lease, other)
        local differ = lease.ticket ~= other.ticket and max(lease.ticket, other.ticket) <= MAX_CREDIBLE
        if differ and not rooms.is_fair(lease) then
            return lease.ticket < other.ticket
        elseif not lease.replace ~= not other.replace then
            return not lease.replace -- it has taken no place
        end
        return begun_at(lease) <= begun_at(other)
    end

    -- Of a lease that comes back: a newer one that takes places, if there is one.
    function newest.heir_of(lease)
        for _, other in ipairs(group_of(lease)) do
            if other.replace and other.state ~= 'R' and is_older(lease, other) then
                return other.key
            end
        end
    end

    -- One that is to take a place has no identity until it is granted.
    function newest.has_identity(lease)
        return lease.state == 'H' or lease.state == 'W' and not lease.replace
    end

    -- Who has the lease's identity there; nil: nobody. Those whose place a new request takes are not in its way.
    function newest.owner_at(lease, claim)
        local waits = lease.replace and claim_on({claims = rooms.identified(lease)}, claim.name)
        for _, key in ipairs(waits and other_owners(lease, claim) or {}) do
            local other = load_lease(key)
            local makes_room = not lease.record and other.state == 'W' and is_of_group(lease, other)
            if newest.has_identity(other) and not makes_room then
                return other
            end
        end
    end

    -- The first name where somebody has it, and who.
    function newest.name_owned(lease)
        for _, claim in ipairs(lease.replace and lease.claims or {}) do
            local owner = newest.owner_at(lease, claim)
            if owner then
                return claim.name, owner
            end
        end
    end

    -- Those of its group whose place a new request takes, and the first of these in the order of the queues; nil: there
    -- is none.
    function newest.older_than(lease)
        local older, first = {}, nil
        for _, other in ipairs(lease.replace and group_of(lease) or {}) do
            if other.state ~= 'H' then
                older[#older + 1] = other
                first = (not first or order_text(other) < order_text(first)) and other or first
            end
        end
        return older, first
    end

    -- The ticket with which a lease stands in that one's place.
    function newest.ticket_after(lease, other)
        return db.fairs and rooms.is_fair(lease) and made.fair.ticket_after(lease, other) or other.ticket
    end

    -- Its daemon hears of it first: that is safe, whatever comes of the new one.
    local function end_wait(lease, heir)
        if lease.state == 'W' then
            note_move()
            emit(lease.session, format('replaced %s %s', lease.id, heir))
            lease.state, lease.heir = 'R', heir
            write_lease(lease)
        end
        rooms.leave_all(lease)
    end

    -- The lease has come to wait, or to hold, in the place of these. `older` is nil where that is done again, as it may
    -- have been broken off, or as the lease has come back.
    function newest.take_over(lease, older)
        for _, other in ipairs(older or group_of(lease)) do
            if older or other.state ~= 'H' and is_older(other, lease) then
                if lease.road and other.state == 'W' and lease.state == 'W'
                    and lease.ticket == newest.ticket_after(lease, other) and has_all_of(lease.claims, other.claims) then
                    made.roads.inherit(lease, other)
                end
                end_wait(other, lease.key)
            end
        end
        newest.stop_holder(lease)
    end

    -- Asks the daemon of the one that runs, once, to stop it for its user.
    function newest.stop_holder(lease)
        for _, other in ipairs(lease.replace == 'running' and lease.state == 'W' and group_of(lease) or {}) do
            if other.state == 'H' and not other.heir then
                emit(other.session,
                    format('withdraw %s %s|lease%%20%s%%20replaces%%20it', other.id, lease.uid, lease.key))
                other.heir = lease.key
                write_lease(other)
            end
        end
    end

    -- The lease has no identity any more: those that wait for it go back into line.
    function newest.wake(lease)
        for _, claim in ipairs(lease.claims) do
            for _, key in ipairs(other_owners(lease, claim)) do
                local member = claim.name .. ' i ' .. order_text(load_lease(key))
                if call('ZSCORE', ASIDE, member) then
                    made.turns.step_back(member)
                end
            end
        end
    end

    return newest
end
