#!lua
-- Adds to the counters of times what events have told, and moves the cursor in the events, if that is still the one
-- from which they were read: every event counts once, however many processes read it.
-- KEYS  1 cursor; then the counters of every time
-- ARGV  1 cursor as it was read (empty: none), 2 next cursor, 3 max names in the counters of a time: others count
--       as @other; then of every time: when its counters expire (ms), N, N names such as r/orders, each with what is
--       added, such as SUCCESS=3 run12=3
-- Returns 1 counted; 0 another process was faster
-- Cost  O(names)
local call, cursor, max = redis.call, KEYS[1], tonumber(ARGV[3])

-- added returns the sums of two texts.
local function added(have, more)
  local sums, names = {}, {}
  for name, n in string.gmatch(have .. ' ' .. more, '(%S+)=(%d+)') do
    if not sums[name] then names[#names + 1] = name end
    sums[name] = (sums[name] or 0) + n
  end
  for i, name in ipairs(names) do names[i] = name .. '=' .. int(sums[name]) end
  return table.concat(names, ' ')
end

if (text('GET', cursor) or '') ~= ARGV[1] then return 0 end
-- Moved first: if a key is of another type, its events are lost, and are not counted in the others again and again.
call('SET', cursor, ARGV[2])
local a = 4
for k = 2, #KEYS do
  local hash, n = KEYS[k], tonumber(ARGV[a + 1])
  local names = call('HLEN', hash)
  for i = 1, n do
    local name = ARGV[a + 2 * i]
    local have = call('HGET', hash, name)
    if not have and names >= max then
      name = string.sub(name, 1, 2) .. '@other'
      have = call('HGET', hash, name)
    end
    if not have then names = names + 1 end
    call('HSET', hash, name, added(have or '', ARGV[a + 2 * i + 1]))
  end
  call('PEXPIREAT', hash, ARGV[a])
  a = a + 2 + 2 * n
end
return 1
