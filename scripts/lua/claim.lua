#!lua flags=allow-oom
-- Uses  job
-- Claims a job that is large, that must end, or whose entry was delivered before; its fence
-- grows. A small job whose barrier was just reached is claimed by publish. A large job, which
-- has much data or some in the spool, is claimed only in the stream of large jobs, to which it
-- is forwarded.
-- KEYS  1 hash, 2 fan-in, 3 fan-in of large jobs
-- ARGV  1 attempt, 2 stage of the entry (0: any), 3 worker, unique for every claim, 4 group,
--       5 entry (empty: none), 6 1: the entry was delivered before, so its worker is silent,
--       7 margin (ms that the hash lives on at least), 8 id, 9 max bytes of a job that is not
--       large (empty: the entry is in the stream of large jobs), 10… definitions that the
--       caller knows
-- Returns {outcome, fence}: 1 claimed to fold; 3 claimed to fail; of others the outcome
--       alone: 2 the stage has ended; 0 another worker has it; -1 gone, or the entry is; -2
--       definition unknown; -9 forwarded
-- Cost  O(1)
local hash, stream = KEYS[1], KEYS[ARGV[9] == '' and 3 or 2]
local attempt, stage, worker, group, entry = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

local j = read(hash)
if not j or j.attempt ~= attempt then return {-1} end
local status = j.status
if status == 'RUN' then return {tonumber(stage) < tonumber(j.stage) and 2 or -1} end
local have = redis.call('HMGET', hash, '@fanin:owner', '@fanin:entry', '@fanin:next', '@fanin:tries', 'spooled')
if status ~= 'FAILING' then
  if stage ~= '0' and stage ~= j.stage then return {2} end
  if ARGV[9] ~= '' and (have[5] or tonumber(j.bytes) > tonumber(ARGV[9])) then
    if not is_pending(stream, group, entry) then return {-1} end
    redis.call('XADD', KEYS[3], '*', 'id', ARGV[8], 'attempt', attempt, 'stage', stage, 'bytes', j.bytes, 'moved', 1)
    acknowledge(stream, group, entry)
    return {-9}
  end
  local known = false
  for i = 10, #ARGV do known = known or string.find(j.of, '/' .. ARGV[i] .. '/', 1, true) end
  if not known then return {-2} end
end
local outcome = status == 'FAILING' and 3 or 1
-- This worker's previous call, whose answer was lost.
if have[1] == worker then return {outcome, tonumber(j.fence)} end
local claimed, silent = have[1] or status == 'PUBLISHING', ARGV[6] == '1'
-- This entry duplicates another one that is pending.
if claimed and have[2] and have[2] ~= '' and have[2] ~= entry and
  (is_pending(KEYS[2], group, have[2]) or is_pending(KEYS[3], group, have[2])) then return {-1} end
-- A job that was published without a claim continues with a claim of the same entry.
local own = not have[1] and have[2] == entry
if claimed and not have[3] and not silent and not own then return {0} end
if not is_pending(stream, group, entry) then return {-1} end
if silent and not have[3] then
  -- A worker that gives up a job records it. This one has not.
  redis.call('HSET', hash, '@fanin:tries', int((have[4] or 0) + 1), '@fanin:error', 'worker ' ..
    (have[1] and have[1] .. ' ' or '') .. 'fell silent')
  redis.call('HDEL', hash, '@fanin:blame')
end
if status == 'READY' then j.status = 'FOLD' end
j.fence = int(j.fence + 1)
redis.call('HSET', hash, 'job', line(j), '@fanin:owner', worker, '@fanin:entry', entry)
if have[3] then redis.call('HDEL', hash, '@fanin:next') end
-- However long the record's database or the sink is down, the decision must not be
-- lost.
redis.call('PEXPIRE', hash, ARGV[7], 'GT')
return {outcome, tonumber(j.fence)}
