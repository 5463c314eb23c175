-- ---- definitions and operators' changes ----

local definitions -- of this call, by name
local resources -- the same
-- What a definition without that key means (conf/keys.def): a berthd of another version may have left it out.
local DEFAULTS = {limit = 0, select = 'lru', cooldown = 0, keep = 10000, ['max-waiters'] = 1000,
    ['max-units-per-user'] = 0, rate = 0, window = 0, burst = 1, fair = false, shared = false, items = {}, also = {}}

fresh.noted[#fresh.noted + 1] = function()
    definitions, resources = {}, {}
end

local function with_defaults(json)
    return setmetatable(cjson.decode(json), {__index = DEFAULTS})
end

local function definition_of(name)
    if definitions[name] == nil then
        local text = call('HGET', DEFINITIONS, name)
        local generation, json = match(text or '', '^(%d+) (.*)$')
        definitions[name] = json and with_defaults(json) or false
        if json then
            definitions[name].generation = tonumber(generation)
            definitions[name].json = json
            noted.weight = noted.weight + #json / 50
        end
    end
    return definitions[name]
end

local function is_template(name)
    return string.sub(name, -2) == '/*'
end

-- The exact name, else its template, whatever the caller's file has.
local function definition_name(name)
    if definition_of(name) then
        return name
    end
    local parent = match(name, '^(.*)/[^/]*$')
    return parent and parent .. '/*' or name
end

local function change_text(name) -- 0 and nil if there is none
    local version, json = match(call('HGET', CHANGES, name) or '', '^(%d+) (.*)$')
    return tonumber(version or 0), json
end

local function load_change(name)
    local _, json = change_text(name)
    return json and cjson.decode(json) or {}
end

local function items_text(definition)
    return table.concat(definition.items or {}, ',')
end

-- What is in force. A change to the limit or the items ends when the file's value is no longer what it was at
-- the time of the change. A smaller limit ends only with a newer file: where files differ, a database that has
-- lost its data may have another one's value. A change to an instance comes before one to its template, which
-- names the instances that its pause leaves out.
local function resource_of(name)
    local resource = resources[name]
    if not resource then
        local definition = definition_name(name)
        resource = {name = name, definition_name = definition,
            definition = definition_of(definition), change = load_change(name)}
        local rules = resource.definition
        if rules then
            local change = resource.change
            local of_all = definition ~= name and resource_of(definition).change or {}

            local function limit_in(one)
                local is_newer = rules.generation > (tonumber(one['limit-generation']) or -1)
                return one.limit and (one['limit-base'] == rules.limit or one.limit < rules.limit and not is_newer)
                    and (rules.kind ~= 'lock' or one.limit <= max(rules.limit, 1)) -- it was set when more could share it
                    and one.limit
            end

            local with_all = of_all.paused and not (of_all.exempt and of_all.exempt[name])
            resource.of_all = of_all
            resource.is_pool = rules.kind == 'pool'
            resource.is_rated = rules.rate > 0
            resource.burst = resource.is_rated and rules.burst or math.huge -- units at once
            resource.limit_of_all = limit_in(of_all)
            resource.own_limit = limit_in(change)
            resource.limit = resource.own_limit or resource.limit_of_all
            resource.paused = change.paused or with_all
            resource.items_changed = change['items-base'] and change['items-base'] == items_text(rules)
            resource.reserved = change.reserved or {}
            resource.has_reserved = next(resource.reserved) ~= nil
        end
        resources[name] = resource
        noted.weight = noted.weight + 10
    end
    return resource
end
