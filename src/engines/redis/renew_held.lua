-- renew, the way of nearly every call: it is held by one, and it is ours. GT: a late copy of an
-- older request never shortens what a newer answer has promised. Never creates.
--
-- KEYS: as for ask. ARGV: '<owner>:<fence of 19 digits>', lease in ms; and if there is more to do,
-- 'f' for another block of fences, 'o' to take up an offer, 's' to share from now on, 'n' to note
-- that the name is still in use, or several.
if not ARGV[3] then
  local held = redis.pcall('GET', KEYS[1])
  if type(held) == 'table' then held = false end  -- no string: looked at below
  -- Alone, a reader or a holder of permits stands at the name, too: ':s', ':p:k:n'. Behind a mark
  -- it is to be seen whether somebody who lives still waits.
  if held == ARGV[1] or
     held and string.find(held, '^:[sp]', 53) and string.sub(held, 1, 52) == ARGV[1] then
    redis.call('PEXPIRE', KEYS[1], ARGV[2], 'GT')
    redis.call('EXPIRE', KEYS[2], '86400')  -- a day after its last use, and this is one
    return 1
  end
end
local time = redis.call('TIME')
