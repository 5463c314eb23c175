-- release.lua - ARGV: ID... Ends leases of the caller's session, held or waiting. Unknown ones are over
-- already.
scripts.release = {at_maxmemory = true, may_recall = true}

function scripts.release.run()
    local keys = {}
    for i = 5, #ARGV do
        keys[#keys + 1] = ME .. '/' .. ARGV[i]
    end
    batch.drop(keys)
    return finish('ok')
end
