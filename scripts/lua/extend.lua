#!lua flags=allow-oom
-- Uses  job
-- Extends the deadline of a job by the time for which a listener that it waits for was
-- paused, if its report is configured so.
-- KEYS  1 hash, 2 deadlines, 3 wake
-- ARGV  1 id, 2 attempt, 3 margin (ms that the hash outlives it), 4 min that is left after
--       it (ms), then for every listener that is paused: its name, since when (ms)
-- Returns {outcome, deadline}: 1 moved; 0 it does not move; -1 gone
-- Cost  O(listeners + log n)
local hash, deadlines = KEYS[1], KEYS[2]

local j = read(hash)
if not j or j.attempt ~= ARGV[2] then return {-1} end
local have = redis.call('HMGET', hash, 'waits', 'began', 'extended')
if j.status ~= 'RUN' or have[1] ~= '1' then return {0} end
local since
for i = 5, #ARGV, 2 do
  local at = tonumber(ARGV[i + 1])
  if generation(j, ARGV[i]) and (not since or at < since) then since = at end
end
if not since then return {0} end
local deadline, at = tonumber(j.deadline), now()
-- Time that was added before, for this pause or another one, is not added again.
local from = math.max(since, tonumber(have[2] or j.started), tonumber(have[3] or 0))
if deadline <= from or at <= from then return {0} end
deadline = math.max(deadline + at - from, at + tonumber(ARGV[4]))
j.deadline, j.expires = int(deadline), int(math.max(deadline + tonumber(ARGV[3]), at + 600000))
redis.call('HSET', hash, 'job', line(j), 'extended', int(at))
redis.call('PEXPIREAT', hash, j.expires, 'GT')
redis.call('ZADD', deadlines, j.deadline, ARGV[1])
wake_by(KEYS[3], j.deadline)
return {1, deadline}
