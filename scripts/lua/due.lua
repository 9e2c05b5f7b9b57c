#!lua flags=allow-oom
-- Lists what is due in the delayed set. A score below 10^11 is in seconds and is
-- rewritten in milliseconds, one that is no time even so, such as 0, as now; one
-- that is not finite, or 10^14 or more (after the year 5138), is no time and listed
-- apart.
-- KEYS  1 delayed
-- ARGV  1 most members to list of each kind, 2 how many that are due to pass over
-- Returns {wait until one is due that is not yet, in ms, or -1 if there is none, or
--       0 if more have to be rewritten; how many members have no time, these
--       members…, members that are due…}
-- Cost  O(log n + members, with those that are passed over)
local delayed, most, over = KEYS[1], ARGV[1], ARGV[2]

local now = now()
local seconds = redis.call('ZRANGEBYSCORE', delayed, '(-inf', '(100000000000', 'WITHSCORES', 'LIMIT', 0, most)
for i = 1, #seconds, 2 do
  local score = tonumber(seconds[i + 1]) * 1000
  if score < 100000000000 then score = now end
  redis.call('ZADD', delayed, string.format('%.0f', score), seconds[i])
end
local answer = {-1, 0}
for _, bounds in ipairs({{'-inf', '-inf'}, {'100000000000000', '+inf'}}) do
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', delayed, bounds[1], bounds[2], 'LIMIT', 0, most)) do
    answer[#answer + 1] = member
  end
end
answer[2] = #answer - 2
-- Seconds that are not rewritten yet wait for the next call.
local due = redis.call('ZRANGEBYSCORE', delayed, 100000000000, int(now), 'LIMIT', over, most)
for _, member in ipairs(due) do answer[#answer + 1] = member end
local first = redis.call('ZRANGEBYSCORE', delayed, '(' .. int(now), '(100000000000000', 'WITHSCORES', 'LIMIT', 0, 1)
if #seconds == 2 * tonumber(most) then
  answer[1] = 0
elseif first[2] then
  answer[1] = math.min(math.ceil(tonumber(first[2])) - now, 86400000)
end
return answer
