-- renew: {0} when it is no longer ours, else {1, somebody waits, first fence of another block or ''}.
local owner, fence, lease = ARGV[1], ARGV[2], tonumber(ARGV[3])
local wants_fences = string.find(ARGV[4], 'f', 1, true)
local takes_up = string.find(ARGV[4], 'o', 1, true)
serve('', 0)
local ours, first = holder()
local inside = insider(owner)
local more = ''
if ours == owner and first == fence then
  redis.call('PEXPIRE', name, lease, 'GT')
  local block, since, client, ticket, who = record()
  if wants_fences then more = next_block() or '' end
  if who then
    write_record(more ~= '' and more or block, since, client, takes_up and '0' or ticket, who)
  elseif more ~= '' then
    write_record(more, now_us, '0', '0', '?')
  end
elseif inside and inside.fence == fence then
  inside.ends = math.max(inside.ends, now + lease)
  if takes_up then inside.ticket = '0' end
  if wants_fences then
    more = next_block() or ''
    if more ~= '' then
      inside.block = more
      write_record(more, inside.since, inside.client, '0', inside.who)
    end
  end
  write_insider(owner, inside)
else
  return {0}
end
return {1, somebody_waits() and 1 or 0, more}
