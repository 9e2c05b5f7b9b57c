#!lua flags=allow-oom
-- Uses  complete
-- Does what complete does for tasks whose chunks are all stored. It stores no data.
-- KEYS  as of complete
-- ARGV  as of complete, with C = 0
-- Returns as complete
-- Cost  O(jobs)
