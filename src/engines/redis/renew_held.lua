-- renew, the way of nearly every call: it is held by one, and it is ours. GT: a late copy of an
-- older request never shortens what a newer answer has promised. Never creates.
--
-- KEYS: as for ask. ARGV: owner, fence (19 digits), lease in ms, what else: '' | 'f' for another
-- block of fences | 'o' to take up an offer | 'fo'.
if ARGV[4] == '' and redis.call('GET', KEYS[1]) == ARGV[1] .. ':' .. ARGV[2] then
  redis.call('PEXPIRE', KEYS[1], ARGV[3], 'GT')
  return 1 + redis.call('EXISTS', KEYS[4])
end
local time = redis.call('TIME')
