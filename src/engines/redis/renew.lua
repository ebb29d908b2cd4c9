-- renew: {0} when it is no longer ours, else {1, somebody waits, first of more fences or ''}.
local owner, fence = string.match(ARGV[1], '^(%x+):(%d+)$')
local lease, extra = tonumber(ARGV[2]), ARGV[3] or ''
local wants_fences = string.find(extra, 'f', 1, true)
local takes_up = string.find(extra, 'o', 1, true)
local shares = string.find(extra, 's', 1, true)
if string.find(extra, 'n', 1, true) then note_name() end
serve('', 0)
local ours, first = holder()
local inside = insider(owner)
local more = ''
if shares and inside and inside.mode == 'p' then return {0} end
if ours == owner and is_of(fence, first) then
  redis.call('PEXPIRE', name, lease, 'GT')
  local block, since, ticket, client, who = record()
  if wants_fences then more = next_block() or '' end
  if who then
    write_record(more ~= '' and more or block, since, takes_up and '0' or ticket, client, who)
  elseif more ~= '' then
    write_record(more, now_us, '0', '0', '?')
  end
  if shares then
    local last, came, _, from, known_as = record()
    redis.call('DEL', in_key)
    write_insider(owner, {demand = 's', ends = now + math.max(lease, redis.call('PTTL', name)),
                  since = came or now_us, client = from or '0', fence = first,
                  block = last or first, ticket = '0', who = known_as or '?'})
  end
elseif inside and is_of(fence, inside.fence, inside.block) then
  inside.ends = math.max(inside.ends, now + lease)
  if takes_up then inside.ticket = '0' end
  if shares then inside.demand = 's' end
  if wants_fences then
    more = next_block() or ''
    if more ~= '' then
      inside.block = more
      write_record(more, inside.since, '0', inside.client, inside.who)
    end
  end
  write_insider(owner, inside)
  redis.call('EXPIRE', fence_key, DAY)
else
  return {0}
end
if shares then serve('', 0) end
local wanted = somebody_waits()
-- Without the mark the next to come is told of again.
if not wanted and ours and not shares and held ~= ours .. ':' .. first then
  redis.call('SET', name, ours .. ':' .. first, 'KEEPTTL')
end
return {1, wanted and 1 or 0, more}
