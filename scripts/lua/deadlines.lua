#!lua flags=no-writes
-- Lists the jobs whose deadline has passed after a time, and tells when the next
-- one does.
-- KEYS  1 deadlines
-- ARGV  1 deadlines up to this one (ms) are left out, 2 most jobs to list
-- Returns {wait until the next one in ms, or -1 if there is none, the last
--       deadline that was looked at (ms), ids…}
-- Cost  O(log n + jobs)
local deadlines, after, most = KEYS[1], ARGV[1], tonumber(ARGV[2])

local now = now()
local limit = int(now)
-- A key ends in the millisecond after the one that it was given.
local past = redis.call('ZRANGEBYSCORE', deadlines, '(' .. after, '(' .. limit, 'WITHSCORES', 'LIMIT', 0, most)
local answer = {-1, now - 1}
local first = redis.call('ZRANGEBYSCORE', deadlines, limit, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
if first[2] then answer[1] = math.min(tonumber(first[2]) - now + 1, 86400000) end
for i = 1, #past, 2 do answer[#answer + 1] = past[i] end
if #past == 2 * most then
  answer[1], answer[2] = 0, tonumber(past[#past])
end
return answer
