#!lua flags=allow-oom
-- Uses  lanes_serve
-- Takes back the slots of ids that have no running job, or removes ids that wait, and starts the next
-- ones.
-- KEYS  as in lanes.lua; then of every id the hash of its job
-- ARGV  as in lanes.lua; then 1: ids that wait are removed, 0: slots are taken back; min age of a slot
--       (ms), max turns, ids
-- Returns the number of ids that have left
-- Cost  O((ids + turns) * (classes + log n))
local a, left, freed = 3 + 2 * count, 0, {}
for i = a + 4, #ARGV do
  local id = ARGV[i]
  local is, from, order, _, class, lane, ask = parse(id)
  local c = classes[class or '']
  if c and is == 'W' and ARGV[a + 1] == '1' then
    drop(c, id, lane, order, ask)
    left = left + 1
  elseif c and is == 'R' and ARGV[a + 1] == '0' and at - from >= tonumber(ARGV[a + 2]) then
    local state, broken = text('HGET', KEYS[5 + 3 * count + i - a - 3], 'job')
    if not state and not broken then
      -- A job that had none for long has ended, or its entry is lost: it is read again.
      if ARGV[a + 2] ~= '0' then redis.call('XADD', KEYS[4], '*', 'id', id) end
      redis.call('HDEL', lanes, id)
      redis.call('ZREM', c.running, lane .. ' ' .. id)
      c.slots, slots, held[lane], freed[lane] = c.slots - 1, slots - 1, nil, true
      left = left + 1
    end
  end
end
for lane in pairs(freed) do
  for i = 1, most_of_lane > 0 and count or 0 do
    if ids_of(classes[i].waiting, lane, 1)[1] then enter(classes[i], lane, 0) end
  end
end
serve(tonumber(ARGV[a + 3]), {}, {})
return left
