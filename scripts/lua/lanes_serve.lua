-- Uses  lanes
-- append appends an id that has its turn to next, and since when it has waited. If that fails, it still waits, and those before it have their slots.
local function append(id, since)
  local entry = redis.pcall('XADD', KEYS[4], '*', 'id', id, 'since', since)
  if type(entry) == 'table' then
    write()
    error(entry)
  end
end

-- serve gives turns, at most max: the first id of the queue gets a slot. It is appended to the
-- stream next, unless the caller has its entry: then mine[id] is its number, and out gets a 1 there.
-- It returns the number of turns.
local function serve(max, mine, out)
  local turns = 0
  while turns < max do
    local c, lane, tag = next_turn()
    if not c then break end
    local members = ids_of(c.waiting, lane, 2)
    local id = string.match(members[1] or '', '(%S+)$')
    turns = turns + 1
    if id then
      local from, since, stride, ask = string.match(redis.call('HGET', lanes, id) or '', '^W (%S+) (%S+) (%S+) %S+ %S+ (%S+)$')
      from, since, stride, ask = from or at, since or at, stride or '1', ask or '-'
      if mine[id] then out[mine[id]] = 1 else append(id, from) end
      redis.call('ZREM', c.waiting, members[1])
      if ask ~= '-' then redis.call('ZREM', asks, ask .. ' ' .. since .. ' ' .. id) end
      turn = math.max(turn, tag)
      local following = int(turn + stride)
      if members[2] then redis.call('ZADD', c.turns, following, lane) else withdraw(c, lane, following) end
      hold(c, id, lane, since .. ' ' .. stride .. ' ' .. c.name .. ' ' .. lane .. ' ' .. ask)
    else
      redis.call('ZREM', c.turns, lane)
    end
  end
  if turns > 0 then put(':turn', int(turn)) end
  write()
  redis.call('ZREMRANGEBYSCORE', tags, '-inf', int(turn))
  for i = 1, count do
    if redis.call('ZCARD', classes[i].waiting) > 0 then return turns end
  end
  redis.call('DEL', tags)
  redis.call('HDEL', lanes, ':turn')
  return turns
end

-- drop removes an id that waits.
local function drop(c, id, lane, since, ask)
  redis.call('HDEL', lanes, id)
  redis.call('ZREM', c.waiting, lane .. ' ' .. since .. ' ' .. id)
  if ask ~= '-' then redis.call('ZREM', asks, ask .. ' ' .. since .. ' ' .. id) end
  local tag = not ids_of(c.waiting, lane, 1)[1] and redis.call('ZSCORE', c.turns, lane)
  if tag then withdraw(c, lane, tag) end
end

-- parse reads the entry of an id in lanes: R (it has a slot) or W (it waits), since when, its order,
-- its stride, its class, its lane and its ask.
local function parse(entry) return string.match(entry or '', '^(%u) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+)$') end
