#!lua
-- Fires a timer now, even if it is not due. A repeating timer keeps its next time.
-- KEYS  1 timers, 2 paused, 3 recent, 4 anchors, 5 the timer's key, 6 fired,
--       7 events
-- ARGV  1 name, 2 whether it repeats (1 or empty), 3 cap of the events
-- Returns now, which is the due time of this firing (ms)
-- Cost  O(log n)
local timers, paused, recent, anchors, key = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local fired, events = KEYS[6], KEYS[7]
local name = ARGV[1]

local now = now()
local due = int(now)
-- Sent first: if that fails, the timer still exists.
redis.call('XADD', fired, '*', 'name', name, 'due', due, 'late', '0')
if ARGV[2] == '' then
  redis.call('ZREM', timers, name)
  redis.call('ZREM', paused, name)
  redis.call('HDEL', anchors, name)
  redis.call('UNLINK', key)
  redis.call('ZADD', recent, due, name)
end
redis.call('XADD', events, 'MAXLEN', '~', ARGV[3], '*', 'event', 'timer', 'timer', name, 'due', due, 'outcome', 'fired', 'late', '0')
return now
