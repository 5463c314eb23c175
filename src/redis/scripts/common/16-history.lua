-- ---- what has ended of late: for people's eyes ----
--
-- `history` of DB is how many entries the database keeps, about; absent: none. `missed` is how many were left out,
-- and since when: "N FROM". Nothing here may hinder what a call is for: an error of the key is ignored. An entry is
-- written before the lease's record goes, so a call that is broken off and repeated may leave two.
--
-- Entries have one field: e, KEY HOST ENDING RECORD with tabs between, the last of which is the lease's as it was in
-- LEASES; d, KEY HOST WORDS RECORD of what an operator did to that lease, or else with CLAIMS in place of RECORD; m,
-- MISSED, or `0 FROM` where nobody knows how many; or s, as the history begins.

function make.history()
    local MAX_LENGTH, MAX_ENDING, MAX_RECORD = 1000000, 256 + #'ended=1234567890123 ', 2000 -- the latter: bytes
    local PAGE = 200 -- entries

    -- A library's functions are allowed everything at maxmemory, and asking costs more than the entry: what was
    -- seen is believed for a second. It concerns the server, not one database.
    local LOOKS_AGAIN_AFTER = 1000 -- ms
    local looked_at, was_full = -math.huge, false

    local function is_full()
        if LIBRARY and not (looked_at <= wall and wall < looked_at + LOOKS_AGAIN_AFTER) then
            local info = info_of('memory') or ''
            local used, most = match(info, 'used_memory:(%d+)'), match(info, '\nmaxmemory:(%d+)')
            looked_at = wall
            was_full = tonumber(most or 0) > 0 and tonumber(used or 0) > tonumber(most)
        end
        return db.is_full or was_full
    end

    local function ask(command, ...)
        return redis.pcall(command, KEYS[23], ...)
    end

    local function add(field, value)
        local id = redis.pcall('XADD', KEYS[23], 'MAXLEN', '~', db.history, '*', field, value)
        return type(id) == 'string'
    end

    local function miss()
        local n, from = match(db.missed or '', '^(%d+) (%d+)$')
        db.missed = format('%d %s', (n or 0) + 1, from or text_of(wall))
        call('HSET', DB, 'missed', db.missed)
    end

    -- What others have written since the last call that these data know may be lost.
    local function lose(last)
        if db.history then
            add('m', '0 ' .. text_of(last))
        end
    end

    -- Without its units, which may be thousands: entries are counted, not measured.
    local function short_record(lease)
        local fields = {unpack(cmsgpack.unpack(lease.record), 1, 12)}
        for _, claim in ipairs(fields[9]) do
            claim[6] = {}
        end
        return cmsgpack.pack(fields)
    end

    -- (At maxmemory, operators' calls are refused.)
    local function write(field, key, session, words, lease, claims)
        if field == 'e' and is_full() or db.missed and not add('m', db.missed) then
            miss()
            return
        elseif db.missed then
            call('HDEL', DB, 'missed')
            db.missed = false
        end
        session = session_of(session)
        local record = lease and (#lease.record <= MAX_RECORD and lease.record or short_record(lease)) or claims
        if not add(field, key .. '\t' .. (session and session.host or '') .. '\t' .. words .. '\t' .. record) then
            miss()
        end
    end

    local function note(lease, ending)
        write('e', lease.key, lease.session, string.sub(ending, 1, MAX_ENDING), lease)
    end

    -- What an operator of this host did to that lease; or, without one, to what CLAIMS name.
    local function note_did(words, lease, claims)
        if db.history then
            write('d', lease and lease.key or '', ME, words, lease, claims)
        end
    end

    -- Of a lease that its daemon does not end: when it has ended, and for how long it was held. `at` on the session
    -- clock; nil: now. Not of a waiter: it may ask again.
    local function ending_of(lease, how, at)
        at = at or db.clock
        return lease and lease.state == 'H' and format('how=%s ended=%d held=%d', how,
            wall - max(floor(db.clock - at), 0), max(floor(at - (lease.since or at)), 0))
    end

    -- A daemon says how many its file wants (nil: it may not keep any): the most that any wants, until one comes that
    -- is alone. The key is made if it is missing: in a cluster, none should be. Entries of data that are lost stay;
    -- what came after the newest of them may be lost, too.
    local function agree(length)
        if length and n_sessions() > 1 then
            length = max(length, tonumber(db.history or 0))
        end
        local wanted = length and length > 0 and text_of(min(floor(length), MAX_LENGTH))
        local is_there = call('EXISTS', KEYS[23]) == 1
        if not length or wanted == db.history and is_there then
            return
        elseif not wanted then
            ask('XADD', 'MAXLEN', '0', '*', 's', '') -- removes all entries, and this one
            call('HDEL', DB, 'history')
        else
            local newest = not db.history and ask('XREVRANGE', '+', '-', 'COUNT', '1')[1]
            if newest then
                ask('XADD', 'MAXLEN', '~', wanted, '*', 'm', '0 ' .. match(newest[1], '^%d+'))
            elseif not db.history or not is_there then
                ask('XADD', 'MAXLEN', '~', wanted, '*', 's', '')
            end
            call('HSET', DB, 'history', wanted)
        end
        db.history = wanted
    end

    -- Much faster than a pattern.
    local function take_words(value)
        local tab = string.find(value, '\t', 1, true)
        local next_tab = string.find(value, '\t', tab + 1, true)
        local last_tab = string.find(value, '\t', next_tab + 1, true)
        return string.sub(value, 1, tab - 1), string.sub(value, tab + 1, next_tab - 1),
            string.sub(value, next_tab + 1, last_tab - 1), string.sub(value, last_tab + 1)
    end

    local function row_of(id, fields)
        local field, value = unpack(fields, 1, 2)
        if field == 'm' then
            local n, from = match(value, '^(%d+) (%d+)$')
            return {'missed', id, n, from}
        elseif field == 'e' or field == 'd' then
            local key, host, words, record = take_words(value)
            local kind = field == 'e' and 'past' or 'did'
            if field == 'd' and key == '' then
                return {kind, id, key, host, words, '', 0, '', '', record}
            end
            batch.records[key] = record
            local lease = load_lease(key)
            return {kind, id, key, host, words, lease.state, lease.uid, lease.holder, lease.info, claims_text(lease)}
        end
    end

    -- The entries behind that id, or from N ms ago on (`N ago`), as rows of a snapshot; with `before`, the last ones
    -- before that id (`+`: of all), the newest first. The first row: NOW, the id of the first entry that there is, the
    -- last one of this page if there may be more, and MISSED. Without the right to read there is no row. What makes no
    -- sense is left out, as is what a daemon refuses: a NUL.
    local function page(from, before)
        local ago = tonumber(match(from, '^(%d+) ago$'))
        local bound = ago and text_of(max(wall - ago, 0)) or '(' .. from
        local first, found = ask('XRANGE', '-', '+', 'COUNT', '1'), nil
        if before then
            found = ask('XREVRANGE', before == '+' and before or '(' .. before, bound, 'COUNT', PAGE)
        else
            found = ask('XRANGE', bound, '+', 'COUNT', PAGE)
        end
        if type(first) ~= 'table' or first.err or type(found) ~= 'table' or found.err then
            return {}
        end
        local rows = {{'page', text_of(wall), first[1] and first[1][1] or '', #found == PAGE and found[PAGE][1] or '',
            db.missed or ''}}
        for _, entry in ipairs(found) do
            local is_good, row = pcall(row_of, entry[1], entry[2])
            is_good = is_good and row
            for i, value in ipairs(is_good and row or {}) do
                row[i] = tostring(value)
                is_good = is_good and not string.find(row[i], '\0', 1, true)
            end
            if is_good then
                rows[#rows + 1] = row
            end
        end
        batch.records = {}
        return rows
    end

    return {lose = lose, note = note, note_did = note_did, ending_of = ending_of, agree = agree, page = page}
end
