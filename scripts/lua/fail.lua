#!lua flags=allow-oom
-- Uses  job
-- Decides that a job fails: it becomes FAILING with the reason, and is appended to the
-- fan-in stream, where the record is changed and the rest removed. Its tasks that wait in
-- the delayed set are removed. Acknowledges the entry, unless another worker has it.
-- KEYS  1 hash, 2 fan-in, 3 events, 4 delayed, 5 stream of the task (or of the fan-in)
-- ARGV  1 id, 2 attempt (0: any), 3 who decides: a listener's name, @fanin or @deadline,
--       4 its generation, its fence, or nothing, 5 reason, 6 cap of the events, 7 1: the
--       job's file may exist and is to be removed, 8 group, 9 entry of a task (empty: none),
--       10 blame (or empty), 11 margin (ms that the hash lives on at least), then the
--       listeners that are paused, which the reason of @deadline names
-- Returns {outcome, attempt, how long ago the deadline was (ms; 0 if another decides)}: 1
--       failing, 2 failing before; 0 refused: another worker has it, the deadline has not
--       passed, or the job is PUBLISHING; -1 gone
-- Cost  O(listeners + listeners that are paused)
local hash, fanin, events, delayed = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, attempt, by, token, reason, entry = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[9]

local j = read(hash)
if not j or attempt ~= '0' and j.attempt ~= attempt then
  acknowledge(KEYS[5], ARGV[8], entry)
  return {-1}
end
attempt = j.attempt
local status, late = j.status, 0
local names = all(redis.call('HGET', hash, 'listeners'))
if status == 'FAILING' then
  -- A claim that is older than the decision must not carry it out.
  if by == '@fanin' and j.fence ~= token then return {0} end
  acknowledge(KEYS[5], ARGV[8], entry)
  return {2, tonumber(attempt), 0}
end
if by == '@fanin' then
  if j.fence ~= token or status == 'RUN' or status == 'READY' then return {0} end
elseif by == '@deadline' then
  local at = now()
  if at < tonumber(j.deadline) or status == 'PUBLISHING' then return {0} end
  late = at - tonumber(j.deadline)
  if status == 'RUN' then
    local open, paused = {}, {}
    for i = 12, #ARGV do paused[ARGV[i]] = true end
    for listener in string.gmatch(names, '[^,]+') do
      if generation(j, listener) then
        local failure = redis.call('HGET', hash, listener .. ':error')
        open[#open + 1] = listener .. (paused[listener] and ' (paused)' or '') .. (failure and ' (last error: ' .. failure .. ')' or '')
      end
    end
    reason = reason .. ' in stage ' .. j.stage .. ', waiting for ' .. table.concat(open, ', ')
  else
    local failure = redis.call('HGET', hash, '@fanin:error')
    reason = reason .. ' while the file was being made' .. (failure and ' (last error: ' .. failure .. ')' or '')
  end
else
  local g = status == 'RUN' and generation(j, by)
  if g and g ~= token then return {replaced(hash, by, KEYS[5], ARGV[8], entry)} end
  if not g then
    acknowledge(KEYS[5], ARGV[8], entry)
    return {-1}
  end
end
-- Sent first: if that fails, nothing has changed.
if by ~= '@fanin' then redis.call('XADD', fanin, '*', 'id', id, 'attempt', attempt, 'stage', 0) end
for listener in string.gmatch(names, '[^,]+') do redis.call('ZREM', delayed, id .. '/' .. attempt .. '/' .. listener) end
if by ~= '@fanin' then
  -- A worker that is folding has an old fence, and cannot renew its lease.
  j.fence = int(j.fence + 1)
  redis.call('HDEL', hash, '@fanin:owner', '@fanin:entry', '@fanin:next')
end
j.status = 'FAILING'
redis.call('HSET', hash, 'job', line(j), 'reason', reason)
if ARGV[10] ~= '' then redis.call('HSET', hash, 'blame', ARGV[10]) end
if ARGV[7] == '1' then redis.call('HSET', hash, 'remove', 1) end
redis.call('PEXPIRE', hash, ARGV[11], 'GT')
acknowledge(KEYS[5], ARGV[8], entry)
redis.call('XADD', events, 'MAXLEN', '~', ARGV[6], '*', 'id', id, 'attempt', attempt, 'event', 'failing', 'by', by, 'reason', reason)
return {1, tonumber(attempt), late}
