#!lua flags=allow-oom
-- Uses  times
-- Lists the timers that are due, and those whose score is not a time. A score below
-- 10^11 is in seconds and is rewritten in milliseconds, as is one with a fraction;
-- one that is too low for that, such as 0, means now. One that is not finite, or more
-- than ten years away, is not a time. A timer that is due and also paused stays paused,
-- with the time that it was set to.
-- KEYS  1 timers, 2 anchors, 3 paused
-- ARGV  1 max timers to list, 2 how many that are due to skip
-- Returns {wait until the next one is due, in ms, or -1 if there is none, or
--       0 if there may be more to do; now; then of every timer: name, due (ms, or
--       "none" and its score), anchor or an empty string}
-- Cost  O(log n + timers)
local timers, anchors, paused = KEYS[1], KEYS[2], KEYS[3]
local max, skip = ARGV[1], ARGV[2]

-- The due time is a part of the firing's identity: no two firings have the same.
local more = to_millis(timers, max)
local answer = {0, now()}
local function add(name, due)
  answer[#answer + 1] = name
  answer[#answer + 1] = due
  answer[#answer + 1] = redis.call('HGET', anchors, name) or ''
end
local none = invalid_of(timers, max)
for i = 1, #none, 2 do add(none[i], 'none' .. none[i + 1]) end
local due = due_of(timers, skip, max)
for i = 1, #due, 2 do
  local whole = string.format('%.0f', math.floor(tonumber(due[i + 1])))
  if redis.call('ZSCORE', paused, due[i]) then
    redis.call('ZADD', paused, whole, due[i])
    redis.call('ZREM', timers, due[i])
    more = true
  else
    if whole ~= due[i + 1] then redis.call('ZADD', timers, whole, due[i]) end
    add(due[i], whole)
  end
end
answer[1] = more and 0 or until_next(timers)
return answer
