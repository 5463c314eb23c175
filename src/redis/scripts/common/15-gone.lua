-- ---- hosts that are gone: for operators' eyes ----
--
-- Nothing here may hinder what a call is for: an error of the key, such as one of another type, is ignored. A call that
-- is broken off may leave too few leases in the count.

function make.gone()
    local MAX_GONE, SHOWN_FOR = 100, 3600 * 1000 -- hosts, and ms on the session clock
    local MAX_NAMES, MAX_TOLD = 8, 8 -- of resources of one host; hosts in one message

    -- The answer to a command on the key `gone`; of an error {}.
    local function ask(command, ...)
        local answer = redis.pcall(command, KEYS[22], ...)
        return type(answer) == 'table' and answer.err and {} or answer
    end

    -- Against a key that is missing: an earlier berthd has made these data, or it was evicted.
    local function keep()
        ask('ZADD', '+inf', KEEP)
    end

    -- What a dead session held, as far as earlier calls have ended it; nil: its daemon had left.
    local function losses_of(name)
        local before = call('HGET', SESSION, 'g:' .. name) or '0 '
        if before == 'left' then
            return nil
        end
        local n, names = match(before, '^(%d+) (.*)$') -- nil: another layout's words
        return {n = tonumber(n or 0), names = split(names or '', ',')}
    end

    local function text_of_losses(losses)
        return format('%d %s', losses.n, table.concat(losses.names, ','))
    end

    local function note_loss(losses, lease)
        losses.n = losses.n + 1
        for _, claim in ipairs(lease.claims) do
            local is_new = #losses.names <= MAX_NAMES
            for _, name in ipairs(losses.names) do
                is_new = is_new and name ~= claim.name
            end
            if is_new then
                losses.names[#losses.names + 1] = #losses.names < MAX_NAMES and claim.name or '...'
            end
        end
    end

    -- The next call goes on.
    local function keep_losses(name, losses)
        call('HSET', SESSION, 'g:' .. name, text_of_losses(losses))
    end

    -- All its leases have ended now. Returns its entry in tell().
    local function note(session, heard_at, losses)
        local entry = format('%s %s %s', session.name, text_of_losses(losses), session.host)
        ask('ZADD', text_of(db.clock), text_of(heard_at) .. ' ' .. entry, '+inf', KEEP)
        ask('ZREMRANGEBYSCORE', '-inf', text_of(db.clock - SHOWN_FOR))
        local oldest = ask('ZRANGE', '0', -2 - MAX_GONE)
        if #oldest > 0 then
            ask('ZREM', unpack(oldest, 1, min(#oldest, MAX_GONE))) -- later calls remove the others
        end
        return entry
    end

    -- The other daemons log it.
    local function tell(entries)
        if #entries > 0 then
            pcall(publish, 'all', format('gone %d\t%s', #entries,
                table.concat(entries, '\t', 1, min(#entries, MAX_TOLD))))
        end
    end

    -- The session of the host that has begun last, and when.
    local function last_begun(host)
        local name, at = match(call('HGET', SESSION, 'h:' .. host) or '', '^(%S+) (%d+)$')
        return name, tonumber(at or 0)
    end

    -- Whether another session of its host has begun since, and lives: after a reboot, say.
    local function is_back(session, heard_at)
        local name, at = last_begun(session.host)
        return name and name ~= session.name and at >= heard_at
            and tonumber(call('ZSCORE', SESSIONS, name) or 0) > db.clock
    end

    local function forget(session)
        if last_begun(session.host) == session.name then
            call('HDEL', SESSION, 'h:' .. session.host)
        end
    end

    -- A host is heard from, perhaps by a new session.
    local function come_back(name, host)
        call('HDEL', SESSION, 'g:' .. name)
        call('HSET', SESSION, 'h:' .. host, name .. ' ' .. text_of(db.clock))
        for _, member in ipairs(ask('ZRANGE', '0', '-1')) do
            local its_name, its_host = match(member, '^%d+ (%S+) %d+ %S* (.*)$')
            if its_name == name or its_host == host then
                ask('ZREM', member)
            end
        end
        keep()
    end

    -- As rows of a snapshot.
    local function rows()
        local found, list = ask('ZRANGEBYSCORE', text_of(db.clock - SHOWN_FOR), '(+inf', 'WITHSCORES'), {}
        for i = 1, #found, 2 do
            local heard_at, name, n, names, host = match(found[i], '^(%d+) (%S+) (%d+) (%S*) (.*)$')
            if host then
                list[#list + 1] = {'gone', name, host, floor(db.clock - heard_at), floor(db.clock - found[i + 1]),
                    n, names}
            end
        end
        return list
    end

    return {keep = keep, losses_of = losses_of, note_loss = note_loss, keep_losses = keep_losses, note = note,
        tell = tell, is_back = is_back, forget = forget, come_back = come_back, rows = rows}
end
