-- withdraw: leaves the line, or gives back a grant that nobody saw. With a ticket only the offer of
-- that ticket, as long as nobody has taken it up.
--
-- ARGV: owner, ticket or '0'.
local owner, ticket = ARGV[1], ARGV[2]
if ticket == '0' then leave_line(owner) end
local gone = false
if holder() == owner then
  local _, _, _, offered = record()
  if ticket == '0' or ticket == offered then
    free_name()
    gone = true
  end
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
