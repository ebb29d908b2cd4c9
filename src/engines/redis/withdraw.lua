-- withdraw: leaves the line, or gives back a grant that nobody saw. With a ticket only the offer of
-- that ticket, as long as nobody has taken it up.
--
-- ARGV: owner, ticket or '0', and for those in line: lease and offer in ms, '<client> <who>',
-- demand.
local owner, ticket = ARGV[1], ARGV[2]
if ticket == '0' then
  local member = owner .. ' ' .. ARGV[5] .. ' ' .. ARGV[3] .. ' ' .. ARGV[4]
  local since = redis.call('ZSCORE', line_key, member)
  if since then leave_line(read_waiter(member, since)) end
end
local gone = false
local ours, fence = holder()
if ours == owner then
  local _, _, offered = record()
  if ticket == '0' or ticket == offered then
    free_name()
    gone = true
  end
elseif ours and held ~= ours .. ':' .. fence and not somebody_waits() then
  redis.call('SET', name, ours .. ':' .. fence, 'KEEPTTL')  -- nobody is behind it any more
else
  local inside = insider(owner)
  if inside and (ticket == '0' or ticket == inside.ticket) then
    remove_insider(owner)
    gone = true
  end
end
if gone and not exclusive() and end_of_hold() then return 1 end
serve('', 0)
return 1
