#!lua flags=allow-oom
-- Takes a task: gives it an owner for the time of a lease, and clears what an
-- earlier try left in the data.
-- KEYS  1 data, 2 state
-- ARGV  1 attempt, 2 listener, 3 owner, 4 lease (ms), 5… definitions that the
--       caller knows
-- Returns {1 taken, report, definition, parameters, stage, tries, last error};
--       {2 done already, 1 if the barrier is reached and not claimed, stage};
--       0 another owner has it; -1 gone; -2 definition unknown
-- Cost  O(chunks and columns of the earlier try)
local data, state = KEYS[1], KEYS[2]
local attempt, listener, owner, lease = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])

local have = redis.call('HMGET', state, 'attempt', 'status', 'stage', 'report', 'definition', 'parameters',
  listener .. ':stage', listener .. ':done', listener .. ':owner', listener .. ':lease',
  listener .. ':tries', listener .. ':chunks', listener .. ':columns', listener .. ':error', listener .. ':bytes', listener .. ':next')
if have[1] ~= attempt or not have[7] then return {-1} end
if have[8] then return {2, have[2] == 'READY' and 1 or 0, tonumber(have[3])} end
if have[2] ~= 'RUN' or have[7] ~= have[3] or redis.call('EXISTS', data) == 0 then return {-1} end
local known = false
for i = 5, #ARGV do known = known or ARGV[i] == have[5] end
if not known then return {-2, have[4], have[5]} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if have[9] == owner then
  -- Its own call before this one, whose answer was lost: nothing was appended since.
  redis.call('HSET', state, listener .. ':lease', string.format('%.0f', now + lease))
  return {1, have[4], have[5], have[6], tonumber(have[3]), tonumber(have[11]), have[14] or ''}
end
if have[9] and tonumber(have[10]) > now then return {0} end

if have[13] then
  for _, column in ipairs(cjson.decode(have[13])) do
    local field = listener .. '.' .. column.name
    redis.call('HDEL', data, field)
    for chunk = 1, tonumber(have[12]) - 1 do
      redis.call('HDEL', data, field .. '#' .. chunk)
    end
  end
  redis.call('HDEL', state, listener .. ':columns')
  redis.call('HINCRBY', state, 'bytes', -have[15])
end
local failure = have[14] or ''
if have[9] then
  -- Whoever gives a task up says so; this one has not, and counts as a try.
  failure = 'worker ' .. have[9] .. ' fell silent'
  redis.call('HSET', state, listener .. ':error', failure)
end
if have[16] then redis.call('HDEL', state, listener .. ':next') end
local tries = tonumber(have[11] or 0) + 1
redis.call('HSET', state, listener .. ':owner', owner, listener .. ':lease', string.format('%.0f', now + lease),
  listener .. ':tries', tries, listener .. ':chunks', 0, listener .. ':rows', 0, listener .. ':bytes', 0,
  listener .. ':taken', string.format('%.0f', now))
return {1, have[4], have[5], have[6], tonumber(have[3]), tries, failure}
