#!lua flags=allow-oom
-- Pauses a member, or replaces the end, the person and the reason of its pause, which keeps its
-- start.
-- KEYS  1 paused
-- ARGV  1 member, 2 until when (ms; 0: until it is resumed), 3 who, 4 reason
-- Returns since when it is paused (ms)
-- Cost  O(1)
local paused, member = KEYS[1], ARGV[1]

local before = redis.call('HGET', paused, member)
local since = before and cjson.decode(before)['since'] or now()
redis.call('HSET', paused, member,
  cjson.encode({since = since, ['until'] = tonumber(ARGV[2]), who = ARGV[3], reason = ARGV[4]}))
return since
