-- swap_cell: writes if version and fence allow it. KEYS: the cell. ARGV: expected version, value,
-- writer, fence (19 digits), and 1 to leave no value. Answers {'swapped'|'changed'|'shut_out',
-- version, highest, value}. What was erased is remembered for a day by the version it had: the next
-- ones go on from there, also when the clock was set back.
local version, highest, writer, floor =
  unpack(redis.call('HMGET', KEYS[1], 'version', 'highest', 'writer', 'floor'))
local erases = ARGV[5] == '1'
version, highest = version or '0', highest or '0000000000000000000'
local function now(word)
  return {word, version, highest, redis.call('HGET', KEYS[1], 'value') or ''}
end
-- Before anything else: what was written stays written, whoever has shown a fence since.
if version ~= '0' and writer == ARGV[3] then return {'swapped', version, highest, ''} end
if erases and version == '0' and highest == '0000000000000000000' then return now('swapped') end
if ARGV[4] < highest then return now('shut_out') end
if ARGV[1] ~= version then return now('changed') end
if erases then
  redis.call('DEL', KEYS[1])
  if version ~= '0' then floor = version end
  if floor then
    redis.call('HSET', KEYS[1], 'floor', floor)
    redis.call('PEXPIRE', KEYS[1], 86400000)
  end
  tell_watchers()
  return {'swapped', '0', '0000000000000000000', ''}
end
-- What is left of an erased one: its end goes with it.
if floor and version == '0' then redis.call('DEL', KEYS[1]) end
-- By the counter while there is one, by the clock when a restart has taken it back.
local time = redis.call('TIME')
local clock = tonumber(time[1]) * 1000000 + tonumber(time[2])
version = string.format('%.0f', math.max(tonumber(version) + 1, tonumber(floor or '0') + 1, clock))
redis.call('HSET', KEYS[1], 'version', version, 'highest', ARGV[4], 'writer', ARGV[3], 'value',
           ARGV[2])
tell_watchers()
return {'swapped', version, ARGV[4], ''}
