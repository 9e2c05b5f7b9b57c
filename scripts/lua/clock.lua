-- Precedes every script.

local clock

-- now returns Unix milliseconds, the same throughout a script.
local function now()
  if not clock then
    local time = redis.call('TIME')
    clock = time[1] * 1000 + math.floor(time[2] / 1000)
  end
  return clock
end

-- int formats an integer below 2^63. Redis formats a Lua number much more slowly.
local function int(n) return string.format('%d', n) end

-- acknowledge removes an entry from a stream and from its group. An entry for which
-- that fails is delivered again and finds its effect.
local function acknowledge(stream, group, ...)
  redis.pcall('XACK', stream, group, ...)
  redis.pcall('XDEL', stream, ...)
end
