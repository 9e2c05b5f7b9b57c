-- Reads the facts of a partition that all jobs share, once per call.

-- begin reads the shared facts. prefix is the prefix of the partition's keys.
local function begin(prefix)
  local text = redis.call('GET', prefix .. 'configuration')
  if not text then
    error({err = 'NOCONFIG ' .. prefix .. 'configuration does not exist: the key must be that of a partition in which fanfold serve runs'})
  end
  local time = redis.call('TIME')
  local all = {prefix = prefix, config = cjson.decode(text), now = time[1] * 1000 + time[2] / 1000, streams = {}, slots = {},
    left = STEPS, paused = {}, seen = {}, any = false, memory = 0, searched = 0}
  all.silence = math.max(all.config.lease, 3000)
  all.running = redis.call('ZCARD', prefix .. 'deadlines')
  local found = redis.call('ZRANGE', prefix .. 'paused', 0, -1, 'WITHSCORES')
  for i = 1, #found, 2 do all.paused[found[i]] = tonumber(found[i + 1]) end
  found = redis.call('ZRANGE', prefix .. 'definitions', 0, -1, 'WITHSCORES')
  for i = 1, #found, 2 do
    all.seen[found[i]] = tonumber(found[i + 1])
    all.any = all.any or all.now - found[i + 1] < DEFINITION_SILENCE
  end
  local info = redis.pcall('INFO', 'memory') -- the user may not be allowed to
  if type(info) == 'string' then
    local used, max = string.match(info, 'used_memory:(%d+)'), string.match(info, 'maxmemory:(%d+)')
    if used and max and max ~= '0' then all.memory = math.floor(used * 100 / max) end
  end
  all.known = {is = {['redis-alone'] = true}, at = {takeover = all.now + all.config.lease}, text = {cli = 'redis-cli',
    jobs = prefix .. 'jobs', delayed = prefix .. 'delayed', lease = short(all.config.lease), grace = short(all.config.grace),
    memory = tostring(all.memory), ['memory-max'] = tostring(all.config.memory), ['jobs-running'] = tostring(all.running),
    ['jobs-max'] = tostring(all.config.running_jobs), polls = tostring(POLLS), ['lost-every'] = LOST_EVERY, ['lost-jobs'] = LOST_JOBS}}
  return all
end

-- stream reads a stream: its length, the number of live consumers, and its oldest entries, by id and
-- by id and attempt. Of two entries with the same id, it keeps the newer one.
local function stream(all, key)
  if all.streams[key] then return all.streams[key] end
  local s = {key = key, length = redis.call('XLEN', key), live = 0, entries = {}}
  local consumers = redis.pcall('XINFO', 'CONSUMERS', key, 'fanfold')
  if not consumers.err then
    for _, c in ipairs(consumers) do
      for i = 1, #c, 2 do
        if c[i] == 'idle' and c[i + 1] < all.silence then s.live = s.live + 1 end
      end
    end
  end
  local count = math.max(math.min(ENTRIES, TOTAL - all.searched), 0)
  local found = count > 0 and redis.call('XRANGE', key, '-', '+', 'COUNT', count) or {}
  for i, e in ipairs(found) do
    local fields = {}
    for k = 1, #e[2], 2 do fields[e[2][k]] = e[2][k + 1] end
    local entry = {id = e[1], ahead = i - 1}
    s.entries[fields.id or ''] = entry
    s.entries[(fields.id or '') .. ' ' .. (fields.attempt or '')] = entry
  end
  s.searched, s.whole = #found, #found < count
  all.searched = all.searched + #found
  all.streams[key] = s
  return s
end

-- entry returns the entry of a name in a stream, with the consumer that has read it.
local function entry(s, name)
  local e = s.entries[name]
  if not e then return nil end
  local pending = redis.pcall('XPENDING', s.key, 'fanfold', e.id, e.id, 1)
  if not pending.err and pending[1] then e.consumer, e.idle = pending[1][2], pending[1][3] end
  return e
end

-- delayed returns the first of some members that is in the delayed set, with its score and its due
-- time; nil if none is. A member without a valid time has no due time.
local function delayed(all, members)
  for _, member in ipairs(members) do
    local score = tonumber(redis.call('ZSCORE', all.prefix .. 'delayed', member) or nil)
    if score then
      local due = score
      if score < MIN_MILLIS then due = score * 1000 end
      if score >= NO_TIME or score == -math.huge or due - all.now > HORIZON then due = nil
      elseif due < MIN_MILLIS then due = all.now end
      return {member = member, score = score, due = due}
    end
  end
end

-- slots returns how many tasks have a slot of a source, their jobs in words, and whether the task that
-- a name begins with is one of them. Only the first partition knows it.
local function slots(all, source, name)
  if not all.slots[source] then
    all.slots[source] = redis.call('ZRANGEBYSCORE', all.prefix .. 'parallel:' .. source, math.floor(all.now), '+inf', 'LIMIT', 0, SLOTS)
    table.sort(all.slots[source])
  end
  local ids, known, holds = {}, {}, false
  for _, holder in ipairs(all.slots[source]) do
    local id = string.match(holder, '^[^/]*')
    if not known[id] then ids[#ids + 1] = id end
    known[id], holds = true, holds or string.sub(holder, 1, #name) == name
  end
  local more = #ids - HOLDERS
  local text = (#ids == 1 and 'job ' or 'jobs ') .. table.concat(ids, ', ', 1, math.min(#ids, HOLDERS))
  if more > 0 then text = text .. ' and ' .. more .. (more == 1 and ' other' or ' others') end
  return #all.slots[source], text, holds
end

-- aside returns the newest entry of the quarantine that names an id; nil: none of those read does.
local function aside(all, id)
  if not all.aside then
    all.aside = {}
    for _, e in ipairs(redis.call('XREVRANGE', all.prefix .. 'quarantine', '+', '-', 'COUNT', ENTRIES)) do
      local fields = {}
      for i = 1, #e[2], 2 do fields[e[2][i]] = e[2][i + 1] end
      fields.at = tonumber(string.match(e[1], '^%d+'))
      for word in string.gmatch(fields.fields or '', '[^ ]+') do
        local name = string.match(word, '^id=(.+)$') or string.match(word, '^member=([^/]+)')
        if name and not all.aside[name] then all.aside[name] = fields end
      end
    end
  end
  return all.aside[id]
end
