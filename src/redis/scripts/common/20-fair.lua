-- ---- order = fair: doc/ordering.md. For calls with a request for something of that order ----
--
-- A rank is a ticket that says whose turn it is. IDENTITIES has a member `LINE FLOW RANK KEY` for each request that
-- waits with one. LINE is `NAME  PRIO`, of its first fair resource; FLOW is `uUID` or `sWORD`. The field `fair LINE`
-- of DB is the largest rank that has been granted there while others waited; it goes before the line's last member.
--
-- A user's words take turns as well: of each request for that resource alone, whose flow is its user's, there is
-- `LINE wUID COUNT =WORD FIRST KEY`, too. FIRST is the rank with which it came, in its info once that has changed. The
-- field `word LINE FLOW` of DB is that of the flow's last grant; it goes before the flow's last member.

-- Whether something that the lease wants is given in turns.
function rooms.is_fair(lease)
    for _, claim in ipairs(lease.claims) do
        local rules = resource_of(claim.name).definition
        if rules and rules.fair then
            return true
        end
    end
    return false
end

function make.fair()
    local fair = {}

    local function line_of(lease, name)
        return format('%s  %05d', name, 50000 - lease.priority)
    end

    local function word_of(lease)
        return match(lease.info, ' share=(%S+)') or ''
    end

    local function flow_of(lease, rules)
        local word = rules.fair == 'share' and word_of(lease) or ''
        return word ~= '' and 's' .. word or 'u' .. lease.uid
    end

    local function first_rank(lease)
        return tonumber(match(lease.info, ' rank=(%d+)') or lease.ticket)
    end

    local function same_count(lease, line) -- the words of its user that take turns with the lease's
        local claim = lease.claims[1]
        return format('%s w%s %s', line, lease.uid, claim.is_all and 'all' or text_of(claim.count))
    end

    local function word_member(lease, line)
        return format('%s =%s %016.0f %s', same_count(lease, line), word_of(lease), first_rank(lease), lease.key)
    end

    local function member_of(lease, line, flow)
        return format('%s %s %016.0f %s', line, flow, lease.ticket, lease.key)
    end

    -- The claim whose resource gives the lease its rank, and its line and flow there; nil: none does.
    local function ranked_by(lease)
        local first, rules
        for _, claim in ipairs(lease.claims) do
            local own = resource_of(claim.name).definition
            if own and own.fair and (not first or claim.name < first.name) then
                first, rules = claim, own
            end
        end
        if first then
            return first, line_of(lease, first.name), flow_of(lease, rules)
        end
    end

    -- In the upper half of the tickets each request costs 1: nobody can use them up for all.
    local function cost_of(claim, rank)
        return rank >= MAX_CREDIBLE / 2 and 1 or claim.is_all and max(limit_of(resource_of(claim.name), own_limit(claim)), 1) or claim.count
    end

    local function some_of(line, n)
        local low, high = of_name(line)
        return call('ZRANGEBYLEX', IDENTITIES, low, high, 'LIMIT', 0, n)
    end

    -- Whether a member of IDENTITIES is of a request that does not wait there any more.
    function fair.is_left(member)
        local flow, rank, key = match(member, '^%S+  %d+ (%a).* (%d+) (%S+)$')
        local lease = key and load_lease(key)
        local waits = lease and lease.state == 'W'
        return key and not (waits and (flow == 'w' and first_rank(lease) or lease.ticket) == tonumber(rank))
    end

    -- A script was broken off: later calls look at all members.
    function fair.look_for_left()
        sweep_from(SWEEP_LEASES)
    end

    -- Removes any member of IDENTITIES.
    function fair.remove(member)
        local line, flow = match(member, '^(%S+  %d+) (%S+)')
        if line and #some_of(line, 2) < 2 then
            call('HDEL', DB, 'fair ' .. line)
        end
        if line and #some_of(line .. ' ' .. flow, 2) < 2 then
            call('HDEL', DB, 'word ' .. line .. ' ' .. flow)
        end
        call('ZREM', IDENTITIES, member)
    end

    local function last_rank(line, flow) -- 0: none waits
        local low, high = of_name(line .. ' ' .. flow)
        while true do
            local member = call('ZREVRANGEBYLEX', IDENTITIES, high, low, 'LIMIT', 0, 1)[1]
            if not member then
                return 0
            elseif not fair.is_left(member) then
                return tonumber(match(member, '(%d+) %S+$'))
            end
            fair.remove(member) -- a script was broken off
        end
    end

    -- Whose turn it is for a new request: the largest rank that was granted there; but those that come back from
    -- aside have smaller ones. So for one of another flow, of which none waits, it is at most the rank of the first in
    -- line. It is at least what that has paid for; if nobody is in line, and nothing is known, what any waiter has paid
    -- for. 0: unknown.
    local function turn_of(lease, name, line, is_first_of_flow)
        local low, high = of_name(format('%s %05d', name, 50000 - lease.priority))
        local turn = tonumber(call('HGET', DB, 'fair ' .. line) or 0)
        local first = call('ZRANGEBYLEX', QUEUE, low, high, 'LIMIT', 0, 1)[1]
        if not first and turn == 0 then -- all of them are aside, or stand elsewhere
            first = some_of(line, 1)[1]
            first = first and not fair.is_left(first) and first
        end
        local other = first and load_lease(match(first, '(%S+)$'))
        local theirs = other and claim_on(other, name)
        if theirs then
            turn = max(turn, other.ticket - cost_of(theirs, other.ticket))
            return is_first_of_flow and min(turn, other.ticket) or turn
        end
        return turn
    end

    -- Where others wait, a new request gets a rank in place of its ticket.
    function fair.rank(lease)
        local claim, line, flow = ranked_by(lease)
        local is_waited_for = claim and #some_of(line, 1) > 0
        local last = is_waited_for and last_rank(line, flow)
        local before = last and max(turn_of(lease, claim.name, line, last == 0), last) or 0
        if before > 0 then
            lease.ticket = min(before + cost_of(claim, before), MAX_CREDIBLE)
        end
    end

    -- The ticket of a lease that takes the place of another: its rank costs what it wants itself.
    function fair.ticket_after(lease, other)
        local claim, theirs = ranked_by(lease), ranked_by(other)
        if not claim or not theirs or claim.name ~= theirs.name or other.ticket > MAX_CREDIBLE then
            return other.ticket
        elseif lease.priority ~= other.priority then
            return MAX_CREDIBLE -- ranks of another priority may lie far behind
        end
        local before = max(other.ticket - cost_of(theirs, other.ticket), 0)
        return min(before + cost_of(claim, before), MAX_CREDIBLE)
    end

    -- The lease waits, with its ticket. Before its record is written.
    function fair.note(lease)
        local claim, line, flow = ranked_by(lease)
        if not claim or lease.ticket > MAX_CREDIBLE then
            return
        elseif not db.fairs then
            db.fairs = '1'
            call('HSET', DB, 'fairs', '1')
        end
        call('ZADD', IDENTITIES, '0', member_of(lease, line, flow))
        if #lease.claims == 1 and resource_of(claim.name).definition.fair ~= 'share' then
            call('ZADD', IDENTITIES, '0', word_member(lease, line))
        end
    end

    -- A grant moves the turn on. Later tickets are larger: where some also wait for something that has no turns, only
    -- finitely many stand before the others there.
    local function move_on(lease, line)
        if lease.ticket > tonumber(call('HGET', DB, 'fair ' .. line) or 0) then
            raise_number(lease.ticket)
            call('HSET', DB, 'fair ' .. line, text_of(lease.ticket))
        end
    end

    -- Notes the word of a grant, while others of the flow wait; `own`: members of the lease.
    local function end_word(lease, line, own, is_granted)
        local flow = line .. ' u' .. lease.uid
        local others = some_of(flow, 2)
        if #others == 0 or #others == 1 and others[1] == own[1] then
            call('HDEL', DB, 'word ' .. flow)
        elseif is_granted then
            call('HSET', DB, 'word ' .. flow, word_of(lease))
        end
    end

    -- The lease does not wait in that place any more.
    function fair.leave(lease)
        local is_granted = lease.state == 'H' and lease.ticket <= MAX_CREDIBLE
        for _, claim in ipairs(lease.claims) do
            local line, rules = line_of(lease, claim.name), resource_of(claim.name).definition
            local own, n_others = {member_of(lease, line, 'u' .. lease.uid), -- by any rules
                member_of(lease, line, 's' .. word_of(lease)), word_member(lease, line)}, 0
            local found = some_of(line, #own + 1)
            for _, member in ipairs(found) do
                n_others = n_others + (member ~= own[1] and member ~= own[2] and member ~= own[3] and 1 or 0)
            end
            if #found > 0 and n_others == 0 then
                call('HDEL', DB, 'fair ' .. line)
            elseif #found > 0 and is_granted and rules and rules.fair then
                move_on(lease, line)
            end
            if #found > 0 then
                end_word(lease, line, own, is_granted)
                call('ZREM', IDENTITIES, unpack(own))
            end
        end
    end

    -- ---- the words of a user ----

    -- The request in turn of the lease's user, if it may go in the place of the lease: its word is the next one after
    -- that of the last grant. Nil: that is the lease itself, or unknown.
    function fair.next_of_user(lease)
        local MAX_LOOKED_AT = 30 -- that stand aside
        local claim, line, flow = ranked_by(lease)
        local rules = claim and #lease.claims == 1 and resource_of(claim.name).definition
        if not rules or rules.fair == 'share' or rules['max-units-per-user'] > 0 or lease.ticket > MAX_CREDIBLE then
            return nil
        end
        local last = call('HGET', DB, 'word ' .. line .. ' ' .. flow)
        if not last then
            return nil
        end
        local low, high = of_name(same_count(lease, line))
        local from = '(' .. string.sub(low, 2) .. '=' .. last .. '!' -- behind that word
        for _ = 1, MAX_LOOKED_AT do
            local member = call('ZRANGEBYLEX', IDENTITIES, from, high, 'LIMIT', 0, 1)[1]
            local other = member and load_lease(match(member, '(%S+)$'))
            if member and match(member, '(%S+)$') == lease.key then
                return nil
            elseif other and other.state == 'W' and call('ZSCORE', QUEUE, claim.name .. ' ' .. order_text(other)) then
                return other.ticket ~= lease.ticket and other or nil -- a daemon may have said so
            elseif not member and from == low then
                return nil
            end
            from = member and '(' .. member or low -- round again
        end
    end

    -- The two have each other's tickets, and places.
    function fair.swap(lease, other)
        local name, line = lease.claims[1].name, line_of(lease, lease.claims[1].name)
        local flow, left, places, records = 'u' .. lease.uid, {}, {}, {}
        note_move()
        for i, one in ipairs({lease, other}) do
            left[i], places[i] = member_of(one, line, flow), name .. ' ' .. order_text(one)
            if not match(one.info, ' rank=') then
                one.info = one.info .. ' rank=' .. text_of(one.ticket)
            end
        end
        lease.ticket, other.ticket, lease.order, other.order = other.ticket, lease.ticket, nil, nil
        mark_dirty(name)
        for _, one in ipairs({lease, other}) do
            add_to_line(QUEUE, name .. ' ' .. order_text(one))
            call('ZADD', IDENTITIES, '0', member_of(one, line, flow))
            append(records, {one.key, rooms.packed(one)})
        end
        call('HSET', LEASES, unpack(records)) -- both, or none
        call('ZREM', IDENTITIES, unpack(left))
        call('ZREM', QUEUE, unpack(places))
        emit(lease.session, format('moved %s %s %d', lease.id, text_of(lease.ticket), position_of(lease)))
    end

    return fair
end
