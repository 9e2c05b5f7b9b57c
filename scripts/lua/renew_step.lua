#!lua flags=allow-oom
-- Uses  job
-- Renews the lease of a task or of a job in fan-in, if it is still the caller's: its entry
-- stays idle for less than the lease, so that no other worker takes it over. Acknowledges
-- the entry if nothing is left to be done for it.
-- KEYS  1 hash, 2 stream of the entry
-- ARGV  1 attempt, 2 step: a listener's name or @fanin, 3 generation or fence (empty: the job
--       is not claimed), 4 lease of the owner (ms; empty: the pending list is its lease), 5
--       margin (ms that the hash lives on at least), 6 group, 7 consumer, 8 entry
-- Returns 1 renewed; 0 another worker has the entry; -1 gone
-- Cost  O(1)
local hash, stream, step, token, group, entry = KEYS[1], KEYS[2], ARGV[2], ARGV[3], ARGV[6], ARGV[8]

local j, fold = read(hash), step == '@fanin'
local current = j and j.attempt == ARGV[1] and (fold and j.fence or j.status == 'RUN' and generation(j, step))
if not current then
  acknowledge(stream, group, entry)
  return -1
end
if token == '' and j.status ~= 'READY' or token ~= '' and current ~= token then
  return replaced(hash, step, stream, group, entry)
end
-- This worker's own call has advanced the job.
if fold and token ~= '' and (j.status == 'RUN' or j.status == 'READY') then return 0 end
if token == '0' and not fold then
  -- For people: a first delivery leaves no trace in the state until it is renewed.
  redis.call('HSETNX', hash, step .. ':owner', ARGV[7])
  redis.call('HSETNX', hash, step .. ':taken', int(now()))
end
if ARGV[4] ~= '' then redis.call('HSET', hash, step .. ':lease', int(now() + ARGV[4])) end
redis.call('PEXPIRE', hash, ARGV[5], 'GT')
-- A missing entry or group does not matter: the generation is what counts.
redis.pcall('XCLAIM', stream, group, ARGV[7], 0, entry, 'JUSTID')
return 1
