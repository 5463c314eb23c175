-- ---- who goes next: doc/ordering.md ----

function make.turns()
    local MAX_SERVED = 50 -- names, and waiters, in one call; the others stay dirty
    local wake_user

    -- The lease stands in line, and should not: those behind it may go, and so may its user's others for
    -- which the quota has room.
    local function step_aside(lease, why, name)
        if why == 'i' then
            made.newest.stop_holder(lease)
        end
        if lease.road then
            return made.roads.step_aside(lease, why, name)
        end
        local order = order_text(lease)
        note_move()
        add_to_line(ASIDE, name .. ' ' .. why .. ' ' .. order)
        mark_if_waited_for(name)
        wake_user(resource_of(name), lease.uid)
        call('ZREM', QUEUE, name .. ' ' .. order) -- last: if this is broken off, it is done again
    end

    -- Brings a lease back from aside: into line, or aside for another reason. Returns whether it stays as it
    -- is.
    local function step_back(member)
        local lease = load_lease(match(member, '(%S+)$'))
        local is_aside = lease and lease.state == 'W' and (not lease.road or lease.road.station < 0)
        note_move()
        if is_aside and enter_queues(lease, true) == member then
            return true
        elseif lease and lease.state == 'W' and lease.road and not is_aside then -- broken off on its way back
            made.roads.leave_other_queues(lease)
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
            if lease.replace then
                leave(ASIDE, ' i')
            end
        end
        if db.fairs then
            made.fair.look_for_left()
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

    local waking -- "NAME UID": a wake-up that leaves a queue can cause another
    local n_walked, n_served, n_steps
    local steps -- by name: what can be done there

    local function forget()
        waking, steps, n_walked, n_served, n_steps = {}, {}, 0, 0, 0
    end
    forget()
    fresh[#fresh + 1] = forget

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
        if not lease or match(member, ' (.*)$') ~= order_text(lease) then -- a move was broken off
            call('ZREM', ELSEWHERE, member)
        elseif lease.state == 'W' and not (lease.road and lease.road.station < 0) then
            local why, where = why_aside(lease)
            if why then
                step_aside(lease, why, where)
            end
        end
    end

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

    -- The meaning of a definition's name has changed. Three walks: leases that stand in its queue, leases
    -- that want it and stand elsewhere, and leases that stand aside: whatever for, it may be over. Returns whether
    -- this is done. If not, it leaves a cursor: the number of the walk, and the last member that it has looked at.
    local function put_change_in_force(name)
        local walks = {{QUEUE, put_aside_blocked}, {ELSEWHERE, put_aside_blocked}, {ASIDE, step_back}}
        local number, last = match(call('HGET', DB, WALK .. name) or '', '^(%d)(.*)$')
        for i = tonumber(number or 1), #walks do
            local set, look = unpack(walks[i])
            last = last ~= '' and last or nil
            if is_template(name) then
                last = walk_instances(set, name, last, mark_changed)
            else
                last = walk(set, name, last, look)
            end
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
        emit(lease.session, format('granted %s %d %s', lease.id, lease.ticket, claims_text(lease)))
    end

    -- The units have been chosen.
    local function grant_waiter(lease)
        if #lease.claims > 1 then
            made.roads.mark_all_dirty(lease)
        end
        give_tokens(lease)
        hold_units(lease)
        if lease.above then
            made.circles.forget(lease)
        end
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
            rooms.forget(resource_of(claim.name))
            claim.units, claim.token = {}, 0
        end
        lease.state, lease.since, lease.heir = 'W', nil, nil
        write_lease(lease)
    end

    -- ---- one step of one lease ----

    -- The lease at the head of a queue, or nil if a broken-off script has left the member.
    local function waiter_at(name, member)
        local lease = load_lease(match(member, '(%S+)$'))
        if not lease or lease.state == 'R' or member ~= name .. ' ' .. order_text(lease) then -- a script was broken off
            if db.fairs then
                made.fair.look_for_left()
            end
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
            local _, number = claim_on(lease, name)
            if lease.road.station ~= number then
                made.roads.leave_other_queues(lease)
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
                made.roads.stand(lease, made.roads.choose_station(lease))
            end
        end
        local claim = road and made.roads.station_of(lease) or lease.claims[1]
        if not has(lease, claim, true) then
            return nil
        end
        local lost = road and made.roads.lost_place(lease)
        if lost == 0 then
            return LATER
        elseif lost then
            return function()
                made.roads.fall(lease, lost)
            end
        elseif road and made.roads.first_without(lease, road.kept + 1, #road.order) then
            return function()
                made.roads.gain(lease)
            end
        end
        local instead = db.fairs and made.fair.next_of_user(lease)
        if instead then
            return function()
                made.fair.swap(lease, instead)
            end
        end
        local is_chosen, scattered = choose_units(lease)
        if not is_chosen then
            return road and made.roads.step_to_scattered(lease, scattered) or nil
        end
        return function()
            grant_waiter(lease)
        end
    end

    -- The last lease for which some of it is kept, if these units are not there any more.
    local function step_of_keeper(name)
        local member = db.keeps and made.roads.last_kept(name)
        local lease = member and load_lease(match(member, '(%S+)$'))
        local claim = lease and claim_on(lease, name)
        if not member then
            return nil
        elseif not claim or not made.roads.keeps(lease, claim) then -- a script was broken off
            return function()
                made.roads.free_kept(lease, {claim})
                call('ZREM', KEPT, member)
            end, ''
        elseif not has(lease, claim) then
            local lost = made.roads.lost_place(lease)
            return lost == 0 and LATER or function()
                made.roads.fall(lease, lost)
            end, order_text(lease)
        end
    end

    -- The next step of the leases that stand or keep there: {take, order, name, at}; nil: there is none.
    local function next_step(name)
        local resource = resource_of(name)
        local change = held_up_by(resource)
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
                if not take and resource.is_rated then
                    made.rates.wait(resource, lease, claim_on(lease, name))
                end
                step = take and {take = take, order = order_text(lease), name = name, at = n_steps,
                    is_local = not lease.road} or nil
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

    local function break_circles()
        while db.may_have_circle do
            db.may_have_circle = made.circles.break_one()
        end
    end

    -- The oldest lease that can do something does it, then all whom that concerns are asked again. So the
    -- result does not depend on which queue is looked at first.
    local function serve_dirty()
        local done = {}
        for _, name in ipairs(call('SRANDMEMBER', DIRTY, MAX_SERVED)) do
            if name ~= KEEP then
                -- A script that has left it may not have looked for circles yet.
                db.may_have_circle = db.may_have_circle or not dirty[name] and db.nested
                look_again(name)
            end
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
        break_circles() -- before the names are clean: it is done again if this is broken off
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
        step_back = step_back, wake_user = wake_user, serve_dirty = serve_dirty, break_circles = break_circles}
end
