-- Uses  drop
-- Precedes scripts that keep the datasets of a job that has ended, or reuse them.

-- forget removes what is known of a listener; with its dataset, if whole is true.
local function forget(hash, j, listener, whole)
  if whole then
    drop(hash, j, listener)
    redis.call('HDEL', hash, listener .. ':found', listener .. ':kept', listener .. ':stale')
  end
  for _, field in ipairs({'owner', 'entry', 'lease', 'taken', 'tries', 'error', 'blame', 'next', 'waits', 'memo',
    'last_owner', 'generation', 'pause'}) do redis.call('HDEL', hash, listener .. ':' .. field) end
end

-- keep moves the hash of a job that has ended to another key, until the last of its datasets expires, and
-- returns when that is; false if it has none. The field `keep` of the hash says for how long, and names the
-- listeners of all stages. If the job has a file, good says which one it is, and fallback is its key: only
-- datasets of listeners with a max age stay, until they have it. Without one, a dataset that the job itself
-- has reused expires when it would have, and one of an earlier job does not stay.
local function keep(hash, kept, good, fallback)
  local j, names, last = read(hash), {}, 0
  local ms, listeners = string.match(redis.call('HGET', hash, 'keep') or '', '^(%d+)(.*)$')
  for listener, max_age in string.gmatch(listeners or '', ' (%S+)=%x+:?(%d*)') do
    local have, expires = redis.call('HMGET', hash, listener .. ':found', listener .. ':kept', listener .. ':stale'), 0
    local at, took = string.match(have[1] or '', '^at=(%d+) ms=(%d+) ')
    if at and good and max_age ~= '' then
      expires = int((string.match(have[3] or '', '^%d+') or at - took) + max_age)
      have[2] = j.attempt .. ' ' .. expires
      expires = tonumber(expires)
    elseif at and not good and not have[3] then
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
  if good then redis.call('HSET', hash, 'from', good, 'fallback', fallback) end
  redis.call('UNLINK', kept)
  redis.call('RENAME', hash, kept)
  redis.call('PEXPIREAT', kept, int(last))
  return int(last)
end

-- offer leaves what a job has kept to later jobs with its report and parameters, in place of what the id before has
-- left, if anything: that may have run again since, with other parameters.
local function offer(fallbacks, fallback, left, before, id, till)
  if before ~= id and text('HGET', left, 'fallback') == fallback then
    redis.call('UNLINK', left)
    redis.call('ZREM', fallbacks, before)
  end
  redis.call('SET', fallback, id)
  redis.call('PEXPIREAT', fallback, till)
  redis.call('ZREMRANGEBYSCORE', fallbacks, '-inf', int(now()))
  redis.call('ZADD', fallbacks, till, id)
  redis.call('PEXPIREAT', fallbacks, redis.call('ZREVRANGE', fallbacks, 0, 0, 'WITHSCORES')[2])
end
