-- release.lua - ARGV: `ID`, `ID ENDING` or `ID AGO ENDING`... Ends leases of the caller's session, held or waiting. Unknown ones
-- are over already. ENDING, so many ms ago, is for the history; without it, the lease goes on at its daemon.
scripts.release = {at_maxmemory = true, may_recall = true}

function scripts.release.run()
    local keys, endings = {}, {}
    for i = 5, #ARGV do
        local id, ago, ending = match(ARGV[i], '^(%S+) ?(%d*) ?(.*)$')
        keys[#keys + 1] = ME .. '/' .. id
        if ago ~= '' then
            ending = format('ended=%d %s', wall - ago, ending)
        end
        endings[keys[#keys]] = ending ~= '' and ending or nil
    end
    batch.drop(keys, endings)
    return finish('ok')
end
