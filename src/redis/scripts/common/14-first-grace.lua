-- ---- the first grace: whether these data are new, and `found`, which ends it ----
--
-- `first` of DB: `new`; or the first sign that there were others before, and whose it was: `known HOST`, `listed HOST`;
-- or, once it has been ended, `founded CLOCK`: when it would have ended by itself.

function make.first_grace()
    local function is_now()
        return db.grace and db.epoch == 1
    end

    -- No sign of earlier data has come so far.
    local function is_new()
        return is_now() and call('HGET', DB, 'first') == 'new'
    end

    -- In the first grace: the latter if `found` was broken off.
    local function is_undoubted(first)
        return first == 'new' or match(first, '^founded ')
    end

    -- In the first grace, `found` is refused from now on.
    local function doubt(sign, host)
        if is_now() and is_undoubted(call('HGET', DB, 'first')) then
            call('HSET', DB, 'first', sign .. ' ' .. host)
        end
    end

    -- HOST lists a lease that these data do not know. Where `found` has ended a first grace that would not be over
    -- yet, another one begins. (Later, all leases of the time before have ended.)
    local function miss_lease(host)
        doubt('listed', host)
        local founded = not db.grace and match(call('HGET', DB, 'first') or '', '^founded (%d+)$')
        if founded and db.clock < tonumber(founded) then
            made.time.begin_grace()
        end
    end

    -- A session begins. Its daemon may have had answers in this place; and operators are shown since when it is
    -- there.
    local function meet(host)
        if SEQUENCE_SAID > 0 then
            doubt('known', host)
        end
        if is_now() then
            call('HSET', SESSION, 'f:' .. ME, text_of(db.clock))
        end
    end

    -- Why these data may not be founded: a code, and which sign; nil: nothing speaks against it.
    local function objection()
        local first = call('HGET', DB, 'first')
        if not db.grace then
            return 'not-new', 'over'
        elseif not is_now() then
            return 'not-new', 'later'
        elseif not is_undoubted(first) then
            return match(first, '^listed ') and 'in-use' or 'not-new', first
        end
        for _, name in ipairs(call('ZRANGEBYSCORE', SESSIONS, '-inf', '(+inf')) do
            local session = session_of(name)
            if session and session.listing ~= '0' then
                return 'grace', 'listing ' .. session.host
            end
        end
    end

    -- Ends it, as these data never held anything.
    local function found()
        local code, why = objection()
        if code then
            return finish('refused', code, why)
        end
        call('HSET', DB, 'first', 'founded ' .. text_of(db.grace))
        made.time.ask_to_renew() -- so the others hear of it
        call('HDEL', DB, 'grace')
        call('HSET', DB, 'since', '0') -- nothing was granted before
        db.grace = nil
        return finish('ok', '')
    end

    return {is_new = is_new, miss_lease = miss_lease, meet = meet, found = found}
end
