#!lua flags=allow-oom
-- Takes one of the places at a source, or keeps the one that is held, for the time of
-- a lease.
-- KEYS  1 who holds a place → until when
-- ARGV  1 who asks, 2 how many places there are, 3 lease (ms)
-- Returns 1 held; 0 all places are taken
-- Cost  O(log n), and O(log n) for each that was not given back
local key, who, places, lease = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local now = now()
redis.call('ZREMRANGEBYSCORE', key, '-inf', int(now))
if not redis.call('ZSCORE', key, who) and redis.call('ZCARD', key) >= places then return 0 end
redis.call('ZADD', key, int(now + lease), who)
local last = redis.call('ZREVRANGE', key, 0, 0, 'WITHSCORES')[2]
redis.call('PEXPIREAT', key, int(last + 1000))
return 1
