-- ---- how fast units are granted: `rate` of a definition. For calls about a resource that has one ----
--
-- The generic cell rate algorithm (ITU-T I.371) in its form of virtual scheduling: a resource is *full* from an instant
-- on, when all of `burst` may go at once. Each unit that is granted moves this by a step of `window` / `rate` ms, from
-- now at the earliest. As many units may go now as are left of `burst` after one for each step, begun or whole, until it
-- is full. What was granted before a grace is not known, and counts as a whole burst.
--
-- "rate NAME" of DB is `MS PART RATE WINDOW`: it is full at MS + PART / RATE, by that rate. "NAME *" in REST is when the
-- first of the queue may go; if nobody waits for that, some time after it is full: then the field goes.
function make.rates()
    local rates = {}
    local FIELD = 'rate ' -- precedes a name in DB
    local TIDY = 60000 -- ms: what is over is removed at whole minutes, for many names in one call

    local function member_of(name)
        return name .. ' *'
    end

    -- That many steps after an instant, exactly; or before it.
    local function after(rules, ms, part, n_steps)
        local step, rest = floor(rules.window / rules.rate), rules.window % rules.rate
        part = part + n_steps * rest
        return ms + n_steps * step + floor(part / rules.rate), part % rules.rate
    end

    local function n_steps_until(ms, part, rate, window)
        return max(math.ceil(((ms - db.clock) * rate + part) / window), 0)
    end

    local function rest_until(resource, at)
        call('ZADD', REST, text_of(at), member_of(resource.name))
        noted.first[REST], resource.rests_until = nil, at
    end

    local function minute_after(ms)
        return ms - ms % TIDY + TIDY
    end

    local function fill_at(resource, ms, part)
        local rules = resource.definition
        resource.full_at, resource.full_part = ms, part
        if not resource.rests_until and not call('ZSCORE', REST, member_of(resource.name)) then
            rest_until(resource, minute_after(ms)) -- first: what is in DB is removed then
        end
        resource.rests_until = resource.rests_until or 0 -- it is there
        call('HSET', DB, FIELD .. resource.name, format('%d %d %d %d', ms, part, rules.rate, rules.window))
    end

    -- When it is full: ms, and parts of one.
    local function full_at(resource)
        if not resource.full_at then
            local rules = resource.definition
            local stored, since = unpack(call('HMGET', DB, FIELD .. resource.name, 'since'))
            local ms, part, rate, window = match(stored or '', '^(%d+) (%d+) (%d+) (%d+)$')
            ms, part = tonumber(ms or 0), tonumber(part or 0)
            rate, window = tonumber(rate or rules.rate), tonumber(window or rules.window)
            local n = n_steps_until(ms, part, rate, window)
            if n > rules.burst or n > 0 and (rate ~= rules.rate or window ~= rules.window) then
                -- By another definition: as many units have gone as by that one, but no more than can go at once.
                ms, part = after(rules, db.clock, 0, min(n, rules.burst))
                fill_at(resource, ms, part)
            end
            local began_ms, began_part = after(rules, tonumber(since or 0), 0, rules.burst)
            if ms < began_ms or ms == began_ms and part < began_part then
                ms, part = began_ms, began_part
            end
            resource.full_at, resource.full_part = ms, part
        end
        return resource.full_at, resource.full_part
    end

    -- How many units may go now.
    function rates.n_now(resource)
        local rules, ms, part = resource.definition, full_at(resource)
        return rules.burst - n_steps_until(ms, part, rules.rate, rules.window)
    end

    -- After how many ms it is full, rounded up.
    function rates.full_in(resource)
        local ms, part = full_at(resource)
        return max(ms - db.clock + (part > 0 and 1 or 0), 0)
    end

    -- Units are granted. Before anything else of the grant is written: if that is broken off, they have gone, too.
    function rates.note_grant(resource, n)
        local ms, part = full_at(resource)
        if ms < db.clock then
            ms, part = db.clock, 0
        end
        fill_at(resource, after(resource.definition, ms, part, n))
    end

    -- The first in the queue can do nothing. If that is because so many cannot go yet, the queue is looked at again once
    -- they can, in a call of this daemon: the waiter's may not call before.
    function rates.wait(resource, lease, claim)
        local rules, ms, part = resource.definition, full_at(resource)
        local n = claim.count + (db.keeps and made.roads.kept_for_older(lease, claim.name .. ' ') or 0)
        ms, part = after(rules, ms, part, n - rules.burst)
        ms = part > 0 and ms + 1 or ms
        if n > rules.burst or ms <= db.clock or resource.rests_until == ms then
            return
        elseif db.caller ~= ME then
            db.caller = ME
            call('HSET', DB, 'caller', ME)
        end
        rest_until(resource, ms)
    end

    -- Its member in REST is due.
    function rates.end_rest(member)
        local name = match(member, '^%S+')
        local resource = resource_of(name)
        local ms = tonumber(match(call('HGET', DB, FIELD .. name) or '0', '^%d+'))
        if ms >= db.clock then
            rest_until(resource, minute_after(ms))
        else
            resource.rests_until = nil
            call('HDEL', DB, FIELD .. name)
            call('ZREM', REST, member)
        end
    end

    return rates
end
