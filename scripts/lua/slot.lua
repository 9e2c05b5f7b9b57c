#!lua flags=allow-oom
-- Takes a slot of a source or a report, or renews the caller's lease of one. A slot of a source is not given to a
-- holder that began to ask later than the first of those that wait, but for a short time in which the order does not
-- count: all of them poll, and a slot that waited for the poll of one of them would be unused.
-- KEYS  1 slots: holder → end of its lease; of a source also 2 queue: holder → when it first asked, 3 asked: holder →
--       when it last asked
-- ARGV  1 holder, 2 number of slots, 3 lease (ms); of a source also 4 how long one that asks no more has its place
--       (ms), 5 the time in which the order does not count (ms)
-- Returns 0 taken or renewed; n > 0 it is the n-th that waits for a slot, of a report always 1
-- Cost  O(log n), and O(log n) for every lease that has ended and for every holder that asks no more
local key, queue, asked, who, slots, lease = KEYS[1], KEYS[2], KEYS[3], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

-- left removes holders from the queue.
local function left(holders)
  redis.call('ZREM', queue, unpack(holders))
  redis.call('ZREM', asked, unpack(holders))
end

local now = now()
redis.call('ZREMRANGEBYSCORE', key, '-inf', int(now))
if not redis.call('ZSCORE', key, who) then
  local free, before, early = slots - redis.call('ZCARD', key), 0, true
  if queue then
    local silent = redis.call('ZRANGEBYSCORE', asked, '-inf', int(now - ARGV[4]), 'LIMIT', 0, 1000)
    if silent[1] then left(silent) end
    local ahead = redis.call('ZRANGEBYSCORE', asked, '(' .. int(now), '+inf', 'LIMIT', 0, 1000)
    if ahead[1] then left(ahead) end -- the clock went back
    redis.call('ZADD', queue, 'NX', int(now), who)
    local from, first = redis.call('ZSCORE', queue, who), redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')[2]
    before = redis.call('ZCOUNT', queue, '-inf', '(' .. from)
    early = before < free or from - first <= tonumber(ARGV[5])
  end
  if free <= 0 or not early then
    if queue then
      redis.call('ZADD', asked, int(now), who)
      redis.call('PEXPIRE', queue, ARGV[4])
      redis.call('PEXPIRE', asked, ARGV[4])
    end
    return before + 1
  end
  if queue then left({who}) end
end
redis.call('ZADD', key, int(now + lease), who)
local last = redis.call('ZREVRANGE', key, 0, 0, 'WITHSCORES')[2]
redis.call('PEXPIREAT', key, int(last + 1000))
return 0
