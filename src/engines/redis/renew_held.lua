-- renew, the way of nearly every call: it is held by one, and it is ours. GT: a late copy of an
-- older request never shortens what a newer answer has promised. Never creates.
--
-- KEYS: as for ask. ARGV: owner, fence (19 digits), lease in ms, what else: '' | 'f' for another
-- block of fences | 'o' to take up an offer | 'fo'.
if ARGV[4] == '' then
  local held = redis.call('GET', KEYS[1])
  local mine = ARGV[1] .. ':' .. ARGV[2]
  local wanted = held == mine .. ':w'
  if wanted or held == mine then
    redis.call('PEXPIRE', KEYS[1], ARGV[3], 'GT')
    return wanted and 2 or 1
  end
end
local time = redis.call('TIME')
