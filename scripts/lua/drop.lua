-- Uses  job
-- Precedes scripts that remove what a task has stored.

-- drop_ticket removes the ticket of a listener, and subtracts the bytes of the segments that it lists. The
-- segments themselves are swept later.
local function drop_ticket(hash, listener, ticket)
  local bytes = 0
  for size in string.gmatch(ticket, ' %d+,%d+,(%d+),') do bytes = bytes + size end
  bytes = (redis.call('HGET', hash, 'spooled') or 0) - bytes
  if bytes > 0 then redis.call('HSET', hash, 'spooled', int(bytes)) else redis.call('HDEL', hash, 'spooled') end
  redis.call('HDEL', hash, listener .. ':at', listener .. ':at_generation')
end

-- drop removes the chunks that a task has stored, or its ticket, and subtracts their bytes.
local function drop(hash, j, listener)
  local have = redis.call('HMGET', hash, listener .. ':part', listener .. ':last', listener .. ':at',
    listener .. ':found')
  redis.call('HDEL', hash, listener .. ':part', listener .. ':last', listener .. ':total', listener .. ':writer')
  if have[3] then return drop_ticket(hash, listener, have[3]) end
  local chunks, bytes, columns = string.match(have[1] or have[4] or '', 'chunks=(%d+) rows=%d+ bytes=(%d+) columns=(.*)$')
  if not chunks then return end
  local last, fields = tonumber(have[2] or chunks), {}
  local function remove(field)
    if field then fields[#fields + 1] = field end
    if #fields == 4000 or not field and #fields > 0 then -- Lua unpacks at most 8000 values at once
      redis.call('HDEL', hash, unpack(fields))
      fields = {}
    end
  end
  for _, column in ipairs(cjson.decode(columns)) do
    local field = listener .. '.' .. column.name
    remove(field)
    for chunk = 1, last - 1 do remove(field .. '#' .. chunk) end
  end
  for chunk = tonumber(chunks), last - 1 do remove(listener .. '.#' .. chunk) end
  remove()
  j.bytes = int(j.bytes - bytes)
end
