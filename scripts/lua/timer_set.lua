#!lua flags=allow-oom
-- Sets a timer, or removes it. Its key is deleted, and the timer is no longer paused.
-- KEYS  1 timers, 2 paused, 3 recent, 4 anchors, 5 the timer's key
-- ARGV  1 name, 2 due (ms; below 10^11 it means now), or an empty string to remove
--       it
-- Returns 1 it existed before; 0 it did not
-- Cost  O(log n)
local timers, paused, recent, anchors, key = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local name, due = ARGV[1], ARGV[2]

local now = now()
local existed = redis.call('ZREM', paused, name) == 1 or redis.call('ZSCORE', timers, name) or redis.call('PEXPIRETIME', key) > 0
redis.call('UNLINK', key)
redis.call('HDEL', anchors, name)
redis.call('ZADD', recent, int(now), name)
if due == '' then
  redis.call('ZREM', timers, name)
else
  if tonumber(due) < 100000000000 then due = int(now) end
  redis.call('ZADD', timers, due, name)
end
return existed and 1 or 0
