#!lua
-- Asks whether a job runs that makes the same file, or has just made it. The job becomes the
-- leader of its group, waits for the leader, or may have the file.
-- KEYS  1 asked: id → digest, 2 group of the digest, 3 its waiting ids
-- ARGV  1 id, 2 digest, 3 window (ms) in which a finished file is shared, 4 1: the record ran
--       before, so it does not wait (or empty)
-- Returns {1} it leads; {2, maker} it may have the file of that attempt, <id>/<attempt>; {0, leader}
--       it waits; {3} another leads, and it runs alone; {4} it is in the group of another digest, which
--       it must leave first
-- Cost  O(log n)
local asked, group, waiting = KEYS[1], KEYS[2], KEYS[3]
local id, digest, window, again = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4] == '1'

local before = redis.call('HGET', asked, id)
if before and before ~= digest then return {4} end
local have, at = redis.call('HMGET', group, 'leader', 'maker', 'ended', 'whole'), now()
local leader, maker, ended, whole = have[1], have[2], tonumber(have[3] or 0), have[4] == '1'
if leader == id then return {1} end
local since = redis.call('ZSCORE', waiting, id)
if not again and maker and (since and ended >= tonumber(since) or whole and at - ended < window) then
  return {2, maker}
end
if leader and not again then
  redis.call('ZADD', waiting, 'NX', int(at), id)
  redis.call('HSET', asked, id, digest)
  return {0, leader}
end
if since then redis.call('ZREM', waiting, id) end
if leader then
  redis.call('HDEL', asked, id)
  return {3}
end
redis.call('HSET', group, 'leader', id, 'since', int(at))
redis.call('HSET', asked, id, digest)
redis.call('PERSIST', group)
return {1}
