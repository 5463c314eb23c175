-- script.lua - the end of the script, for a Redis that allows no functions: EVAL runs all of it in
-- each call, but for the files of other operations. The last argument names the operation; `about` tells a daemon
-- that the script is there.
if GIVEN[3] == 'about' then
    return GIVEN[3]
end
begin_call(GIVEN[1], GIVEN[2])
return run(GIVEN[3])
