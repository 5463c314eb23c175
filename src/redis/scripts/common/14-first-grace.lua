-- ---- the first grace: which data these are, and whether others were here before ----

function make.first_grace()
    local function is_now()
        return db.grace and db.epoch == 1
    end

    -- No sign of earlier data has come so far.
    local function is_new()
        return is_now() and call('HGET', DB, 'first') == 'new'
    end

    -- A whole one, from now on. Hosts that have put back what they have need not do it again.
    local function force_grace()
        if db.grace then
            time().set_grace()
        else
            time().begin_grace()
        end
    end

    -- HOST gives a sign that there were other data here, or are leases that these do not know. In the first
    -- grace, `found` is refused from then on; and as long as a grace that `found` has ended would have lasted,
    -- another one begins.
    local function doubt(why, host)
        local first = call('HGET', DB, 'first')
        local founded = first and match(first, '^founded (%d+)$')
        if first == 'new' or (founded and is_now()) then
            call('HSET', DB, 'first', why .. ' ' .. host)
        elseif founded and db.clock < tonumber(founded) then
            force_grace()
        end
    end

    -- A session begins. KNOWN is the id that its daemon knows for this place, 'moved' if it knew this database
    -- in another place, or neither.
    local function meet(known, is_new_session, host)
        if known and match(known, '^%x+$') then
            if call('HGET', DB, 'id') ~= known then
                doubt('known', host)
                force_grace()
                time().ensure_id(known)
            end
        elseif known then
            doubt('moved', host)
        elseif is_new_session and SEQUENCE_SAID > 0 then -- it has had answers here, perhaps as an earlier berthd
            doubt('known', host)
        end
        if not db.grace then -- where an earlier berthd has ended the grace
            time().ensure_id()
        end
    end

    -- This session has said what it knew: an earlier berthd does not.
    local function note_session()
        if is_now() and call('HEXISTS', SESSION, 'f:' .. ME) == 0 then
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
        elseif not first then -- signs before were not noted
            return 'not-new', 'begun'
        elseif first ~= 'new' and not match(first, '^founded ') then -- the latter: it was broken off
            return match(first, '^listed ') and 'in-use' or 'not-new', first
        end
        for _, name in ipairs(call('ZRANGEBYSCORE', SESSIONS, '-inf', '(+inf')) do
            local session = session_of(name)
            if not session or call('HEXISTS', SESSION, 'f:' .. name) == 0 then
                return 'not-new', 'earlier ' .. (session and session.host or name)
            elseif session.listing ~= '0' then
                return 'grace', 'listing ' .. session.host
            end
        end
    end

    -- Ends it, as these data never held anything. What is noted is when it would have ended.
    local function found()
        local code, why = objection()
        if code then
            settle()
            return answer('refused', code, why)
        end
        call('HSET', DB, 'first', 'founded ' .. text_of(db.grace))
        time().ensure_id()
        call('HDEL', DB, 'grace')
        db.grace = nil
        settle()
        return answer('ok', '')
    end

    return {is_new = is_new, doubt = doubt, meet = meet, note_session = note_session, found = found}
end
