#!lua flags=allow-oom
-- Pauses a timer or resumes it, if it is not paused or resumed already: it keeps its due
-- time and loses its key.
-- KEYS  1 set from which it moves, 2 set to which it moves, 3 recent,
--       4 the timer's key
-- ARGV  1 name, 2 1: the key counts if the set does not have the timer; 0: it does not
-- Returns its due time in ms, or -1 if it does not exist
-- Cost  O(log n)
local from, to, recent, key = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local name = ARGV[1]

local at = redis.call('PEXPIRETIME', key)
local due = redis.call('ZSCORE', from, name)
if at > 0 and (due or ARGV[2] == '1') then due = string.format('%.0f', at) end
-- The time to which it was set while it was paused counts.
if due and ARGV[2] ~= '1' and at <= 0 then due = redis.call('ZSCORE', to, name) or due end
if not due then return math.floor(math.min(tonumber(redis.call('ZSCORE', to, name) or -1), 9007199254740991)) end
redis.call('ZREM', from, name)
redis.call('ZADD', to, due, name)
redis.call('UNLINK', key)
redis.call('ZADD', recent, int(now()), name)
return math.floor(math.min(tonumber(due), 9007199254740991))
