-- Uses  drop
-- Precedes scripts that keep the datasets of a job that ended without a file, or reuse them.

-- forget removes what is known of a listener; with its dataset, if whole is true.
local function forget(hash, j, listener, whole)
  if whole then
    drop(hash, j, listener)
    redis.call('HDEL', hash, listener .. ':found', listener .. ':kept')
  end
  for _, field in ipairs({'owner', 'entry', 'lease', 'taken', 'tries', 'error', 'blame', 'next', 'waits', 'memo',
    'last_owner', 'generation'}) do redis.call('HDEL', hash, listener .. ':' .. field) end
end

-- keep moves the hash of a job that has ended to another key, until the last of its datasets expires, and
-- returns true; false if it has none. The field `keep` of the hash says for how long, and names the listeners
-- of all stages. A dataset that the job itself has reused expires when it would have.
local function keep(hash, kept)
  local j, names, last = read(hash), {}, 0
  local ms, listeners = string.match(redis.call('HGET', hash, 'keep') or '', '^(%d+)(.*)$')
  for listener in string.gmatch(listeners or '', ' (%S+)=') do
    local have, expires = redis.call('HMGET', hash, listener .. ':found', listener .. ':kept'), 0
    if have[1] and not string.find(have[1], ' omitted=', 1, true) then
      have[2] = have[2] or j.attempt .. ' ' .. int(now() + ms)
      expires = tonumber(string.match(have[2], '%d+$'))
    end
    forget(hash, j, listener, expires <= now())
    if expires > now() then
      redis.call('HSET', hash, listener .. ':kept', have[2])
      names[#names + 1], last = listener, math.max(last, expires)
    end
  end
  if #names == 0 then return false end
  redis.call('HDEL', hash, '@fanin:owner', '@fanin:entry', '@fanin:tries', '@fanin:error', '@fanin:blame', '@fanin:next',
    'queryDoneCount', 'queryTarget', 'waits', 'began', 'extended', 'reason', 'outcome', 'remove', 'blame', 'progress',
    'traceparent', 'pushed')
  redis.call('HSET', hash, 'job', line(j), 'listeners', table.concat(names, ','))
  redis.call('UNLINK', kept)
  redis.call('RENAME', hash, kept)
  redis.call('PEXPIREAT', kept, int(last))
  return true
end
