#!lua flags=allow-oom
-- Ends the trials after a pause of a source, because a call has succeeded. A pause that has begun
-- since stays.
-- KEYS  1 pause of the source
-- Returns 1 ended; 0 the source has a pause
-- Cost  O(1)
local key = KEYS[1]

if now() < tonumber(redis.call('HGET', key, 'until') or 0) then return 0 end
redis.call('DEL', key)
return 1
