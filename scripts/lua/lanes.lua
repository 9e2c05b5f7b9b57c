-- Precedes the scripts of lanes: a weighted fair queue. A queue has the waiting ids of a lane in a
-- class. The queue with the lowest tag has the next turn, which raises its tag by its stride. No tag
-- that enters the rotation is below the last one served, so that a queue saves no turns up.
-- KEYS  1 lanes, 2 tags, 3 asks, 4 next, 5 deadlines; then of every class: waiting, running, turns
-- ARGV  1 classes, 2 limit of running jobs, 3 that of a lane (0: none); then of every class: name,
--       limit (0: none; -1: the class is not configured any more)
local lanes, tags, asks, count = KEYS[1], KEYS[2], KEYS[3], tonumber(ARGV[1])
local most, most_of_lane, slots, classes, held = tonumber(ARGV[2]), tonumber(ARGV[3]), 0, {}, {}
for i = 1, count do
  local c = {name = ARGV[2 + 2 * i], most = tonumber(ARGV[3 + 2 * i]), waiting = KEYS[3 + 3 * i],
    running = KEYS[4 + 3 * i], turns = KEYS[5 + 3 * i]}
  c.slots = redis.call('ZCARD', c.running)
  classes[i], classes[c.name], slots = c, c, slots + c.slots
end
-- Jobs that started before there were lanes have a deadline and no slot.
local started, turn = redis.call('ZCARD', KEYS[5]), tonumber(redis.call('HGET', lanes, ':turn') or 0)
local at = int(now())

-- put sets a field of lanes, and add adds a member to a set, when write is called: many at once take less
-- time.
local fields, added = {}, {}
local function put(field, value) fields[#fields + 1], fields[#fields + 2] = field, value end
local function add(set, member)
  local members = added[set] or {}
  members[#members + 1], members[#members + 2], added[set] = 0, member, members
end
local function write()
  if #fields > 0 then redis.call('HSET', lanes, unpack(fields)) end
  for set, members in pairs(added) do redis.call('ZADD', set, unpack(members)) end
  fields, added = {}, {}
end

-- ids_of returns the first members of a lane in a set.
local function ids_of(set, lane, max)
  return redis.call('ZRANGEBYLEX', set, '[' .. lane .. ' ', '(' .. lane .. '!', 'LIMIT', 0, max)
end

-- slots_of returns how many slots a lane has.
local function slots_of(lane)
  if not held[lane] then
    write()
    held[lane] = 0
    for i = 1, count do
      held[lane] = held[lane] + redis.call('ZLEXCOUNT', classes[i].running, '[' .. lane .. ' ', '(' .. lane .. '!')
    end
  end
  return held[lane]
end

local function has_room(lane) return most_of_lane == 0 or slots_of(lane) < most_of_lane end

local function is_open(c)
  return slots < most and started < most and c.most >= 0 and (c.most == 0 or c.slots < c.most)
end

-- enter puts a queue into the rotation, unless its lane is full. That is after a delay if the lane has
-- jobs that had no turn.
local function enter(c, lane, delay)
  if not has_room(lane) or redis.call('ZSCORE', c.turns, lane) then return end
  local queue = c.name .. ' ' .. lane
  redis.call('ZADD', c.turns, int(math.max(turn + delay, redis.call('ZSCORE', tags, queue) or 0)), lane)
  redis.call('ZREM', tags, queue)
end

-- withdraw takes a queue out of the rotation.
local function withdraw(c, lane, tag)
  redis.call('ZREM', c.turns, lane)
  if tonumber(tag) > turn then redis.call('ZADD', tags, tag, c.name .. ' ' .. lane) end
end

-- hold gives an id a slot.
local function hold(c, id, lane, rest)
  put(id, 'R ' .. at .. ' ' .. rest)
  add(c.running, lane .. ' ' .. id)
  c.slots, slots, held[lane] = c.slots + 1, slots + 1, held[lane] and held[lane] + 1
  for i = 1, has_room(lane) and 0 or count do
    local tag = redis.call('ZSCORE', classes[i].turns, lane)
    if tag then withdraw(classes[i], lane, tag) end
  end
end

-- next_turn returns the class, the lane and the tag of the next turn; nil if no queue may have one.
local function next_turn()
  local c, lane, tag
  for i = 1, count do
    local head = is_open(classes[i]) and redis.call('ZRANGE', classes[i].turns, 0, 0, 'WITHSCORES') or {}
    if head[1] and (not tag or tonumber(head[2]) < tag) then c, lane, tag = classes[i], head[1], tonumber(head[2]) end
  end
  return c, lane, tag
end
