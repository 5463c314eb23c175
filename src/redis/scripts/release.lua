-- release.lua - ARGV: ID... Ends leases of the caller's session, held or waiting. Unknown ones are over
-- already.
function scripts.release()
    write_first()
    local wrong = enter(true)
    if wrong then
        return wrong
    end
    local keys = {}
    for i = 5, #ARGV do
        keys[#keys + 1] = ME .. '/' .. ARGV[i]
    end
    batch.drop(keys)
    settle()
    return answer('ok')
end
