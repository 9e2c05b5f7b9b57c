#!lua flags=allow-oom
-- Moves members that are due from the delayed set to a stream, each once,
-- however many schedulers try. Where it is a listener's stream, a task that is not to be
-- done any more, or whose job is not in Redis, is removed instead, and one that its job
-- does not have stays.
-- KEYS  1 delayed; on one node also 2 stream, 3… where that is a listener's, the state of
--       each member's job
-- ARGV  1 listener (empty: the stream is no listener's), then for each member: member, id,
--       name and value of one more field (or two empty strings)
-- Returns for each member how late it is that was moved (ms), or that was removed and is in
--       the stream before; -1 it is not due; -2 removed; -3 no such task: it stays
-- Cost  O(members)
local delayed, stream, listener = KEYS[1], KEYS[2], ARGV[1]
local its = of(listener)

-- open tells whether a task is to be done: 0, or why not.
local function open(state, attempt)
  local have = redis.pcall('HMGET', state, 'attempt', 'status', 'stage', its.stage, its.done)
  if have.err or have[1] == attempt and not have[4] then return -3 end
  if have[1] ~= attempt or have[2] ~= 'RUN' or have[3] ~= have[4] or have[5] then return -2 end
  return 0
end

local now = now()
local late = {}
for i = 2, #ARGV, 4 do
  local n = (i + 2) / 4
  local score = tonumber(redis.call('ZSCORE', delayed, ARGV[i]) or 0)
  late[n] = -1
  -- A score in seconds was set just now and is not rewritten yet.
  if score >= 100000000000 and score <= now then
    late[n] = KEYS[2 + n] and open(KEYS[2 + n], ARGV[i + 3]) or 0
    if late[n] == -2 then redis.call('ZREM', delayed, ARGV[i]) end
  end
  if late[n] == 0 then
    -- Appended first: where that fails, the member stays.
    if not stream then
      -- In a cluster its entry was appended before.
    elseif ARGV[i + 2] == '' then
      redis.call('XADD', stream, '*', 'id', ARGV[i + 1])
    else
      redis.call('XADD', stream, '*', 'id', ARGV[i + 1], ARGV[i + 2], ARGV[i + 3])
    end
    redis.call('ZREM', delayed, ARGV[i])
    late[n] = math.floor(now - score)
  end
end
return late
