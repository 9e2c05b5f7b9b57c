#!lua flags=allow-oom
-- Uses  job
-- Moves members that are due from the delayed set to a stream, every one once, however many
-- schedulers try. If it is a listener's stream, a task that is no longer needed, or
-- whose job is not in Redis, is removed instead, and one that its job does not have stays.
-- KEYS  1 delayed, 2 stream, 3… if that is a listener's, the hash of every member's job
-- ARGV  1 listener (empty: the stream is not a listener's), then for every member: member,
--       id, name and value of one more field (or two empty strings)
-- Returns for every member how late it was moved (ms); -1 it is not due; -2 removed; -3 no
--       such task: it stays
-- Cost  O(members)
local delayed, stream, listener = KEYS[1], KEYS[2], ARGV[1]

-- state_of returns 0 if a task is open, or why it is not. `listeners` has commas within a
-- stage, and semicolons between stages.
local function state_of(hash, attempt)
  local known, j = pcall(read, hash)
  if not known then return -3 end
  if not j or j.attempt ~= attempt then return -2 end
  local names = string.gsub(redis.call('HGET', hash, 'listeners') or '', ',', ';')
  if not string.find(';' .. names .. ';', ';' .. listener .. ';', 1, true) then return -3 end
  return j.status == 'RUN' and generation(j, listener) and 0 or -2
end

local at, late = now(), {}
for i = 2, #ARGV, 4 do
  local n, member = (i + 2) / 4, ARGV[i]
  local score = tonumber(redis.call('ZSCORE', delayed, member) or 0)
  late[n] = -1
  -- A score in seconds was set just now and is not rewritten yet.
  if score >= 100000000000 and score <= at then
    late[n] = KEYS[2 + n] and state_of(KEYS[2 + n], ARGV[i + 3]) or 0
    if late[n] == -2 then redis.call('ZREM', delayed, member) end
  end
  if late[n] == 0 then
    -- Appended first: if that fails, the member stays.
    if ARGV[i + 2] == '' then
      redis.call('XADD', stream, '*', 'id', ARGV[i + 1])
    else
      redis.call('XADD', stream, '*', 'id', ARGV[i + 1], ARGV[i + 2], ARGV[i + 3])
    end
    redis.call('ZREM', delayed, member)
    late[n] = math.floor(at - score)
  end
end
return late
