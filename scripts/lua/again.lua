#!lua flags=allow-oom
-- Pushes a running job again of which Redis has lost the state, or the data while
-- nobody makes its file: its record decides what comes next.
-- KEYS  1 data, 2 state; on one node also 3 deadlines, 4 jobs
-- ARGV  1 id
-- Returns 1 pushed, or to be pushed; -1 it has what it needs, or does not run
-- Cost  O(log n)
local data, state, deadlines, jobs = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id = ARGV[1]

local have = redis.call('HMGET', state, 'status', 'lease')
local status = have[1]
if status then
  if status ~= 'RUN' and status ~= 'READY' and status ~= 'FOLD' or redis.call('EXISTS', data) == 1 then return -1 end
  if status == 'FOLD' and have[2] and tonumber(have[2]) > now() then return -1 end
end
if deadlines and not redis.call('ZSCORE', deadlines, id) then return -1 end
redis.call('UNLINK', state, data)
if not deadlines then return 1 end
redis.call('ZREM', deadlines, id)
redis.call('XADD', jobs, '*', 'id', id)
return 1
