-- What stands before every script.

local clock

-- now returns Unix milliseconds, the same in a whole script.
local function now()
  if not clock then
    local time = redis.call('TIME')
    clock = time[1] * 1000 + math.floor(time[2] / 1000)
  end
  return clock
end

-- int writes an integer below 2^63, many times as fast as Redis writes a number of
-- Lua.
local function int(n) return string.format('%d', n) end

-- horizon is the time from which on nothing waits.
local function horizon() return now() + HORIZON end

-- timeless tells whether a score is no time that something can wait for, in seconds or
-- milliseconds.
local function timeless(score)
  local n = tonumber(score)
  return n == -math.huge or n >= horizon() or n < 100000000000 and n * 1000 >= horizon()
end

local values = {}

-- get is GET of a key that no script writes.
local function get(key)
  if values[key] == nil then values[key] = redis.call('GET', key) end
  return values[key]
end

local fields = {}

-- of returns the names of a listener's fields in a state: of('users').owner is
-- users:owner.
local function of(listener)
  if not fields[listener] then
    fields[listener] = setmetatable({}, {__index = function(names, what)
      names[what] = listener .. ':' .. what
      return names[what]
    end})
  end
  return fields[listener]
end

-- drop removes the chunks that a task has stored, and what is noted of those that came
-- before their turn; columns as they are in the state.
local function drop(data, state, listener, columns, chunks)
  local its = of(listener)
  local last = redis.call('HGET', state, its.last)
  for _, column in ipairs(cjson.decode(columns)) do
    local field = listener .. '.' .. column.name
    redis.call('HDEL', data, field)
    for chunk = 1, tonumber(last or chunks) - 1 do
      redis.call('HDEL', data, field .. '#' .. chunk)
    end
  end
  for chunk = tonumber(chunks), tonumber(last or 0) - 1 do redis.call('HDEL', data, listener .. '.#' .. chunk) end
  redis.call('HDEL', state, its.columns, its.last, its.ends)
end

local late, order = {}, {}

-- at_end puts a command off to the end of the script, where the calls of one have
-- their arguments in common. Nothing in the script may depend on its effect.
local function at_end(command, key, ...)
  local name = command .. (key or '')
  local list = late[name]
  if not list then
    list = {command, key}
    late[name] = list
    order[#order + 1] = list
  end
  for i = 1, select('#', ...) do list[#list + 1] = (select(i, ...)) end
end

local acknowledged = {}

-- acknowledge ends an entry of a stream and removes it. Where that fails, the entry
-- comes again and finds its effect.
local function acknowledge(stream, group, entry)
  local list = acknowledged[stream]
  if not list then
    list = {group}
    acknowledged[stream] = list
  end
  list[#list + 1] = entry
end

local function finish()
  for _, list in ipairs(order) do redis.call(unpack(list)) end
  for stream, list in pairs(acknowledged) do
    redis.pcall('XACK', stream, unpack(list))
    redis.pcall('XDEL', stream, unpack(list, 2))
  end
end
