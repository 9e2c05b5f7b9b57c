#!lua flags=allow-oom
-- Uses  job
-- Renews the lease of a task or of a claimed job, if it is still the caller's: its entry
-- stays idle for less than the lease, so that no other worker takes it over.
-- KEYS  1 hash, 2 stream of the entry
-- ARGV  1 attempt, 2 step: a listener's name or @fanin, 3 generation or fence, 4 lease of the
--       owner (ms; empty: the pending list is its lease), 5 margin (ms that the hash lives
--       on at least), 6 group, 7 consumer, 8 entry
-- Returns 1 renewed; 0 another worker has the entry, or the job fails; -1 gone
-- Cost  O(1)
local hash, stream, step, token, entry = KEYS[1], KEYS[2], ARGV[2], ARGV[3], ARGV[8]

local j = read(hash)
if not j or j.attempt ~= ARGV[1] then return -1 end
if step == '@fanin' then
  if j.fence ~= token then return replaced(hash, step, stream, ARGV[6], entry) end
  if j.status ~= 'FOLD' and j.status ~= 'PUBLISHING' and j.status ~= 'FAILING' then return 0 end
else
  local g = generation(j, step)
  if j.status ~= 'RUN' or not g then return -1 end
  if g ~= token then return replaced(hash, step, stream, ARGV[6], entry) end
end
if ARGV[4] ~= '' then redis.call('HSET', hash, step .. ':lease', int(now() + ARGV[4])) end
redis.call('PEXPIRE', hash, ARGV[5], 'GT')
-- A missing entry or group does not matter: the generation is what counts.
redis.pcall('XCLAIM', stream, ARGV[6], ARGV[7], 0, entry, 'JUSTID')
return 1
