-- ---- who goes next: doc/ordering.md ----

-- Are there enough units, beside those kept for older leases, and does nobody stand before it?
local function has(lease, claim, is_head)
    local resource = resource_of(claim.name)
    local head = not is_head and head_of(claim.name)
    if head and head < claim.name .. ' ' .. order_text(lease)
        or not resource.definition or is_blocked(resource, own_limit(claim)) or held_up_by(resource) then
        return false
    end
    local n = n_available(resource, own_limit(claim))
    if db.keeps and n >= claim.count then
        n = n - roads().kept_before(lease, claim.name .. ' ')
    end
    return n >= claim.count
end

local function next_name(set, name) -- the first after `name` ("": of all) in a set ordered by names
    local from = name == '' and '-' or '(' .. name .. '!'
    local member = call('ZRANGEBYLEX', set, from, '+', 'LIMIT', 0, 1)[1]
    return member and match(member, '^(%S+)')
end

-- For calls in which a lease waits for several resources, or something is kept.
local function make_roads()
    local MAX_DOUBLINGS = 40
    local MAX_FORCED = 3 -- nested requests for which a waiter makes way until its patience ends by itself

    -- ---- what is kept ----
    --
    -- A count is kept as its powers of two, each a member for the resource and one for its user there. So a
    -- few ZLEXCOUNTs tell what is kept before a place, however many keep. The lease's record decides; a
    -- member that a broken-off script has left goes when its lease is next looked at, or when its patience
    -- ends.

    local function kept_members(lease, claims, but_of_user)
        local members, order = {}, order_text(lease)
        for _, claim in ipairs(claims) do
            local left, power = claim.count, 0
            while left > 0 do
                if left % 2 == 1 then
                    if not but_of_user then
                        members[#members + 1] = format('%s %02d:%s', claim.name, power, order)
                    end
                    members[#members + 1] = format('%s u%s %02d:%s', claim.name, lease.uid, power, order)
                end
                left, power = floor(left / 2), power + 1
            end
        end
        return members
    end

    -- Visits the powers of two of which something is kept: "NAME PP" or "NAME uUID PP".
    local function each_power(prefix, visit)
        local from = '[' .. prefix
        while true do
            local member = call('ZRANGEBYLEX', KEPT, from, '(' .. prefix .. ':', 'LIMIT', 0, 1)[1]
            if not member then
                return
            end
            local power = string.sub(member, 1, #prefix + 2)
            visit(power)
            from = '(' .. power .. ';'
        end
    end

    -- How many units are kept for older leases, under "NAME " or "NAME uUID ".
    local function kept_before(lease, prefix)
        local n, order = 0, order_text(lease)
        each_power(prefix, function(power)
            n = n + 2 ^ tonumber(string.sub(power, -2))
                * call('ZLEXCOUNT', KEPT, '[' .. power .. ':', '(' .. power .. ':' .. order)
        end)
        return n
    end

    -- How many units are kept there, and the place in line of the first lease for which they are.
    local function all_kept(name)
        local n, first = 0, nil
        each_power(name .. ' ', function(power)
            local low, high = '[' .. power .. ':', '(' .. power .. ';'
            local order = string.sub(call('ZRANGEBYLEX', KEPT, low, high, 'LIMIT', 0, 1)[1], #power + 2)
            n = n + 2 ^ tonumber(string.sub(power, -2)) * call('ZLEXCOUNT', KEPT, low, high)
            if not first or order < first then
                first = order
            end
        end)
        return n, first
    end

    -- The member of the last lease for which something is kept there.
    local function last_kept(name)
        local last, last_order
        each_power(name .. ' ', function(power)
            local member = call('ZREVRANGEBYLEX', KEPT, '(' .. power .. ';', '[' .. power .. ':', 'LIMIT', 0, 1)[1]
            local order = string.sub(member, #power + 2)
            if not last or order > last_order then
                last, last_order = member, order
            end
        end)
        return last
    end

    -- ---- the road of a request for several resources ----
    --
    -- `order`: the numbers of its claims; the first `kept` of these are kept; `station`: the claim where it
    -- stands, negative where it stands aside; `ends`: when its patience ends, on the session clock (0: it
    -- does not run); `let_go`: how often it has ended; `forced`: how often a nested request has ended it
    -- since; `is_fresh`: it stands for the first, and has to choose when it is the first there.

    local function new_road(lease)
        local order = {}
        local function part(i)
            local claim = lease.claims[i]
            local resource = resource_of(claim.name)
            return claim.count / (resource.definition and limit_of(resource, own_limit(claim)) or 1)
        end
        for i = 1, #lease.claims do
            order[i] = i
        end
        table.sort(order, function(a, b)
            local part_a, part_b = part(a), part(b)
            if part_a ~= part_b then
                return part_a > part_b
            end
            return lease.claims[a].name < lease.claims[b].name
        end)
        return {order = order, kept = 0, station = 0, ends = 0, let_go = 0, forced = 0, is_fresh = true}
    end

    local function station_of(lease)
        return lease.claims[lease.road.station]
    end

    local function claim_on(lease, name)
        for i, claim in ipairs(lease.claims) do
            if claim.name == name then
                return claim, i
            end
        end
    end

    local function place_of(road, number)
        for place, one in ipairs(road.order) do
            if one == number then
                return place
            end
        end
    end

    local function keeps(lease, claim) -- by the record
        local _, number = claim_on(lease, claim.name)
        return lease.state == 'W' and lease.road and lease.road.station > 0 and place_of(lease.road, number) <= lease.road.kept
    end

    local function move_on_road(road, number, to)
        table.remove(road.order, place_of(road, number))
        table.insert(road.order, to, number)
    end

    -- The place on the road of a kept claim that has been taken; 0: unknown yet, as a walk is under way.
    local function lost_place(lease)
        local road = lease.road
        for place = 1, road.kept do
            local claim = lease.claims[road.order[place]]
            if held_up_by(resource_of(claim.name)) then
                mark_dirty(held_up_by(resource_of(claim.name)) .. CHANGED)
                return 0
            elseif not has(lease, claim) then
                return place
            end
        end
    end

    -- The first place on the road, from one to another, with too few units.
    local function first_without(lease, from, to)
        for place = from, to do
            if not has(lease, lease.claims[lease.road.order[place]]) then
                return place
            end
        end
    end

    local function choose_station(lease)
        local road = lease.road
        return road.order[first_without(lease, road.kept + 1, #road.order) or road.kept + 1]
    end

    -- Notes the names that the lease wants and does not stand for, so that looking at a resource finds it.
    local function note_elsewhere(lease)
        local members, order = {}, order_text(lease)
        for i, claim in ipairs(lease.claims) do
            if i ~= math.abs(lease.road.station) then
                members[#members + 1] = 0
                members[#members + 1] = claim.name .. ' ' .. order
            end
        end
        call('ZADD', ELSEWHERE, unpack(members))
    end

    -- Later requests of its user may have what this lease does not take, or what is no longer kept for it.
    local function wake_users(lease, claims)
        for _, claim in ipairs(claims) do
            local resource = resource_of(claim.name)
            if resource.definition and resource.definition['max-units-per-user'] > 0 then
                turns().wake_user(resource, lease.uid)
            end
        end
    end

    -- Takes the lease out of all queues that its record does not name. Other requests of its user may have
    -- what it stood for and did not get.
    local function leave_other_queues(lease)
        local here, others = math.abs(lease.road.station), queue_members(lease)
        local left = {}
        for i, claim in ipairs(lease.claims) do
            local rules = resource_of(claim.name).definition
            local stays = i == lease.road.station or keeps(lease, claim)
            if not stays and rules and rules['max-units-per-user'] > 0 and call('ZSCORE', QUEUE, others[i]) then
                left[#left + 1] = claim
            end
        end
        local member = table.remove(others, here)
        note_elsewhere(lease)
        call('ZREM', ELSEWHERE, member)
        if lease.road.station < 0 then
            others[#others + 1] = member
        end
        wake_users(lease, left)
        call('ZREM', QUEUE, unpack(others)) -- last: whoever finds the lease there does this again
    end

    -- The lease stands there and nowhere else, and is written down. (If this is broken off, it is in several
    -- queues, and leaves the others when it comes to the head of one.)
    local function stand(lease, number, is_fresh)
        local road = lease.road
        mark_dirty(lease.claims[number].name)
        if road.station > 0 then
            mark_dirty(station_of(lease).name)
        end
        road.station, road.is_fresh = number, is_fresh or false
        call('ZADD', QUEUE, 0, lease.claims[number].name .. ' ' .. order_text(lease))
        write_lease(lease)
        leave_other_queues(lease)
    end

    local function mark_all_dirty(lease)
        for _, claim in ipairs(lease.claims) do
            mark_dirty(claim.name)
        end
    end

    -- Keeps only the first `n` of the kept claims. The caller writes the record next, then frees what the
    -- returned claims had.
    local function keep_only(lease, n)
        local freed, road = {}, lease.road
        for place = n + 1, road.kept do
            freed[#freed + 1] = lease.claims[road.order[place]]
        end
        road.kept = n
        return freed
    end

    -- The resource's members go last: if this is broken off, they are found, and it is done again. A claim
    -- that kept nothing wakes nobody.
    local function free_kept(lease, claims)
        local freed = {}
        for _, claim in ipairs(claims) do
            if call('ZSCORE', KEPT, kept_members(lease, {claim})[1]) then
                freed[#freed + 1] = claim
            end
        end
        if #freed > 0 then
            call('ZREM', KEPT, unpack(kept_members(lease, freed, true)))
            wake_users(lease, freed)
            call('ZREM', KEPT, unpack(kept_members(lease, freed)))
        end
    end

    -- ms for which kept units stay kept
    local function patience(lease)
        local shortest = math.huge
        for _, claim in ipairs(lease.claims) do
            local rules = resource_of(claim.name).definition
            shortest = min(shortest, rules and rules.keep or DEFAULT_KEEP)
        end
        return min(max(shortest, 1) * 2 ^ lease.road.let_go, MAX_CREDIBLE / 2)
    end

    -- The lease keeps what it stands for, and goes on to claim `to`, or to the first that it lacks.
    local function gain(lease, to)
        local road = lease.road
        local claim = station_of(lease)
        if not db.keeps then
            db.keeps = '1'
            call('HSET', DB, 'keeps', '1')
        end
        if road.ends == 0 then
            road.ends = db.clock + patience(lease)
            db.has_gained = true
        end
        call('ZADD', KEEPING, text_of(road.ends), lease.key)
        local members = {}
        for _, member in ipairs(kept_members(lease, {claim})) do
            members[#members + 1] = 0
            members[#members + 1] = member
        end
        mark_dirty(claim.name)
        call('ZADD', KEPT, unpack(members))
        move_on_road(road, road.station, road.kept + 1)
        road.kept = road.kept + 1
        for place = 1, road.kept do -- it waits for something else now: it may make way again
            mark_if_waited_for(lease.claims[road.order[place]].name)
        end
        stand(lease, to or choose_station(lease))
    end

    -- What was kept at that place of the road has been taken: the lease stands there again.
    local function fall(lease, place)
        mark_all_dirty(lease)
        local freed = keep_only(lease, place - 1)
        stand(lease, lease.road.order[place])
        free_kept(lease, freed)
    end

    -- There are enough units of all, but too scattered in one: the lease lacks that.
    local function step_to_scattered(lease, number)
        local road = lease.road
        local place = place_of(road, number)
        if number == road.station then
            return nil
        elseif place <= road.kept then
            return function()
                fall(lease, place)
            end
        end
        return function()
            gain(lease, number)
        end
    end

    local function let_go(lease, is_forced)
        local road = lease.road
        mark_all_dirty(lease)
        keep_only(lease, 0)
        if road.station > 0 then
            move_on_road(road, road.station, 1)
        end
        road.ends = 0
        if is_forced then
            road.forced = road.forced + 1
        else
            road.forced, road.let_go = 0, min(road.let_go + 1, MAX_DOUBLINGS)
        end
        write_lease(lease)
        free_kept(lease, lease.claims) -- what the record does not say was left by a broken-off script
        call('ZREM', KEEPING, lease.key)
    end

    local function step_aside(lease, why, name)
        local order, road = order_text(lease), lease.road
        call('ZADD', ASIDE, 0, name .. ' ' .. why .. ' ' .. order)
        for _, claim in ipairs(lease.claims) do
            (road.kept > 0 and mark_dirty or mark_if_waited_for)(claim.name)
        end
        local _, number = claim_on(lease, name)
        keep_only(lease, 0)
        road.station, road.ends, road.is_quota = -number, 0, why ~= 'b'
        write_lease(lease)
        if db.keeps and call('ZSCORE', KEEPING, lease.key) then
            free_kept(lease, lease.claims)
            call('ZREM', KEEPING, lease.key)
        end
        leave_other_queues(lease)
    end

    -- In a grace, and while other leases come back from aside, the lease cannot know what it will lack.
    local function enter_road(lease, why, name, is_back)
        lease.road = lease.road or new_road(lease)
        if not why then
            local is_fresh = is_back or db.grace ~= nil
            stand(lease, is_fresh and lease.road.order[1] or choose_station(lease), is_fresh)
            return nil
        end
        local member = name .. ' ' .. why .. ' ' .. order_text(lease)
        local _, number = claim_on(lease, name)
        lease.road.station, lease.road.is_quota = -number, why ~= 'b'
        call('ZADD', ASIDE, 0, member)
        write_lease(lease)
        leave_other_queues(lease)
        return member
    end

    -- The lease is not in a queue any more, or never was.
    local function leave_road(lease)
        call('ZREM', ELSEWHERE, unpack(queue_members(lease)))
        if db.keeps then
            call('ZREM', KEPT, unpack(kept_members(lease, lease.claims)))
            call('ZREM', KEEPING, lease.key)
        end
    end

    -- ---- nested requests ----

    -- What the leases under which it runs hold: these units come back only after it has ended.
    local function names_above(lease)
        local names = {}
        for _, id in ipairs(split(lease.above, ',')) do
            local above = load_lease(lease.session .. '/' .. id)
            if above and above.state == 'H' and above.uid == lease.uid then
                for _, claim in ipairs(above.claims) do
                    names[claim.name] = true
                end
            end
        end
        return names
    end

    -- Older leases, oldest first, for which some of these names are kept while they wait for what the lease's
    -- ancestors hold.
    local function keepers_to_yield(lease, name, names)
        local keepers, seen, n = {}, {}, 0
        each_power(name .. ' ', function(power)
            local members = call('ZRANGEBYLEX', KEPT, '[' .. power .. ':',
                '(' .. power .. ':' .. order_text(lease), 'LIMIT', 0, max(MAX_WALKED - n, 0))
            n = n + #members
            for _, member in ipairs(members) do
                local key = match(member, '(%S+)$')
                local keeper = not seen[key] and load_lease(key)
                local claim = keeper and claim_on(keeper, name)
                if claim and keeps(keeper, claim) and keeper.road.forced < MAX_FORCED
                    and names[station_of(keeper).name] then
                    keepers[#keepers + 1] = {lease = keeper, count = claim.count}
                end
                seen[key] = true
            end
        end)
        table.sort(keepers, function(a, b)
            return order_text(a.lease) < order_text(b.lease)
        end)
        return keepers
    end

    -- Which leases have to let go of these claims, as far as necessary; nil if that does not suffice for all
    -- claims.
    local function who_makes_way(lease, claims)
        if not lease.above or not db.keeps then
            return nil
        end
        local names, yielding, is_in = names_above(lease), {}, {}
        for _, claim in ipairs(claims) do
            local resource = resource_of(claim.name)
            local head = head_of(claim.name)
            if not resource.definition or is_blocked(resource, own_limit(claim)) or held_up_by(resource)
                or head and head < claim.name .. ' ' .. order_text(lease) then
                return nil
            end
            local n = n_available(resource, own_limit(claim)) - kept_before(lease, claim.name .. ' ')
            for _, keeper in ipairs(n < claim.count and keepers_to_yield(lease, claim.name, names) or {}) do
                if n < claim.count then
                    n = n + keeper.count
                    yielding[#yielding + 1] = not is_in[keeper.lease.key] and keeper.lease or nil
                    is_in[keeper.lease.key] = true
                end
            end
            if n < claim.count or not pick_units(claim, #lease.claims) then
                return nil
            end
        end
        return yielding
    end

    -- Whether there are now enough units for all its claims.
    local function make_way(lease, claims)
        local yielding = who_makes_way(lease, claims)
        for _, keeper in ipairs(yielding or {}) do
            let_go(keeper, true)
        end
        return yielding ~= nil
    end

    -- Nothing is kept for the lease: removes what a broken-off script has left.
    local function forget_kept(lease, key)
        if lease then
            mark_all_dirty(lease)
            free_kept(lease, lease.claims)
        end
        if lease and lease.road and lease.road.ends > 0 then
            lease.road.ends = 0
            write_lease(lease)
        end
        call('ZREM', KEEPING, key)
    end

    -- Leases whose patience is over let go, a bounded number in a call.
    local function end_patience()
        for _, key in ipairs(call('ZRANGEBYSCORE', KEEPING, '-inf', db.clock, 'LIMIT', 0, MAX_PURGED)) do
            local lease = load_lease(key)
            local road = lease and lease.state == 'W' and lease.road
            if road and road.ends > db.clock then -- a script was broken off
                call('ZADD', KEEPING, text_of(road.ends), key)
            elseif road and road.kept > 0 then
                let_go(lease)
            else
                forget_kept(lease, key)
            end
        end
    end

    return {kept_before = kept_before, all_kept = all_kept, last_kept = last_kept,
        free_kept = free_kept, new_road = new_road, station_of = station_of,
        claim_on = claim_on, keeps = keeps, lost_place = lost_place, first_without = first_without,
        choose_station = choose_station, note_elsewhere = note_elsewhere,
        leave_other_queues = leave_other_queues, stand = stand, mark_all_dirty = mark_all_dirty,
        gain = gain, fall = fall, step_to_scattered = step_to_scattered, step_aside = step_aside, enter_road = enter_road,
        leave_road = leave_road, who_makes_way = who_makes_way, make_way = make_way,
        end_patience = end_patience}
end

function roads()
    made.roads = made.roads or make_roads()
    return made.roads
end

local function make_turns()
    local wake_user

    -- The lease stands in line, and should not: those behind it may go, and so may its user's others for
    -- which the quota has room.
    local function step_aside(lease, why, name)
        if lease.road then
            return roads().step_aside(lease, why, name)
        end
        local order = order_text(lease)
        call('ZADD', ASIDE, 0, name .. ' ' .. why .. ' ' .. order)
        mark_if_waited_for(name)
        wake_user(resource_of(name), lease.uid)
        call('ZREM', QUEUE, name .. ' ' .. order) -- last: if this is broken off, it is done again
    end

    -- Brings a lease back from aside: into line, or aside for another reason. Returns whether it stays as it
    -- is.
    local function step_back(member)
        local lease = load_lease(match(member, '(%S+)$'))
        local is_aside = lease and lease.state == 'W' and (not lease.road or lease.road.station < 0)
        if is_aside and enter_queues(lease, true) == member then
            return true
        elseif lease and lease.state == 'W' and lease.road and not is_aside then -- broken off on its way back
            roads().leave_other_queues(lease)
        end
        call('ZREM', ASIDE, member)
        return false
    end

    -- A script was broken off before this lease had a record, and the lease begins again with another ticket:
    -- its first place goes. That is among the last of its priority, unless its ticket was older or many have
    -- come since; then the place goes when it is the first of the queue, or at the next walk over leases
    -- aside.
    local function leave_unbegun(lease)
        local most = floor(MAX_WORDS / #lease.claims)
        for _, claim in ipairs(lease.claims) do
            local function leave(set, why)
                local low, high = of_name(claim.name .. why .. format(' %05d', 50000 - lease.priority))
                for _, member in ipairs(call('ZREVRANGEBYLEX', set, high, low, 'LIMIT', 0, most)) do
                    if match(member, '(%S+)$') == lease.key then
                        call('ZREM', set, member)
                    end
                end
            end
            leave(QUEUE, '')
            leave(ASIDE, ' b')
            leave(ASIDE, ' ' .. quota_reason(lease, claim))
        end
    end

    -- The oldest of a user's requests that stand aside there and want at most `most`; its count.
    local function oldest_aside(name, uid, most)
        local prefix, oldest, order, count = name .. ' u' .. uid .. ':', nil, nil, nil
        if most < 1 then
            return nil
        end
        local from = '[' .. prefix
        for _ = 1, MAX_WALKED do -- each has another count
            local member = call('ZRANGEBYLEX', ASIDE, from,
                format('(%s%07d', prefix, min(most, 9999998) + 1), 'LIMIT', 0, 1)[1]
            if not member then
                break
            end
            local its_count, its_order = match(member, ':(%d+) (.*)$')
            if not order or its_order < order then
                oldest, order, count = member, its_order, tonumber(its_count)
            end
            from = '(' .. prefix .. its_count .. '!'
        end
        return oldest, count, order
    end

    -- Wakes those of a user's requests that fit now, in order; returns whether there may be more. One that
    -- goes on to stand elsewhere takes nothing here.
    local function wake_fitting(resource, uid)
        local left = quota_left(resource, uid)
        for _ = 1, MAX_WALKED do
            local member, count, order = oldest_aside(resource.name, uid, left)
            if not member then
                return false
            elseif step_back(member) then -- because of what is kept for older ones: no less is kept for later ones
                left = min(left, count - 1)
            elseif call('ZSCORE', QUEUE, resource.name .. ' ' .. order) then
                left = left - count
            end
        end
        return true
    end

    local waking = {} -- "NAME UID": a wake-up that leaves a queue can cause another

    -- The user has fewer units there than before, or something no longer counts.
    function wake_user(resource, uid)
        local rules, what = resource.definition, resource.name .. ' ' .. uid
        if waking[what] or not rules or rules['max-units-per-user'] == 0 then
            return
        end
        waking[what] = true
        if wake_fitting(resource, uid) then
            mark_changed(resource.name)
        end
        waking[what] = nil
    end

    -- A resource that it wants may have been paused or limited: the lease lets go of the others.
    local function put_aside_blocked(member)
        local lease = load_lease(match(member, '(%S+)$'))
        if not lease then
            call('ZREM', ELSEWHERE, member)
        elseif lease.state == 'W' and not (lease.road and lease.road.station < 0) then
            local why, where = why_aside(lease)
            if why then
                step_aside(lease, why, where)
            end
        end
    end

    local n_walked = 0

    -- Calls `look` for a set's members behind `last`. Returns the last one looked at if there may be more.
    local function walk(set, name, last, look)
        local low, high = of_name(name)
        local most = max(MAX_WALKED - n_walked, 0)
        local members = call('ZRANGEBYLEX', set, last and '(' .. last or low, high, 'LIMIT', 0, most)
        n_walked = n_walked + #members
        for _, member in ipairs(members) do
            look(member)
        end
        return #members == most and (members[most] or last or '') or nil
    end

    -- The same for the names of a template's instances.
    local function walk_instances(set, template, last, look)
        local prefix = string.sub(template, 1, -2)
        local name = last or prefix
        while n_walked < MAX_WALKED do
            n_walked = n_walked + 1
            name = next_name(set, name)
            if not name or string.sub(name, 1, #prefix) ~= prefix then
                return nil
            elseif definition_name(name) == template then
                look(name)
            end
        end
        return name
    end

    local function wake_aside(name, last)
        return walk(ASIDE, name, last, step_back) -- whatever they stand aside for, it may be over
    end

    local function hold_up(name, last)
        return walk(QUEUE, name, last, put_aside_blocked)
    end

    local function hold_up_elsewhere(name, last)
        return walk(ELSEWHERE, name, last, put_aside_blocked)
    end

    -- The meaning of a definition's name has changed. Three walks: leases that stand in its queue, leases
    -- that want it and stand elsewhere, and leases that stand aside.
    local walks = {
        {of = hold_up, of_template = function(name, last)
            return walk_instances(QUEUE, name, last, mark_changed)
        end},
        {of = hold_up_elsewhere, of_template = function(name, last)
            return walk_instances(ELSEWHERE, name, last, mark_changed)
        end},
        {of = wake_aside, of_template = function(name, last)
            return walk_instances(ASIDE, name, last, mark_changed)
        end},
    }

    -- Whether this is done. If not, it leaves a cursor: the number of the walk, and the last member that it
    -- has looked at.
    local function put_change_in_force(name)
        local number, last = match(call('HGET', DB, WALK .. name) or '', '^(%d)(.*)$')
        for i = tonumber(number or 1), #walks do
            local work = is_template(name) and walks[i].of_template or walks[i].of
            last = work(name, last ~= '' and last or nil)
            if last then
                call('HSET', DB, WALK .. name, i .. last)
                return false
            end
        end
        call('HDEL', DB, WALK .. name)
        walked[name] = false
        return true
    end

    local function tell_granted(lease)
        emit(lease.session, format('granted %s %.0f %s', lease.id, lease.ticket, claims_text(lease)))
    end

    -- The units have been chosen.
    local function grant_waiter(lease)
        if #lease.claims > 1 then
            roads().mark_all_dirty(lease)
        end
        give_tokens(lease)
        hold_units(lease)
        tell_granted(lease)
        leave_queues(lease)
    end

    local function stands_in_line(lease)
        for _, member in ipairs(queue_members(lease)) do
            if call('ZSCORE', QUEUE, member) then
                return true
            end
        end
    end

    -- A script was broken off before the lease had its units: it waits again.
    local function take_grant_back(lease)
        for _, claim in ipairs(lease.claims) do
            local held, users = {}, {}
            for i, member in ipairs(held_members(lease, claim)) do
                if call('ZSCORE', HELD, member) then -- otherwise another lease of the user may have it by now
                    held[#held + 1], users[#users + 1] = member, user_members(lease, claim)[i]
                end
            end
            remove_all(USERS, users)
            remove_all(HELD, held)
            resource_of(claim.name).free = nil
            claim.units, claim.token = {}, 0
        end
        lease.state = 'W'
        write_lease(lease)
    end

    -- ---- one step of one lease ----

    -- The lease at the head of a queue, or nil if a broken-off script has left the member.
    local function waiter_at(name, member)
        local lease = load_lease(match(member, '(%S+)$'))
        if not lease or member ~= name .. ' ' .. order_text(lease) then -- a script was broken off as it began
            call('ZREM', QUEUE, member)
            return nil
        elseif lease.state == 'H' and has_its_units(lease) then -- a script was broken off
            tell_granted(lease)
            leave_queues(lease)
            return nil
        elseif lease.state == 'H' then
            take_grant_back(lease)
        end
        if #lease.claims > 1 then
            local _, number = roads().claim_on(lease, name)
            if not lease.road then -- an older berthd has put it into every queue
                lease.road = roads().new_road(lease)
                lease.road.station = number
            elseif lease.road.station ~= number then
                roads().leave_other_queues(lease)
                return nil
            end
        end
        return lease
    end

    local LATER = {} -- stands for a step that is known only when a walk is over

    -- What the lease at the head of a queue can do, and with which arguments; nil: nothing.
    local function step_of_waiter(lease)
        local why, where = why_aside(lease)
        if why then
            return function()
                step_aside(lease, why, where)
            end
        end
        local road = lease.road
        if road and road.is_fresh then
            return function()
                roads().stand(lease, roads().choose_station(lease))
            end
        end
        local claim = road and roads().station_of(lease) or lease.claims[1]
        if not has(lease, claim, true) then
            return roads().who_makes_way(lease, {claim}) and function()
                roads().make_way(lease, {claim})
            end
        end
        local lost = road and roads().lost_place(lease)
        if lost == 0 then
            return LATER
        elseif lost then
            return function()
                roads().fall(lease, lost)
            end
        elseif road and roads().first_without(lease, road.kept + 1, #road.order) then
            return function()
                roads().gain(lease)
            end
        end
        local is_chosen, scattered = choose_units(lease)
        if not is_chosen then
            return road and roads().step_to_scattered(lease, scattered) or nil
        end
        return function()
            grant_waiter(lease)
        end
    end

    -- The last lease for which some of it is kept, if these units are not there any more.
    local function step_of_keeper(name)
        local member = db.keeps and roads().last_kept(name)
        local lease = member and load_lease(match(member, '(%S+)$'))
        local claim = lease and roads().claim_on(lease, name)
        if not member then
            return nil
        elseif not claim or not roads().keeps(lease, claim) then -- a script was broken off
            return function()
                roads().free_kept(lease, {claim})
                call('ZREM', KEPT, member)
            end, ''
        elseif not has(lease, claim) then
            local lost = roads().lost_place(lease)
            return lost == 0 and LATER or function()
                roads().fall(lease, lost)
            end, order_text(lease)
        end
    end

    local n_served, n_steps = 0, 0

    -- The next step of the leases that stand or keep there: {take, order, name, at}; nil: there is none.
    local function next_step(name)
        local change = held_up_by(resource_of(name))
        if change then
            if n_walked < MAX_WALKED then
                mark_dirty(change .. CHANGED) -- first
            end
            return {is_for_later = true}
        end
        local step, member = nil, head_of(name)
        while member do
            if n_served >= MAX_SERVED or n_work >= MAX_WORK then
                return {is_for_later = true}
            end
            local lease = waiter_at(name, member)
            local take = lease and step_of_waiter(lease)
            if lease then
                step = take and {take = take, order = order_text(lease), name = name, at = n_steps,
                    is_local = not lease.road and not lease.above} or nil
                break
            end
            n_served = n_served + 1
            member = head_of(name)
        end
        local take, order = step_of_keeper(name)
        if take == LATER or step and step.take == LATER then
            return {is_for_later = true}
        elseif take and (not step or order < step.order) then
            step = {take = take, order = order, name = name, at = n_steps}
        end
        return step
    end

    -- Whether that is done.
    local function put_in_force(name)
        local changed = match(name, '^(%S+)' .. CHANGED)
        if n_walked >= MAX_WALKED then
            return false
        end
        n_walked = n_walked + 1
        if not put_change_in_force(changed) then
            return false
        end
        mark_dirty(changed)
        return true
    end

    local steps = {} -- by name: what can be done there

    local function look_again(name)
        if not dirty[name] then
            dirty[name] = true
            dirty[#dirty + 1] = name
        end
    end

    -- Looks at all dirty names. `done` gets those that are finished, except where a step is possible.
    local function look_at_dirty(done)
        while #dirty > 0 do
            local name = table.remove(dirty, 1)
            dirty[name] = nil -- it may become dirty again
            if string.find(name, CHANGED, 1, true) then
                if put_in_force(name) and not dirty[name] then
                    call('SREM', DIRTY, name)
                end
            else
                steps[name] = next_step(name)
                done[name] = true
            end
        end
    end

    local function oldest_step()
        local oldest
        for _, step in pairs(steps) do
            if not step.is_for_later and (not oldest or step.order < oldest.order) then
                oldest = step
            end
        end
        return oldest
    end

    -- The oldest lease that can do something does it, then all whom that concerns are asked again. So the
    -- result does not depend on which queue is looked at first.
    local function serve_dirty()
        local done = {}
        for _, name in ipairs(call('SRANDMEMBER', DIRTY, MAX_SERVED)) do
            look_again(name)
        end
        look_at_dirty(done)
        local step = oldest_step()
        while step and n_served < MAX_SERVED do
            steps[step.name] = nil
            if step.is_local or step.at == n_steps then
                n_served, n_steps = n_served + 1, n_steps + 1
                step.take()
            end
            look_again(step.name)
            look_at_dirty(done)
            step = oldest_step()
        end
        local names = {}
        for name in pairs(done) do
            if not steps[name] then
                names[#names + 1] = name
            end
        end
        if #names > 0 then
            call('SREM', DIRTY, unpack(names))
        end
    end

    return {leave_unbegun = leave_unbegun, stands_in_line = stands_in_line, take_grant_back = take_grant_back,
        wake_user = wake_user, serve_dirty = serve_dirty}
end

function turns()
    made.turns = made.turns or make_turns()
    return made.turns
end

