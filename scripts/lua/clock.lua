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

-- text runs a command that reads a text. It returns nil if the text does not exist, and
-- true as a second result if the key is of another type.
local function text(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' then return nil, true end
  return reply or nil
end

-- send_to appends a message to streams, or to none of them if one fails.
local function send_to(streams, ...)
  local sent = {}
  for i, stream in ipairs(streams) do
    sent[i] = redis.pcall('XADD', stream, '*', ...)
    if type(sent[i]) == 'table' then
      for k = 1, i - 1 do redis.call('XDEL', streams[k], sent[k]) end
      error(sent[i])
    end
  end
end

-- send appends a message to n streams, KEYS[from] and those after it, or to none of them.
local function send(from, n, ...) send_to({unpack(KEYS, from, from + n - 1)}, ...) end

-- wake_by moves the end of the wake key to a deadline (a text), if it ends later or does
-- not exist.
local function wake_by(wake, deadline)
  local ends = redis.call('PEXPIRETIME', wake)
  if ends < 0 or ends > tonumber(deadline) then redis.call('SET', wake, '', 'PXAT', deadline) end
end

-- acknowledge removes entries from a stream and from its group; an empty text is no entry. An entry
-- for which that fails is delivered again and finds its effect.
local function acknowledge(stream, group, entry, ...)
  if not entry or entry == '' then return end
  redis.pcall('XACK', stream, group, entry, ...)
  redis.pcall('XDEL', stream, entry, ...)
end

-- is_pending tells whether an entry is pending; an empty text counts as that. An entry that is
-- not pending owns nothing: workers would acknowledge theirs as its duplicates, and none would remain.
local function is_pending(stream, group, entry)
  if entry == '' then return true end
  local found = redis.pcall('XPENDING', stream, group, entry, entry, 1)
  return not found.err and found[1] ~= nil
end
