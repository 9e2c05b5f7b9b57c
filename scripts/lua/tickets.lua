#!lua flags=no-writes
-- Reads where the datasets of a job lie that an earlier attempt has read. At any moment they are in one of
-- both hashes: the end of a job moves its hash, and the next start moves it back.
-- KEYS  1 hash, 2 hash that is kept of the job
-- ARGV  1 attempt whose hash does not count
-- Returns tickets
-- Cost  O(listeners)
local tickets = {}
for i, hash in ipairs(KEYS) do
  local listeners = text('HGET', hash, 'listeners')
  if listeners and not (i == 1 and string.match(redis.call('HGET', hash, 'job') or '', '^%d+') == ARGV[1]) then
    for listener in string.gmatch(listeners, '[^,;]+') do
      local have = redis.call('HMGET', hash, listener .. ':at', listener .. ':kept')
      if have[1] and have[2] then tickets[#tickets + 1] = have[1] end
    end
  end
end
return tickets
