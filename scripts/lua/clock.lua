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

-- wake_by moves the end of the wake key to a deadline (a text), if it ends later or does
-- not exist.
local function wake_by(wake, deadline)
  local ends = redis.call('PEXPIRETIME', wake)
  if ends < 0 or ends > tonumber(deadline) then redis.call('SET', wake, '', 'PXAT', deadline) end
end

-- acknowledge removes an entry from a stream and from its group. An entry for which
-- that fails is delivered again and finds its effect.
local function acknowledge(stream, group, ...)
  redis.pcall('XACK', stream, group, ...)
  redis.pcall('XDEL', stream, ...)
end
