#!lua flags=no-writes
-- Reads all that is known of a job except its data, however large that is.
-- KEYS  1 hash, 2 tombstone
-- Returns field and value of all that exist, or {'ended', tombstone}; nothing if the job is
--       unknown
-- Cost  O(listeners)
local hash = KEYS[1]

local listeners = redis.call('HGET', hash, 'listeners')
if not listeners then
  local ended = redis.call('GET', KEYS[2])
  return ended and {'ended', ended} or {}
end
local names = {'job', 'parameters', 'listeners', 'waits', 'began', 'extended', 'reason', 'outcome', 'remove', 'blame',
  'traceparent', 'pushed', 'spooled', 'keep', 'from'}
for _, field in ipairs({'owner', 'entry', 'tries', 'error', 'blame', 'next'}) do names[#names + 1] = '@fanin:' .. field end
for listener in string.gmatch(listeners, '[^,;]+') do
  for _, field in ipairs({'found', 'owner', 'entry', 'lease', 'taken', 'tries', 'error', 'blame', 'next', 'waits', 'memo',
    'last_owner', 'pause', 'part', 'last', 'total', 'at', 'kept', 'stale'}) do names[#names + 1] = listener .. ':' .. field end
end
local found = {}
for from = 1, #names, 1000 do
  local to = math.min(from + 999, #names)
  for i, value in ipairs(redis.call('HMGET', hash, unpack(names, from, to))) do
    if value then
      found[#found + 1] = names[from + i - 1]
      found[#found + 1] = value
    end
  end
end
return found
