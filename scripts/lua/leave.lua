#!lua flags=allow-oom
-- Uses  lanes_serve
-- Takes back the slots of ids that have no running job, or removes ids that wait, and starts the next
-- ones.
-- KEYS  as in lanes.lua; then of every id the hash of its job
-- ARGV  as in lanes.lua; then 1: ids that wait are removed, 0: slots are taken back; min age of a slot
--       (ms), max turns, ids
-- Returns the number of ids that have left
-- Cost  O((ids + turns) * (classes + log n))
local a, left, freed, gone, leaving = 3 + 2 * count, 0, {}, {}, {}
local entries = redis.call('HMGET', lanes, unpack(ARGV, a + 4))
local exist = redis.call('EXISTS', unpack(KEYS, 6 + 3 * count)) > 0
for i = a + 4, #ARGV do
  local id = ARGV[i]
  local is, from, order, _, class, lane, ask = parse(entries[i - a - 3])
  local c, state, broken = classes[class or ''], nil, nil
  if c and is == 'W' and ARGV[a + 1] == '1' then
    drop(c, id, lane, order, ask)
    left = left + 1
  elseif c and is == 'R' and ARGV[a + 1] == '0' and at - from >= tonumber(ARGV[a + 2]) and not leaving[id] then
    if exist then state, broken = text('HGET', KEYS[5 + 3 * count + i - a - 3], 'job') end
    if not state and not broken then
      -- A job that had none for long has ended, or its entry is lost: it is read again.
      if ARGV[a + 2] ~= '0' then redis.call('XADD', KEYS[4], '*', 'id', id) end
      gone[class] = gone[class] or {}
      gone[class][#gone[class] + 1] = lane .. ' ' .. id
      leaving[id], leaving[#leaving + 1] = true, id
      c.slots, slots, freed[lane] = c.slots - 1, slots - 1, true
      left = left + 1
    end
  end
end
if #leaving > 0 then redis.call('HDEL', lanes, unpack(leaving)) end
for class, members in pairs(gone) do redis.call('ZREM', classes[class].running, unpack(members)) end
for lane in pairs(freed) do
  for i = 1, most_of_lane > 0 and count or 0 do
    if ids_of(classes[i].waiting, lane, 1)[1] then enter(classes[i], lane, 0) end
  end
end
serve(tonumber(ARGV[a + 3]), {}, {})
return left
