#!lua flags=allow-oom
-- Moves the deadline of a job by the time for which a listener that it waits for was
-- paused since it waits, where its report wants that.
-- KEYS  1 data, 2 state, 3 timeout; on one node also 4 deadlines
-- ARGV  1 id, 2 attempt, 3 margin (ms that the keys outlive it), 4 what is left at least
--       after it (ms), then for each listener that is paused: its name, since when (ms)
-- Returns {outcome, deadline}: 1 moved; 0 it does not move; -1 gone
-- Cost  O(listeners + log n)
local data, state, timeout, deadlines = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, attempt, margin, least = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])

local have = redis.call('HMGET', state, 'attempt', 'status', 'waits', 'deadline', 'started', 'began', 'extended', 'stage')
if have[1] ~= attempt then return {-1} end
if have[2] ~= 'RUN' or have[3] ~= '1' then return {0} end
local since
for i = 5, #ARGV, 2 do
  local is = redis.call('HMGET', state, ARGV[i] .. ':stage', ARGV[i] .. ':done')
  local at = tonumber(ARGV[i + 1])
  if is[1] == have[8] and not is[2] and (not since or at < since) then since = at end
end
if not since then return {0} end
local deadline = tonumber(have[4])
-- What was moved before, for this pause or for another one, is not moved again.
local from = math.max(since, tonumber(have[6] or have[5]), tonumber(have[7] or 0))
local now = now()
if deadline <= from or now <= from then return {0} end
deadline = math.max(deadline + now - from, now + least)
local expires = int(math.max(deadline + margin, now + 600000))
redis.call('HSET', state, 'deadline', int(deadline), 'expires', expires, 'extended', int(now))
redis.call('PEXPIREAT', data, expires, 'GT')
redis.call('PEXPIREAT', state, expires, 'GT')
redis.call('SET', timeout, id, 'PXAT', int(deadline))
if deadlines then redis.call('ZADD', deadlines, int(deadline), id) end
return {1, deadline}
