#!lua flags=allow-oom
-- Lists the jobs whose deadline has passed after a time, and tells when the next one passes.
-- Touches the wake key: if its TTL has ended, Redis deletes it and publishes that it has
-- expired. Then the key is set for the next deadline.
-- KEYS  1 deadlines, 2 wake
-- ARGV  1 deadlines up to this one (ms) are left out, 2 max jobs to list; all that have the
--       last of these deadlines are listed, up to as many again
-- Returns {wait until the next one in ms, -1 if there is none, 0 if more have passed; the
--       last deadline that was read (ms); ids…}
-- Cost  O(log n + jobs)
local deadlines, wake, after, max = KEYS[1], KEYS[2], ARGV[1], tonumber(ARGV[2])

local at = now()
local limit = int(at)
-- A key expires in the millisecond after its PXAT.
local past = redis.call('ZRANGEBYSCORE', deadlines, '(' .. after, '(' .. limit, 'WITHSCORES', 'LIMIT', 0, max)
local answer = {-1, at - 1}
local set = redis.call('PEXPIRETIME', wake)
local first = redis.call('ZRANGEBYSCORE', deadlines, limit, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
if first[2] then
  answer[1] = math.min(tonumber(first[2]) - at + 1, 86400000)
  if set ~= tonumber(first[2]) then redis.call('SET', wake, '', 'PXAT', int(tonumber(first[2]))) end
end
local last = #past == 2 * max and past[#past]
for i = 1, #past, 2 do
  if past[i + 1] ~= last then answer[#answer + 1] = past[i] end
end
if last then
  answer[1], answer[2] = 0, tonumber(last)
  -- Jobs that start together have the same deadline.
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', deadlines, last, last, 'LIMIT', 0, max)) do answer[#answer + 1] = id end
end
return answer
