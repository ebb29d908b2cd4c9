-- adopt: a detached grant goes on under another owner. {0}: it is no longer there.
--
-- ARGV: detached owner, any fence of its grant, next owner, '<lease in ms> <x, s or p>',
-- '<client> <who>'. The mode must be that of the grant: a receipt never makes more of it.
local next_owner, proof = ARGV[3], ARGV[2]
local lease, mode = string.match(ARGV[4], '^(%d+) (%a)$')
lease = tonumber(lease)
local client, who = string.match(ARGV[5], '^(%x+) (.*)$')
serve('', 0)
local ours, first = holder()
if ours then
  -- A repeated adopt finds its own work.
  if mode ~= 'x' or ours ~= ARGV[1] and ours ~= next_owner then return {0} end
  local block, since = record()
  if not is_of(proof, first, block) then return {0} end
  block = block and block > first and block or first
  redis.call('SET', name, next_owner .. ':' .. first .. mark(), 'PX',
             lease)
  write_record(block, since or now_us, '0', client, who)
  return {1, first, somebody_waits() and 1 or 0}
end
local known_as = insider(next_owner) and next_owner or ARGV[1]
local inside = insider(known_as)
if not inside or inside.mode ~= mode or not is_of(proof, inside.fence, inside.block) then
  return {0}
end
redis.call('HDEL', in_key, known_as)
inside.ends, inside.client, inside.ticket, inside.who = now + lease, client, '0', who
write_insider(next_owner, inside)
return {1, inside.fence, somebody_waits() and 1 or 0}
