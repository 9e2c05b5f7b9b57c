#!lua flags=allow-oom
-- Uses  times
-- Lists the timers that are due, and those whose score is not a time. A score below
-- 10^11 is in seconds and is rewritten in milliseconds, as is one with a fraction;
-- one that is too low for that, such as 0, means now. One that is not finite, or more
-- than ten years away, is not a time. A timer that is due and also paused stays paused,
-- with the time that it was set to.
-- KEYS  1 timers, 2 anchors, 3 paused
-- ARGV  1 max timers to list, 2 how many that are due to skip
-- Returns {wait until one is due that is not yet, in ms, or -1 if there is none, or
--       0 if there may be more to do; now; then of every timer: name, due (ms, or
--       "none" and its score), anchor or an empty string}
-- Cost  O(log n + timers)
local timers, anchors, paused = KEYS[1], KEYS[2], KEYS[3]
local max, skip = ARGV[1], ARGV[2]

local now = now()
local far, far_seconds = int(horizon()), int(math.ceil(horizon() / 1000))
local seconds = redis.call('ZRANGEBYSCORE', timers, '(-inf', '(' .. far_seconds, 'WITHSCORES', 'LIMIT', 0, max)
for i = 1, #seconds, 2 do
  local due = tonumber(seconds[i + 1]) * 1000
  -- The due time is a part of the firing's identity: no two firings have the same.
  if due < 100000000000 then due = now end
  redis.call('ZADD', timers, string.format('%.0f', due), seconds[i])
end
local answer = {-1, now}
local function add(name, due)
  answer[#answer + 1] = name
  answer[#answer + 1] = due
  answer[#answer + 1] = redis.call('HGET', anchors, name) or ''
end
for _, bounds in ipairs({{'-inf', '-inf'}, {far_seconds, '(100000000000'}, {far, '+inf'}}) do
  local none = redis.call('ZRANGEBYSCORE', timers, bounds[1], bounds[2], 'WITHSCORES', 'LIMIT', 0, max)
  for i = 1, #none, 2 do add(none[i], 'none' .. none[i + 1]) end
end
local moved = false
local due = redis.call('ZRANGEBYSCORE', timers, 100000000000, int(now), 'WITHSCORES', 'LIMIT', skip, max)
for i = 1, #due, 2 do
  local whole = string.format('%.0f', math.floor(tonumber(due[i + 1])))
  if redis.call('ZSCORE', paused, due[i]) then
    redis.call('ZADD', paused, whole, due[i])
    redis.call('ZREM', timers, due[i])
    moved = true
  else
    if whole ~= due[i + 1] then redis.call('ZADD', timers, whole, due[i]) end
    add(due[i], whole)
  end
end
local first = redis.call('ZRANGEBYSCORE', timers, '(' .. int(now), '(' .. far, 'WITHSCORES', 'LIMIT', 0, 1)
if moved or #seconds == 2 * tonumber(max) then
  answer[1] = 0
elseif first[2] then
  answer[1] = math.min(math.ceil(tonumber(first[2])) - now, 86400000)
end
return answer
