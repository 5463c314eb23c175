-- ---- news: what is stored for all, numbered in the order of storing ----

-- "c NAME", an operator's change; "d NAME", a definition. The daemons fetch what is newer than what they
-- have.
local function newest_news() -- 0: there is none
    return tonumber(call('ZRANGE', NEWS, -1, -1, 'WITHSCORES')[2] or 0)
end

function make.news()
    local MAX_UNDONE = 1000 -- how many undone changes are remembered; every daemon keeps to it: see embed
    local UNDONE_KEPT = 30 * 86400 * 1000 -- ms, and for so long
    local function note(what)
        call('ZADD', NEWS, next_number(), what)
    end

    -- One message, however much is new and however many daemons fetch it; they spread that over this many ms.
    local function tell()
        publish('all', format('news %d %d', newest_news(), n_sessions()))
    end

    local function floor_of_changes()
        return tonumber(call('HGET', DB, 'floor') or 0)
    end

    local function raise_floor(version)
        if version > floor_of_changes() and version <= MAX_CREDIBLE then
            call('HSET', DB, 'floor', text_of(version))
        end
    end

    -- A daemon that has not heard of it, and finds the floor above the number that it has fetched up to,
    -- starts from the first again.
    local function forget_forgotten(name)
        local number = call('ZSCORE', NEWS, 'd ' .. name)
        if number and not definition_of(name) then
            raise_floor(tonumber(number))
            call('ZREM', NEWS, 'd ' .. name)
        end
    end

    -- Undone changes are not remembered for ever: below the floor, what is not stored has been undone.
    local function forget_undone()
        local names = call('ZRANGEBYSCORE', UNDONE, '-inf', wall - UNDONE_KEPT, 'LIMIT', 0, 2)
        if #names == 0 and call('ZCARD', UNDONE) > MAX_UNDONE then -- with KEEP
            names = call('ZRANGE', UNDONE, 0, 0)
        end
        for _, name in ipairs(names) do
            local version, json = change_text(name)
            local definition = match(name, '^d (.*)$')
            if definition then
                forget_forgotten(definition)
            elseif json == '{}' then
                raise_floor(version)
                call('HDEL', CHANGES, name)
                call('ZREM', NEWS, 'c ' .. name)
            end
            call('ZREM', UNDONE, name)
        end
    end

    -- An undone change stays as "{}", so that no host brings it back.
    local function store_change(name, version, json)
        mark_changed(name)
        note('c ' .. name)
        if resource_of(name).is_pool then
            sweep_from(SWEEP_ITEMS)
        end
        if json == '{}' then
            forget_undone()
            call('ZADD', UNDONE, wall, name)
        end
        call('HSET', CHANGES, name, text_of(version) .. ' ' .. json)
        if json ~= '{}' then
            call('ZREM', UNDONE, name)
        end
        resources = {} -- it may be a template's
    end

    -- Leaves out empty lists: JSON written by Lua cannot tell an empty list from an empty object.
    local function to_json(change)
        for _, key in ipairs({'added', 'removed', 'reserved', 'exempt'}) do
            if change[key] and next(change[key]) == nil then
                change[key] = nil
            end
        end
        if not change.added and not change.removed then
            change['items-base'], change['items-generation'] = nil, nil
        end
        for key in pairs(change.said or {}) do
            change.said[key] = change[key] and change.said[key]
        end
        if next(change.said or {}) == nil then
            change.said = nil
        end
        return next(change) == nil and '{}' or cjson.encode(change)
    end

    -- Calls `edit` with the change to each name that the definition governs; it returns whether it has edited it.
    local function edit_changes(definition, edit)
        local prefix = is_template(definition) and string.sub(definition, 1, -2)
        for _, name in ipairs(prefix and call('HKEYS', CHANGES) or {definition}) do
            local is_ours = not prefix
                or string.sub(name, 1, #prefix) == prefix and definition_name(name) == definition
            local change = is_ours and load_change(name)
            if change and edit(change) then
                store_change(name, next_number(), to_json(change))
            end
        end
    end

    return {note = note, tell = tell, floor_of_changes = floor_of_changes, raise_floor = raise_floor,
        forget_undone = forget_undone, store_change = store_change, to_json = to_json, edit_changes = edit_changes}
end
