#!lua flags=allow-oom
-- Uses  times
-- Fires, skips, pauses or refuses a timer, once, however many schedulers try. If the
-- timer's key exists, its expiry is the due time. A timer that was set again for a time
-- for which it has just fired has fired already.
-- KEYS  1 timers, 2 anchors, 3 recent, 4 the timer's key, 5 events,
--       6 fired, quarantine or paused, 7 paused
-- ARGV  1 name, 2 due (as listed), 3 verdict (fired, skipped, paused or refused),
--       4 next due or an empty string, 5 anchor of that or an empty string,
--       6 reason (of a refusal or a pause), 7 cap of the events, 8 cap of the quarantine,
--       9 how long a timer is recent (ms)
-- Returns 1 done; 2 the key says otherwise, the set says so now, too; 0 the set
--       says otherwise
-- Cost  O(log n)
local timers, anchors, recent, key, events, target, paused = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local name, due, verdict, next = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local now = now()
local score = redis.call('ZSCORE', timers, name)
if not score then return 0 end
if verdict == 'refused' then
  -- A name stays invalid; a score may have become a time.
  local named = #name <= 200 and #name > 0 and not string.find(name, '[^!-~]')
  if named and not invalid(score) then return 0 end
else
  if tonumber(score) ~= tonumber(due) or tonumber(score) > now then return 0 end
  if redis.call('ZSCORE', paused, name) then return 0 end
  -- This also deletes a key that has expired.
  local at = redis.call('PEXPIRETIME', key)
  if at > 0 then
    redis.call('ZADD', timers, string.format('%.0f', at), name)
    return 2
  elseif at == -1 then
    redis.call('ZREM', timers, name)
    redis.call('HDEL', anchors, name)
    return 2
  end
end
local late = string.format('%.0f', now - (tonumber(due) or now))
-- No timer's name has a space.
local firing = name .. ' ' .. due
local repeated = verdict == 'fired' and redis.call('ZSCORE', recent, firing)
-- Sent first: if that fails, the timer still exists. The action of a repeated firing is
-- done or on its way.
if verdict == 'fired' and not repeated then
  redis.call('XADD', target, '*', 'name', name, 'due', due, 'late', late)
elseif verdict == 'paused' then
  redis.call('ZADD', target, due, name)
elseif verdict == 'refused' then
  redis.call('XADD', target, 'MAXLEN', '~', ARGV[8], '*', 'stream', timers, 'entry', '', 'reason', ARGV[6],
    'fields', 'name=' .. string.sub(name, 1, 1024) .. ' due=' .. due)
  redis.call('UNLINK', key)
end
if next ~= '' then
  redis.call('ZADD', timers, next, name)
else
  redis.call('ZREM', timers, name)
end
if ARGV[5] ~= '' then
  redis.call('HSET', anchors, name, ARGV[5])
elseif verdict ~= 'paused' then
  redis.call('HDEL', anchors, name)
end
redis.call('ZADD', recent, int(now), name)
if verdict == 'fired' then redis.call('ZADD', recent, int(now), firing) end
local old = redis.call('ZRANGEBYSCORE', recent, '-inf', int(now - tonumber(ARGV[9])), 'LIMIT', 0, 10)
if #old > 0 then redis.call('ZREM', recent, unpack(old)) end
if repeated then return 1 end

local fields = {'event', 'timer', 'timer', string.sub(name, 1, 1024), 'due', due, 'outcome', verdict}
if verdict == 'refused' or verdict == 'paused' then
  fields[#fields + 1] = 'reason'
  fields[#fields + 1] = ARGV[6]
end
if verdict ~= 'refused' then
  fields[#fields + 1] = 'late'
  fields[#fields + 1] = late
end
redis.call('XADD', events, 'MAXLEN', '~', ARGV[7], '*', unpack(fields))
return 1
