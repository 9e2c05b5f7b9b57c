#!lua flags=allow-oom
-- Uses  drop
-- Takes a task over: its generation grows, so that every earlier worker is refused, and
-- what they stored is removed. A first delivery needs no take: the pending list of the
-- stream is its lease.
-- KEYS  1 hash, 2 stream of the task
-- ARGV  1 attempt, 2 listener, 3 owner, unique for every take, 4 group, 5 entry (empty:
--       none), 6 1: the entry was delivered before, so its worker is silent, 7 lease of the
--       owner (ms; empty: the pending list is its lease), 8 1: not if that owner gave it up
--       last, 9… definitions that the caller knows
-- Returns {1, report/definition/digest, parameters, stage, tries, last error or what the
--       last try waited for, memo, generation}; {2} done; 0 another owner's lease has not
--       ended; -1 gone, or the entry is; {-2, report/definition/digest} definition unknown
-- Cost  O(chunks and columns of the earlier try)
local hash, attempt, listener, owner, lease = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[7]

local j = read(hash)
if not j or j.attempt ~= attempt then return {-1} end
local g = generation(j, listener)
local have = redis.call('HMGET', hash, listener .. ':found', listener .. ':owner', listener .. ':lease', listener .. ':tries',
  listener .. ':error', listener .. ':next', listener .. ':waits', listener .. ':memo', listener .. ':last_owner', 'parameters')
if have[1] then return {2} end
if j.status ~= 'RUN' or not g then return {-1} end
local known = false
for i = 9, #ARGV do known = known or string.find(j.of, '/' .. ARGV[i] .. '/', 1, true) end
if not known then return {-2, j.of} end
local ends = lease ~= '' and int(now() + lease)
local failure, tries = have[7] or have[5] or '', tonumber(have[4] or 0)
local function answer()
  return {1, j.of, have[10] or '', tonumber(j.stage), tries + 1, failure, have[8] or '', tonumber(g)}
end
if have[2] == owner then
  -- This worker's previous call, whose answer was lost.
  if ends then redis.call('HSET', hash, listener .. ':lease', ends) end
  return answer()
end
if have[2] and tonumber(have[3] or 0) > now() or ARGV[8] == '1' and have[9] == owner then return {0} end
if not is_pending(KEYS[2], ARGV[4], ARGV[5]) then return {-1} end
if not have[6] and (have[2] or ARGV[6] == '1') then
  -- A worker that gives up a task records it. This one has not.
  failure = 'worker ' .. (have[2] and have[2] .. ' ' or '') .. 'fell silent'
  tries = tries + 1
  redis.call('HSET', hash, listener .. ':tries', int(tries), listener .. ':error', failure)
  redis.call('HDEL', hash, listener .. ':blame')
end
drop(hash, j, listener)
g = raise(j, listener)
redis.call('HSET', hash, 'job', line(j), listener .. ':owner', owner, listener .. ':entry', ARGV[5],
  listener .. ':taken', int(now()))
redis.call('HDEL', hash, listener .. ':next', listener .. ':lease', listener .. ':stale', listener .. ':pause')
if ends then redis.call('HSET', hash, listener .. ':lease', ends) end
return answer()
