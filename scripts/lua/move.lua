#!lua flags=allow-oom
-- Moves members that are due from the delayed set to a stream, each once,
-- however many schedulers try.
-- KEYS  1 delayed, 2 stream
-- ARGV  for each member: member, id, name and value of one more field (or two
--       empty strings)
-- Returns how many were moved
-- Cost  O(members)
local delayed, stream = KEYS[1], KEYS[2]

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local moved = 0
for i = 1, #ARGV, 4 do
  local score = redis.call('ZSCORE', delayed, ARGV[i])
  -- A score in seconds was set just now and is not rewritten yet.
  if score and tonumber(score) >= 100000000000 and tonumber(score) <= now and redis.call('ZREM', delayed, ARGV[i]) == 1 then
    if ARGV[i + 2] == '' then
      redis.call('XADD', stream, '*', 'id', ARGV[i + 1])
    else
      redis.call('XADD', stream, '*', 'id', ARGV[i + 1], ARGV[i + 2], ARGV[i + 3])
    end
    moved = moved + 1
  end
end
return moved
