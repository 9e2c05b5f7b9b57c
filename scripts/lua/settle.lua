#!lua flags=allow-oom
-- Uses  receipts, keep
-- Ends attempts whose records are final: removes the hash, or keeps the datasets in it for the
-- next attempt or for later jobs, removes the deadline, leaves a tombstone for a while, sends the receipts that
-- services asked for, and acknowledges the entry.
-- KEYS  1 deadlines, 2 dead, 3 events, 4 stream of the entries, 5 finished, 6 reply_to, 7
--       contenders, 8 fallbacks; then of every job: its hash, its tombstone; then for every
--       job that keeps something the key for its hash, and if it has a file, its fallback, and the
--       hash that the id in that had left
-- ARGV  1 jobs, 2 how long the tombstone lasts (ms), 3 cap of the events, 4 group; then of
--       every job: id, attempt, fence, outcome such as SUCCESS, the file or the reason,
--       entry (empty: none), summary of its tasks, the firing that reports the end (empty: none),
--       number of its key for what is kept (empty: nothing is), the id in its fallback
-- Returns for every job 1 settled, now or before; 0 another worker has the entry, or the job
--       is not claimed; -1 gone; -6 the key is not a job
-- Cost  O(jobs * log n), and O(chunks and columns) of what is not kept of a job; the data is freed
--       in the background
local call, match = redis.call, string.match
local jobs, out, gone, ended, done, failed, alive = tonumber(ARGV[1]), {}, {}, {}, {}, {}, {}
local replies = call('EXISTS', KEYS[6]) == 1
for i = 1, jobs do
  local a, hash, tombstone = 10 * i - 5, KEYS[7 + 2 * i], KEYS[8 + 2 * i]
  local id, attempt, fence, status, detail, entry = ARGV[a], ARGV[a + 1], ARGV[a + 2], ARGV[a + 3], ARGV[a + 4], ARGV[a + 5]
  local outcome, state, broken = -1, text('HGET', hash, 'job')
  local was, is, its, deadline, started, of = match(state or '', '^(%d+) (%u+) %d+ (%d+) (%d+) .* (%d+) (%S+)$')
  if broken or state and not was then
    outcome = -6
  elseif not state then
    local its, as = match(text('GET', tombstone) or '', '^(%d+) (%u+)')
    if its == attempt and as == status then outcome = 1 end
  elseif was == attempt and (is == 'RUN' or is == 'READY') then
    outcome = 0
  elseif was == attempt and its ~= fence then
    -- Another worker has the job. If it works on another entry, this one is a duplicate.
    outcome = (entry == '' or call('HGET', hash, '@fanin:entry') == entry) and 0 or -1
  elseif was == attempt then
    outcome = 1
    local file, report = status == 'SUCCESS' or status == 'PARTIAL', match(of, '^(.*)/[^/]*/[^/]*$')
    -- Sent first: if that fails, nothing of the job has changed.
    if replies then
      send_receipts(KEYS[6], KEYS[5], id, attempt .. '/ended/' .. started .. '/' .. deadline .. '/' .. report)
      redis.pcall('HDEL', KEYS[6], id)
    end
    if ARGV[a + 7] ~= '' then call('XADD', KEYS[5], '*', 'name', ARGV[a + 7], 'due', int(now()), 'late', '0') end
    call('SET', tombstone, attempt .. ' ' .. status .. ' ' .. of .. ' ' .. ARGV[a + 6] .. ' ' .. detail, 'PX', ARGV[2])
    call('XADD', KEYS[3], 'MAXLEN', '~', ARGV[3], '*', 'id', id, 'attempt', attempt, 'event', 'finished',
      'status', status, 'report', report, 'ms', int(now() - started), 'tasks', ARGV[a + 6], file and 'file' or 'reason', detail)
    local k, before = tonumber(ARGV[a + 8]), ARGV[a + 9]
    -- If an equal job has left its datasets meanwhile, in this call or another, this one leaves none.
    if k and file and (text('GET', KEYS[k + 1]) or '') ~= before then k = nil end
    local till = k and keep(hash, KEYS[k], file and id .. '/' .. attempt, KEYS[k + 1])
    if not till then gone[#gone + 1] = hash end
    if till and file then offer(KEYS[8], KEYS[k + 1], KEYS[k + 2], before, id, till) end
    ended[#ended + 1] = id
    if status == 'FAILED' then
      failed[#failed + 1] = int(now())
      failed[#failed + 1] = id
    else
      alive[#alive + 1] = id
    end
  end
  if entry ~= '' and (outcome == 1 or outcome == -1) then done[#done + 1] = entry end
  out[i] = outcome
end
if #gone > 0 then call('UNLINK', unpack(gone)) end
if #ended > 0 then
  call('ZREM', KEYS[1], unpack(ended))
  call('ZREM', KEYS[7], unpack(ended))
end
if #failed > 0 then call('ZADD', KEYS[2], unpack(failed)) end
if #alive > 0 then call('ZREM', KEYS[2], unpack(alive)) end
acknowledge(KEYS[4], ARGV[4], unpack(done))
return out
