#!lua flags=allow-oom
-- Uses  times
-- Lists what is due in the delayed set. A score below 10^11 is in seconds and is
-- rewritten in milliseconds; one that is too low for that, such as 0, means now. One
-- that is not finite, or more than ten years away, is not a time and is listed apart.
-- KEYS  1 delayed
-- ARGV  1 max members to list of every kind, 2 how many that are due to skip
-- Returns {wait until one is due that is not yet, in ms, or -1 if there is none, or
--       0 if more must be rewritten; how many members have no time, for every one of
--       these the member and its score, members that are due…}
-- Cost  O(log n + members, with those that are skipped)
local delayed, max, skip = KEYS[1], ARGV[1], ARGV[2]

local now = now()
local far, far_seconds = int(horizon()), int(math.ceil(horizon() / 1000))
local seconds = redis.call('ZRANGEBYSCORE', delayed, '(-inf', '(' .. far_seconds, 'WITHSCORES', 'LIMIT', 0, max)
for i = 1, #seconds, 2 do
  local score = tonumber(seconds[i + 1]) * 1000
  if score < 100000000000 then score = now end
  redis.call('ZADD', delayed, string.format('%.0f', score), seconds[i])
end
local answer = {-1, 0}
for _, bounds in ipairs({{'-inf', '-inf'}, {far_seconds, '(100000000000'}, {far, '+inf'}}) do
  for _, text in ipairs(redis.call('ZRANGEBYSCORE', delayed, bounds[1], bounds[2], 'WITHSCORES', 'LIMIT', 0, max)) do
    answer[#answer + 1] = text
  end
end
answer[2] = (#answer - 2) / 2
-- Seconds that are not rewritten yet wait for the next call.
local due = redis.call('ZRANGEBYSCORE', delayed, 100000000000, int(now), 'LIMIT', skip, max)
for _, member in ipairs(due) do answer[#answer + 1] = member end
local first = redis.call('ZRANGEBYSCORE', delayed, '(' .. int(now), '(' .. far, 'WITHSCORES', 'LIMIT', 0, 1)
if #seconds == 2 * tonumber(max) then
  answer[1] = 0
elseif first[2] then
  answer[1] = math.min(math.ceil(tonumber(first[2])) - now, 86400000)
end
return answer
