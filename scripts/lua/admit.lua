#!lua
-- Uses  lanes_serve
-- Gives ids slots, or parks them until their lane has its turn. An id that has its slot keeps it. Of
-- the ids of one ask, such as those of one person for one report, only the newest may wait.
-- KEYS  as in lanes.lua; then events
-- ARGV  as in lanes.lua; then the cap of the events; then of every id: id, class, lane, age of the
--       request (ms), stride, ask (-: none), attempt, report
-- Returns for every id 1 it has a slot; 0 it waits; then the ids that wait although there is a newer
--       one of the same ask
-- Cost  O(ids * (classes + log n))
local out, mine, parked, idle = {}, {}, {}, nil
local first, ids, names = 4 + 2 * count, (#ARGV - 4 - 2 * count) / 8, {}
for i = 1, ids do names[i] = ARGV[first + 8 * i - 7] end
local entries = redis.call('HMGET', lanes, unpack(names))
for i = 1, ids do
  local a = first + 8 * i - 7
  local id, c, lane, ask, is = ARGV[a], classes[ARGV[a + 1]], ARGV[a + 2], ARGV[a + 5], parse(entries[i])
  out[i] = is == 'R' and 1 or 0
  if is == 'W' then mine[id] = i end
  if not is then
    local order = string.format('%013d', math.max(0, now() - ARGV[a + 3])) -- texts in the order of times
    local rest = order .. ' ' .. ARGV[a + 4] .. ' ' .. c.name .. ' ' .. lane .. ' ' .. ask
    if idle == nil then idle = not next_turn() end
    if idle and is_open(c) and has_room(lane) then
      hold(c, id, lane, rest)
      out[i] = 1
    else
      put(id, 'W ' .. at .. ' ' .. rest)
      add(c.waiting, lane .. ' ' .. order .. ' ' .. id)
      if ask ~= '-' then add(asks, ask .. ' ' .. order .. ' ' .. id) end
      enter(c, lane, slots_of(lane) > 0 and ARGV[a + 4] or 0)
      mine[id], parked[i], idle = i, true, nil
    end
  end
end
write()
if next(mine) then serve(ids, mine, out) end

-- is_newer compares two asks. The times of rows can have whole seconds, so that numbers decide then.
local function is_newer(order, id, than, other)
  local d = order - than
  if math.abs(d) >= 1000 or string.find(id .. other, '%D') then return d > 0 or d == 0 and id > other end
  return #id > #other or #id == #other and id > other
end

for i = 1, ids do
  local a = first + 8 * i - 7
  if parked[i] and out[i] == 0 then
    redis.call('XADD', KEYS[#KEYS], 'MAXLEN', '~', ARGV[first], '*', 'id', ARGV[a], 'attempt', ARGV[a + 6], 'event', 'parked',
      'report', ARGV[a + 7])
  end
  local id, ask = ARGV[a], ARGV[a + 5]
  local members = ask ~= '-' and ids_of(asks, ask, 100) or {}
  local _, _, order = parse(members[1] and redis.call('HGET', lanes, id))
  local newest, its = id, order
  for _, member in ipairs(members) do
    local o, other = string.match(member, '(%S+) (%S+)$')
    if is_newer(o, other, its, newest) then newest, its = other, o end
  end
  for _, member in ipairs(members) do
    local other = string.match(member, '(%S+)$')
    if other ~= newest then out[#out + 1] = other end
  end
end
return out
