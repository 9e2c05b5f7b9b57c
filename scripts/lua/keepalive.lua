#!lua flags=allow-oom
-- Renews the lease of a task or a fold, if it is still the caller's; on one node
-- its stream entry is kept from being claimed by others, too.
-- KEYS  1 data, 2 state; on one node also 3 stream of the entry
-- ARGV  1 attempt, 2 listener or @fanin, 3 owner or fence, 4 lease (ms),
--       5 margin (ms that the keys live on at least), 6 group, 7 consumer, 8 entry
-- Returns 1 renewed; 0 another owner, or the job fails; -1 gone
-- Cost  O(1)
local data, state, stream = KEYS[1], KEYS[2], KEYS[3]
local attempt, step, token, lease = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])

local fold = step == '@fanin'
local have = redis.call('HMGET', state, 'attempt', 'status', fold and 'fence' or step .. ':owner', step .. ':done')
if have[1] ~= attempt then return -1 end
if have[3] ~= token then return 0 end
local status = have[2]
if fold then
  if status ~= 'FOLD' and status ~= 'PUBLISHING' and status ~= 'FAILING' then return 0 end
elseif status ~= 'RUN' or have[4] then
  return 0
end
local now = now()
redis.call('HSET', state, fold and 'lease' or step .. ':lease', int(now + lease))
redis.call('PEXPIRE', data, ARGV[5], 'GT')
redis.call('PEXPIRE', state, ARGV[5], 'GT')
-- That the entry or its group is gone does not matter: the lease is what counts.
if stream then redis.pcall('XCLAIM', stream, ARGV[6], ARGV[7], 0, ARGV[8], 'JUSTID') end
return 1
