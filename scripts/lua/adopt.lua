#!lua flags=allow-oom
-- Synchronizes the set of timers with a timer's key, after an event of the key or a scan
-- that found it.
-- KEYS  1 the timer's key, 2 timers, 3 paused, 4 recent, 5 anchors
-- ARGV  1 name, 2 event (such as set, expire, expired, del; scan), 3 how long a
--       timer is recent (ms), 4 how long the key has been known to be set (ms),
--       or an empty string
-- Returns 1 the set was changed; 0 it was not
-- Cost  O(log n)
local key, timers, paused, recent, anchors = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local name, event = ARGV[1], ARGV[2]

local at = redis.call('PEXPIRETIME', key)
local waits = redis.call('ZSCORE', paused, name)
if at > 0 then
  -- A service has set it: later events of the key are the service's doing.
  redis.call('ZREM', recent, name)
  local set = waits and paused or timers
  local score = redis.call('ZSCORE', set, name)
  if score and tonumber(score) == at then return 0 end
  redis.call('ZADD', set, string.format('%.0f', at), name)
  redis.call('HDEL', anchors, name)
  return 1
end
if at == -1 then
  if waits then return 0 end
  redis.call('HDEL', anchors, name)
  return redis.call('ZREM', timers, name)
end
-- The key was deleted. That means nothing if Fanfold deleted it, unless a service has set
-- it again.
local now = now()
local ended = tonumber(redis.call('ZSCORE', recent, name) or 0)
local since = now - math.min(tonumber(ARGV[3]), tonumber(ARGV[4]) or math.huge)
if ended > since then return 0 end
if event == 'del' or event == 'rename_from' then
  redis.call('HDEL', anchors, name)
  return redis.call('ZREM', timers, name) + redis.call('ZREM', paused, name)
end
-- It was set and expired, and only the second event was received.
if event == 'expired' and not waits and redis.call('ZADD', timers, 'NX', int(now), name) == 1 then return 1 end
return 0
