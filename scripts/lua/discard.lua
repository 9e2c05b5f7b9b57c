#!lua flags=allow-oom
-- Removes what another program has put in the place of a job's state: a key of another type, or
-- a hash whose field `job` is not a state. The quarantine says what it was. The record is final
-- before, because the key keeps the job from starting.
-- KEYS  1 hash, 2 deadlines, 3 contenders, 4 quarantine
-- ARGV  1 id, 2 cap of the quarantine
-- Returns 1 removed; -1 the key is a state, or it does not exist
-- Cost  O(log n); the data is freed in the background
local hash, id = KEYS[1], ARGV[1]

local kind = redis.call('TYPE', hash).ok
local state = kind == 'hash' and redis.call('HGET', hash, 'job') or ''
if kind == 'none' or kind == 'hash' and (not state or string.match(state, '^%d+ %u+ %d+ %d+ %d+ %d+/%d+ %d+ %S+ %d+ %d+ %S+$')) then
  return -1
end
redis.call('XADD', KEYS[4], 'MAXLEN', '~', ARGV[2], '*', 'stream', hash, 'entry', '', 'reason',
  'another program overwrote this key: it is not the state of a job', 'fields', 'id=' .. id .. ' type=' .. kind)
redis.call('UNLINK', hash)
redis.call('ZREM', KEYS[2], id)
redis.call('ZREM', KEYS[3], id)
return 1
