-- release.lua - ARGV: `ID` or `ID ENDING`... Ends leases of the caller's session, held or waiting. Unknown ones are
-- over already. ENDING is for the history; without it, the lease goes on at its daemon.
scripts.release = {at_maxmemory = true, may_recall = true}

function scripts.release.run()
    local keys, endings = {}, {}
    for i = 5, #ARGV do
        local id, ending = match(ARGV[i], '^(%S+) ?(.*)$')
        keys[#keys + 1] = ME .. '/' .. id
        endings[keys[#keys]] = ending ~= '' and ending or nil
    end
    batch.drop(keys, endings)
    return finish('ok')
end
