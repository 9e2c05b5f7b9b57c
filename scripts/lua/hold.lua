#!lua flags=allow-oom
-- Sets a hold, or replaces the end, the person, the reason and the limit of one, which keeps its
-- start.
-- KEYS  1 holds
-- ARGV  1 member, 2 until when (ms; 0: until it is removed), 3 who, 4 reason, 5 limit (0: a pause)
-- Returns since when it is there (ms)
-- Cost  O(1)
local holds, member = KEYS[1], ARGV[1]

local before = redis.call('HGET', holds, member)
local since = before and cjson.decode(before)['since'] or now()
redis.call('HSET', holds, member,
  cjson.encode({since = since, ['until'] = tonumber(ARGV[2]), who = ARGV[3], reason = ARGV[4],
    limit = tonumber(ARGV[5])}))
return since
