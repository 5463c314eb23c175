-- library.lua - the end of the library: FUNCTION LOAD runs all of it, once. Its functions are named after it, as
-- Redis has one name space for all libraries. `about` tells a daemon that it is there. `idle` tells for how many
-- seconds nobody has called any operation; the count begins when it is asked, again after each call in between.
--
-- Redis refuses functions at maxmemory, but those with `allow-oom`: what gives back, lists or looks must go on.
local was_called, idle_since = true, 0

local function register(name)
    redis.register_function({function_name = LIBRARY .. '_' .. name,
        flags = scripts[name].at_maxmemory and {'allow-oom'} or {},
        callback = function(keys, arguments)
            was_called = true
            begin_call(keys, arguments)
            local reply = run(name)
            memory.keep()
            return reply
        end})
end

local names = {'hello', 'acquire', 'release', 'renew', 'snapshot', 'admin'}
for i = 1, #names do -- nothing of Lua's is there yet
    register(names[i])
end
redis.register_function({function_name = LIBRARY .. '_about', flags = {'no-writes', 'allow-oom'},
    callback = function()
        return LIBRARY
    end})
redis.register_function({function_name = LIBRARY .. '_idle', flags = {'no-writes', 'allow-oom'},
    callback = function()
        local now = tonumber(redis.call('TIME')[1])
        if was_called then
            was_called, idle_since = false, now
        end
        return now - idle_since
    end})
