-- rights.lua - asks a server what scripts may do there, and writes nothing. ARGV: any of the database's keys (among
-- KEYS, it might not be allowed), and one of its channels. Returns an array of strings: the error of INFO, or "" if
-- scripts may use it; the error of a write, or ""; what the user lacks for the history alone ("+xadd"), or ""; what it
-- lacks besides, as ACL SETUSER takes it ("+hset").
local names = {COMMANDS} -- that the other scripts use on keys: see embed
local prefix = string.match(ARGV[1], '^.*:')
local lacking = {}

local function need(acl, ...)
    local good, may = pcall(redis.acl_check_cmd, ...)
    if not (good and may) then
        lacking[#lacking + 1] = acl
    end
end

-- After the key. Redis 8.0 judges no command that has too few or too many.
local ones = {'1', '1', '1'}
local function n_arguments(name)
    local n = 0
    while n < #ones and not pcall(redis.acl_check_cmd, name, ARGV[1], unpack(ones, 1, n)) do
        n = n + 1
    end
    return n
end

need('+xadd', 'XADD', ARGV[1], '*', '1', '1')
need('+xrange', 'XRANGE', ARGV[1], '-', '+')
need('+xrevrange', 'XREVRANGE', ARGV[1], '+', '-')
local of_history = table.concat(lacking, ' ')
lacking = {}
for _, name in ipairs(names) do
    local n = n_arguments(name)
    need('+' .. string.lower(name), name, ARGV[1], unpack(ones, 1, n))
end
if #lacking == #names then
    lacking = {'~' .. prefix .. '*'}
end
need('+publish &' .. prefix .. '*', 'PUBLISH', ARGV[2], '1')
need('+ping', 'PING')
need('+time', 'TIME')
local info = redis.pcall('INFO', 'server')
local cluster = redis.pcall('INFO', 'cluster')
if type(cluster) == 'string' and string.find(cluster, 'cluster_enabled:1', 1, true) then
    need('+spublish', 'SPUBLISH', ARGV[2], '1')
end
-- Nobody is that member: nothing is written.
local writing = redis.pcall('ZADD', prefix .. 'sessions', 'XX', 0, '')
return {type(info) == 'table' and info.err or '', type(writing) == 'table' and writing.err or '', of_history, unpack(lacking)}
