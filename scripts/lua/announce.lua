#!lua flags=allow-oom
-- Stores that a process runs, that it has definitions, or that a definition is missing. Removes
-- members that were last seen too long ago.
-- KEYS  1 processes or definitions
-- ARGV  1 NX: existing members keep their time (or empty), 2 how long a member stays that is
--       not stored again (ms), 3… processes, or definitions as <report>/<hash>
-- Returns 1
-- Cost  O(definitions * log n)
local key, only, kept = KEYS[1], ARGV[1], tonumber(ARGV[2])

local now = now()
for i = 3, #ARGV do
  if only == 'NX' then
    redis.call('ZADD', key, 'NX', int(now), ARGV[i])
  else
    redis.call('ZADD', key, int(now), ARGV[i])
  end
end
redis.call('ZREMRANGEBYSCORE', key, '-inf', int(now - kept))
redis.call('PEXPIRE', key, int(kept))
return 1
