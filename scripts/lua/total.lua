#!lua flags=allow-oom
-- Uses  store
-- Does what store does with the number of chunks that exist. It stores no data.
-- KEYS  1 hash
-- ARGV  1 attempt, 2 listener, 3 generation, 4 number of chunks, 5 and 6 empty, 7 lease (ms)
-- Returns as store
-- Cost  O(1)
