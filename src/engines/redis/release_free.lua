-- release, the way of nearly every call: it is ours, and nobody waits.
--
-- KEYS: as for ask. ARGV: owner, fence (19 digits).
local held = redis.call('GET', KEYS[1])
if held == ARGV[1] .. ':' .. ARGV[2] and #KEYS == 5 and redis.call('EXISTS', KEYS[4]) == 0 then
  redis.call('DEL', KEYS[1])
  return 1
end
local time = redis.call('TIME')
