#!lua flags=allow-oom
-- Takes an id out of its group: its job has ended, it has its file, or it was cancelled. The end of
-- a leader leaves its file to those that wait, or hands the lead to the one that waits longest,
-- which asks again when it is pushed. Ids stay in the group until they are taken out themselves.
-- KEYS  1 asked: id → digest, 2 group of the digest, 3 its waiting ids
-- ARGV  1 id, 2 attempt that has made a file (empty: none), 3 1: nothing is missing in the file,
--       4 window (ms), 5 max ids, 6 digest
-- Returns the ids to push: none, the next leader, or all that wait for the file
-- Cost  O(log n + ids)
local asked, group, waiting = KEYS[1], KEYS[2], KEYS[3]
local id, attempt, whole, window, max = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local digest = ARGV[6]

local next = {}
redis.call('ZREM', waiting, id)
if redis.call('HGET', asked, id) == digest then redis.call('HDEL', asked, id) end
if redis.call('HGET', group, 'leader') == id then
  redis.call('HDEL', group, 'leader', 'since')
  if attempt ~= '' then
    redis.call('HSET', group, 'maker', id .. '/' .. attempt, 'ended', int(now()), 'whole', whole)
  end
  next = redis.call('ZRANGE', waiting, 0, attempt == '' and 0 or max - 1)
end
-- A group without jobs is only the memory of a file.
if redis.call('HEXISTS', group, 'leader') == 0 and redis.call('EXISTS', waiting) == 0 then
  local ended = tonumber(redis.call('HGET', group, 'ended') or 0)
  redis.call('PEXPIREAT', group, int(ended + window))
end
return next
