#!lua flags=allow-oom
-- Takes a slot of a source or a report, or renews the caller's lease of one.
-- KEYS  1 slots: holder → end of its lease
-- ARGV  1 holder, 2 number of slots, 3 lease (ms)
-- Returns 1 taken or renewed; 0 all slots are taken
-- Cost  O(log n), and O(log n) for every lease that has ended
local key, who, slots, lease = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local now = now()
redis.call('ZREMRANGEBYSCORE', key, '-inf', int(now))
if not redis.call('ZSCORE', key, who) and redis.call('ZCARD', key) >= slots then return 0 end
redis.call('ZADD', key, int(now + lease), who)
local last = redis.call('ZREVRANGE', key, 0, 0, 'WITHSCORES')[2]
redis.call('PEXPIREAT', key, int(last + 1000))
return 1
