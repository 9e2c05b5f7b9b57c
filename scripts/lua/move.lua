#!lua flags=allow-oom
-- Moves members that are due from the delayed set to a stream, each once,
-- however many schedulers try.
-- KEYS  1 delayed; on one node also 2 stream
-- ARGV  for each member: member, id, name and value of one more field (or two
--       empty strings)
-- Returns how late each one is that was moved (ms), or that was removed and is in
--       the stream before
-- Cost  O(members)
local delayed, stream = KEYS[1], KEYS[2]

local now = now()
local late = {}
for i = 1, #ARGV, 4 do
  local score = tonumber(redis.call('ZSCORE', delayed, ARGV[i]) or 0)
  -- A score in seconds was set just now and is not rewritten yet.
  if score >= 100000000000 and score <= now then
    -- Appended first: where that fails, the member stays.
    if not stream then
      -- In a cluster its entry was appended before.
    elseif ARGV[i + 2] == '' then
      redis.call('XADD', stream, '*', 'id', ARGV[i + 1])
    else
      redis.call('XADD', stream, '*', 'id', ARGV[i + 1], ARGV[i + 2], ARGV[i + 3])
    end
    redis.call('ZREM', delayed, ARGV[i])
    late[#late + 1] = math.floor(now - score)
  end
end
return late
