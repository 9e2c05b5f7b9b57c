#!lua
-- Appends receipts to the stream of a service, every one once. Earlier receipts are
-- remembered for a while.
-- KEYS  1 stream, 2 its receipts, in the same slot
-- ARGV  1 approximate cap of the stream, 2 how many receipts are remembered, 3 for how
--       long (ms); then of every receipt: its name, number of fields and values, these
-- Returns how many were appended
-- Cost  O(log n)
local call = redis.call
local stream, known, cap, max, kept = KEYS[1], KEYS[2], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local i, sent = 4, 0
while ARGV[i] do
  local name, n = ARGV[i], tonumber(ARGV[i + 1])
  if not call('ZSCORE', known, name) then
    call('XADD', stream, 'MAXLEN', '~', cap, '*', unpack(ARGV, i + 2, i + 1 + n))
    call('ZADD', known, int(now()), name)
    sent = sent + 1
  end
  i = i + 2 + n
end
call('ZREMRANGEBYSCORE', known, '-inf', int(now() - kept))
call('ZREMRANGEBYRANK', known, 0, int(-max - 1))
call('PEXPIRE', known, ARGV[3])
return sent
