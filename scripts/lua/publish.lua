#!lua flags=allow-oom
-- The point of no return, just before the object is committed: from here on
-- timeout and cancel lose.
-- KEYS  1 state
-- ARGV  1 id, 2 attempt, 3 fence
-- SHARED_KEYS  on one node: 1 events
-- SHARED  1 cap of the events
-- Returns 1 publishing, now or before; 4 the deadline has passed; 0 another
--       claim; -1 gone
-- Cost  O(1)
local state, events = KEYS[1], SHARED_KEYS[1]
local id, attempt, fence = ARGV[1], ARGV[2], ARGV[3]

local have = redis.call('HMGET', state, 'attempt', 'status', 'fence', 'deadline')
if have[1] ~= attempt then return -1 end
if have[3] ~= fence then return 0 end
if have[2] == 'PUBLISHING' then return 1 end
if have[2] ~= 'FOLD' then return -1 end
if now() >= tonumber(have[4]) then return 4 end
redis.call('HSET', state, 'status', 'PUBLISHING')
if events then
  redis.call('XADD', events, 'MAXLEN', '~', SHARED[1], '*', 'id', id, 'attempt', attempt, 'event', 'publishing')
end
return 1
