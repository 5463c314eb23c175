-- ---- requests for several resources: doc/ordering.md. For calls in which one waits, or something is kept ----
function make.roads()
    local roads = {}
    local MAX_DOUBLINGS = 40

    -- ---- what is kept ----
    --
    -- A count is kept as its powers of two, each a member for the resource and one for its user there. So a
    -- few ZLEXCOUNTs tell what is kept before a place, however many keep. The lease's record decides; a
    -- member that a broken-off script has left goes when its lease is next looked at, or when its patience
    -- ends.

    local function kept_members(lease, claims, but_of_user)
        local members, order = {}, order_text(lease)
        for _, claim in ipairs(claims) do
            local left, power = rooms.kept_of(claim), 0
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
    function roads.kept_for_older(lease, prefix)
        local n, order = 0, order_text(lease)
        each_power(prefix, function(power)
            n = n + 2 ^ tonumber(string.sub(power, -2))
                * call('ZLEXCOUNT', KEPT, '[' .. power .. ':', '(' .. power .. ':' .. order)
        end)
        return n
    end

    -- How many units are kept there, and the place in line of the first lease for which they are.
    function roads.all_kept(name)
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
    function roads.last_kept(name)
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
    -- does not run); `let_go`: how often it has ended; `is_fresh`: it stands for the first, and has to choose
    -- when it is the first there.

    local function is_rated(lease, number)
        return resource_of(lease.claims[number].name).is_rated
    end

    -- What has a rate comes first: nothing else is kept while the lease waits for its instant.
    local function with_rated_first(lease, order)
        local rated, others = {}, {}
        for _, number in ipairs(order) do
            append(is_rated(lease, number) and rated or others, {number})
        end
        append(rated, others)
        return rated
    end

    local function new_road(lease)
        local order = {}
        local function part(i)
            local claim = lease.claims[i]
            local resource = resource_of(claim.name)
            return claim.is_all and 1 or claim.count / (resource.definition and limit_of(resource, own_limit(claim)) or 1)
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
        return {order = with_rated_first(lease, order), kept = 0, station = 0, ends = 0, let_go = 0, is_fresh = true}
    end

    function roads.station_of(lease)
        return lease.claims[lease.road.station]
    end

    local function place_of(road, number)
        for place, one in ipairs(road.order) do
            if one == number then
                return place
            end
        end
    end

    function roads.keeps(lease, claim) -- by the record
        local _, number = claim_on(lease, claim.name)
        return lease.state == 'W' and lease.road and lease.road.station > 0 and place_of(lease.road, number) <= lease.road.kept
    end

    local function move_on_road(road, number, to)
        table.remove(road.order, place_of(road, number))
        table.insert(road.order, to, number)
    end

    -- The place on the road of a kept claim that has been taken; 0: unknown yet, as a walk is under way.
    function roads.lost_place(lease)
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
    function roads.first_without(lease, from, to)
        for place = from, to do
            if not has(lease, lease.claims[lease.road.order[place]]) then
                return place
            end
        end
    end

    function roads.choose_station(lease)
        local road = lease.road
        return road.order[roads.first_without(lease, road.kept + 1, #road.order) or road.kept + 1]
    end

    -- Notes the names that the lease wants and does not stand for, so that looking at a resource finds it.
    function roads.note_elsewhere(lease)
        local members, order = {}, order_text(lease)
        for i, claim in ipairs(lease.claims) do
            if i ~= math.abs(lease.road.station) then
                members[#members + 1] = claim.name .. ' ' .. order
            end
        end
        add_all(ELSEWHERE, '0', members)
    end

    -- Later requests of its user may have what this lease does not take, or what is no longer kept for it.
    local function wake_users(lease, claims)
        for _, claim in ipairs(claims) do
            made.turns.wake_user(resource_of(claim.name), lease.uid)
        end
    end

    -- Takes the lease out of all queues that its record does not name. Other requests of its user may have
    -- what it stood for and did not get.
    function roads.leave_other_queues(lease)
        local here, others = math.abs(lease.road.station), queue_members(lease)
        local left = {}
        for i, claim in ipairs(lease.claims) do
            local rules = resource_of(claim.name).definition
            local stays = i == lease.road.station or roads.keeps(lease, claim)
            if not stays and rules and rules['max-units-per-user'] > 0 and call('ZSCORE', QUEUE, others[i]) then
                left[#left + 1] = claim
            end
        end
        local member = table.remove(others, here)
        roads.note_elsewhere(lease)
        call('ZREM', ELSEWHERE, member)
        if lease.road.station < 0 then
            others[#others + 1] = member
        end
        wake_users(lease, left)
        call('ZREM', QUEUE, unpack(others)) -- last: whoever finds the lease there does this again
    end

    -- The lease stands there and nowhere else, and is written down. (If this is broken off, it is in several
    -- queues, and leaves the others when it comes to the head of one.)
    function roads.stand(lease, number, is_fresh)
        local road = lease.road
        note_move()
        mark_dirty(lease.claims[number].name)
        if road.station > 0 then
            mark_dirty(roads.station_of(lease).name)
        end
        road.station, road.is_fresh = number, is_fresh or false
        add_to_line(QUEUE, lease.claims[number].name .. ' ' .. order_text(lease))
        write_lease(lease)
        roads.leave_other_queues(lease)
    end

    function roads.mark_all_dirty(lease)
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
    function roads.free_kept(lease, claims)
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
            shortest = min(shortest, rules and rules.keep or DEFAULTS.keep)
        end
        return min(max(shortest, 1) * 2 ^ lease.road.let_go, MAX_CREDIBLE / 2)
    end

    -- The lease keeps what it stands for, and goes on to claim `to`, or to the first that it lacks.
    function roads.gain(lease, to)
        local road = lease.road
        local claim, first = roads.station_of(lease), road.order[road.kept + 1]
        if is_rated(lease, first) and not is_rated(lease, road.station) then
            return roads.stand(lease, first)
        end
        if not db.keeps then
            db.keeps = '1'
            call('HSET', DB, 'keeps', '1')
        end
        if road.ends == 0 then
            road.ends = db.clock + patience(lease)
            db.has_gained = true
        end
        call('ZADD', KEEPING, text_of(road.ends), lease.key)
        mark_dirty(claim.name)
        add_all(KEPT, '0', kept_members(lease, {claim}))
        move_on_road(road, road.station, road.kept + 1)
        road.kept = road.kept + 1
        roads.stand(lease, to or roads.choose_station(lease))
    end

    -- What was kept at that place of the road has been taken: the lease stands there again.
    function roads.fall(lease, place)
        roads.mark_all_dirty(lease)
        local freed = keep_only(lease, place - 1)
        roads.stand(lease, lease.road.order[place])
        roads.free_kept(lease, freed)
    end

    -- There are enough units of all, but too scattered in one: the lease lacks that.
    function roads.step_to_scattered(lease, number)
        local road = lease.road
        local place = place_of(road, number)
        if number == road.station then
            return nil
        elseif place <= road.kept then
            return function()
                roads.fall(lease, place)
            end
        end
        return function()
            roads.gain(lease, number)
        end
    end

    function roads.keep_nothing(lease)
        roads.mark_all_dirty(lease)
        keep_only(lease, 0)
        lease.road.ends = 0
        write_lease(lease)
        roads.free_kept(lease, lease.claims) -- what the record does not say was left by a broken-off script
        call('ZREM', KEEPING, lease.key)
    end

    local function let_go(lease)
        local road = lease.road
        note_move()
        if road.station > 0 then
            move_on_road(road, road.station, 1)
            road.order = with_rated_first(lease, road.order)
        end
        road.let_go = min(road.let_go + 1, MAX_DOUBLINGS)
        roads.keep_nothing(lease)
    end

    function roads.step_aside(lease, why, name)
        local order, road = order_text(lease), lease.road
        note_move()
        add_to_line(ASIDE, name .. ' ' .. why .. ' ' .. order)
        for _, claim in ipairs(lease.claims) do
            (road.kept > 0 and mark_dirty or mark_if_waited_for)(claim.name)
        end
        local _, number = claim_on(lease, name)
        keep_only(lease, 0)
        road.station, road.ends, road.is_quota = -number, 0, match(why, '^u') ~= nil
        write_lease(lease)
        if db.keeps and call('ZSCORE', KEEPING, lease.key) then
            roads.free_kept(lease, lease.claims)
            call('ZREM', KEEPING, lease.key)
        end
        roads.leave_other_queues(lease)
    end

    -- In a grace, and while other leases come back from aside, the lease cannot know what it will lack.
    function roads.enter_road(lease, why, name, is_back)
        lease.road = lease.road or new_road(lease)
        if not why then
            local is_fresh = is_back or db.grace ~= nil
            roads.stand(lease, is_fresh and lease.road.order[1] or roads.choose_station(lease), is_fresh)
            return nil
        end
        local member = name .. ' ' .. why .. ' ' .. order_text(lease)
        local _, number = claim_on(lease, name)
        lease.road.station, lease.road.is_quota = -number, match(why, '^u') ~= nil
        add_to_line(ASIDE, member)
        write_lease(lease)
        roads.leave_other_queues(lease)
        return member
    end

    -- The lease takes the place of another one that wants the same: what is left of its patience, and unless one of them
    -- is aside, where that stands on its road, and what is kept for it.
    function roads.inherit(lease, other)
        local own, road, kept = lease.road, other.road, {}
        own.let_go = road.let_go
        if own.station < 0 or road.station < 0 then
            write_lease(lease)
            return
        end
        local function number_of(number)
            local _, its_number = claim_on(lease, other.claims[number].name)
            return its_number
        end

        for place, number in ipairs(road.order) do
            own.order[place] = number_of(number)
            kept[#kept + 1] = place <= road.kept and lease.claims[own.order[place]] or nil
        end
        if #kept > 0 then
            call('ZADD', KEEPING, text_of(road.ends), lease.key)
            add_all(KEPT, '0', kept_members(lease, kept))
        end
        own.ends, own.kept = road.ends, road.kept
        roads.stand(lease, number_of(road.station), road.is_fresh)
    end

    -- The lease is not in a queue any more, or never was.
    function roads.leave_road(lease)
        call('ZREM', ELSEWHERE, unpack(queue_members(lease)))
        if db.keeps then
            call('ZREM', KEPT, unpack(kept_members(lease, lease.claims)))
            call('ZREM', KEEPING, lease.key)
        end
    end

    -- Nothing is kept for the lease: removes what a broken-off script has left.
    local function forget_kept(lease, key)
        if lease then
            roads.mark_all_dirty(lease)
            roads.free_kept(lease, lease.claims)
        end
        if lease and lease.road and lease.road.ends > 0 then
            lease.road.ends = 0
            write_lease(lease)
        end
        call('ZREM', KEEPING, key)
    end

    -- Leases whose patience is over let go, a bounded number in a call.
    function roads.end_patience()
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

    return roads
end
