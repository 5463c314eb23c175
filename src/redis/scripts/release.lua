-- release.lua - ARGV: ID... Ends leases of the caller's session, held or waiting. Unknown ones are over
-- already.
function scripts.release()
    write_first()
    local wrong = enter(true)
    if wrong then
        return wrong
    end
    for i = 5, #ARGV do
        local key = ME .. '/' .. ARGV[i]
        drop_key(key, load_lease(key))
    end
    settle()
    return answer('ok')
end
