#!lua flags=allow-oom
-- Decides that a job fails: it becomes FAILING with the reason, and is appended
-- to the fan-in stream, where the record is changed and the rest removed. Its tasks that
-- wait in the delayed set go.
-- KEYS  1 state; on one node also 2 fan-in, 3 events, 4 delayed
-- ARGV  1 id, 2 attempt (0: any), 3 who decides: a listener's name, @fanin or
--       @deadline, 4 its token: owner, fence, or nothing, 5 reason,
--       6 cap of the events, 7 1: the job's file may be there and is to be removed,
--       then the listeners that are paused, which the reason of @deadline says
-- Returns {outcome, attempt}: 1 failing, 2 failing before; 0 refused: not its
--       owner, not past the deadline, or PUBLISHING; -1 gone. With 1 there is a
--       third number: how long ago the deadline was (ms; 0 where @deadline is not
--       who decides)
-- Cost  O(listeners of the stage + listeners that are paused)
local state, fanin, events, delayed = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, attempt, by, token, reason = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

local have = redis.call('HMGET', state, 'attempt', 'status', 'fence', 'deadline', by .. ':owner', 'stage', 'listeners')
if not have[1] or (attempt ~= '0' and have[1] ~= attempt) then return {-1} end
attempt = have[1]
local status, late = have[2], 0
if status == 'FAILING' then
  -- Somebody else's decision is not for a claim from before it to carry out.
  if by == '@fanin' and have[3] ~= token then return {0} end
  return {2, tonumber(attempt)}
end
if status ~= 'RUN' and status ~= 'READY' and status ~= 'FOLD' and status ~= 'PUBLISHING' then return {-1} end
if by == '@fanin' then
  if have[3] ~= token or status == 'RUN' or status == 'READY' then return {0} end
elseif by == '@deadline' then
  local now = now()
  if now < tonumber(have[4]) or status == 'PUBLISHING' then return {0} end
  late = now - tonumber(have[4])
  if status == 'RUN' then
    local open, paused = {}, {}
    for i = 8, #ARGV do paused[ARGV[i]] = true end
    for listener in string.gmatch(have[7], '[^,]+') do
      local is = redis.call('HMGET', state, listener .. ':done', listener .. ':error')
      if not is[1] then open[#open + 1] = listener .. (paused[listener] and ' (paused)' or '') .. (is[2] and ' (last error: ' .. is[2] .. ')' or '') end
    end
    reason = reason .. ' in stage ' .. have[6] .. ', waiting for ' .. table.concat(open, ', ')
  else
    local failure = redis.call('HGET', state, '@fanin:error')
    reason = reason .. ' while the file was being made' .. (failure and ' (last error: ' .. failure .. ')' or '')
  end
elseif status ~= 'RUN' or have[5] ~= token then
  return {0}
end
redis.call('HSET', state, 'status', 'FAILING', 'reason', reason)
if ARGV[7] == '1' then redis.call('HSET', state, 'remove', 1) end
if by ~= '@fanin' then
  -- Whoever folds now holds an old fence, and cannot renew its lease.
  redis.call('HINCRBY', state, 'fence', 1)
  redis.call('HDEL', state, 'worker', 'lease')
end
if fanin then
  for listener in string.gmatch(have[7], '[^,]+') do redis.call('ZREM', delayed, id .. '/' .. attempt .. '/' .. listener) end
  if by ~= '@fanin' then redis.call('XADD', fanin, '*', 'id', id, 'attempt', attempt, 'stage', 0) end
  redis.call('XADD', events, 'MAXLEN', '~', ARGV[6], '*', 'id', id, 'attempt', attempt, 'event', 'failing', 'by', by, 'reason', reason)
end
return {1, tonumber(attempt), late}
