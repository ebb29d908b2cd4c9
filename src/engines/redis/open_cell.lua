-- open_cell: shows a fence to a cell, which refuses every lower one from then on. KEYS: the cell.
-- ARGV: fence (19 digits). {0} when a higher one was here, else {1, version, highest, value}.
local version, highest, value, floor =
  unpack(redis.call('HMGET', KEYS[1], 'version', 'highest', 'value', 'floor'))
if highest and ARGV[1] < highest then return {0} end
if floor and not (version or highest) then
  -- What is left of an erased one: its end goes with it.
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], 'floor', floor)
end
redis.call('HSET', KEYS[1], 'highest', ARGV[1])
if (highest or '0000000000000000000') ~= ARGV[1] then tell_watchers() end
return {1, version or '0', ARGV[1], value or ''}
