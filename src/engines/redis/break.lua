-- break: frees the name if that owner holds it, and tells him. ARGV: owner.
local owner = ARGV[1]
local broken, whom = 0, nil
serve('', 0)  -- a look shows whoever that lets in: then it can be broken, too
if holder() == owner then
  local _, _, _, client = record()
  whom = client
  broken = 1
elseif held == owner then
  broken = 1  -- a foreign lock with a value like our owners: redis-py's and node-redlock's are so
end
if broken == 1 then
  free_name()
else
  local inside = insider(owner)
  if inside then
    remove_insider(owner)
    whom = inside.client
    broken = 1
  end
end
if whom then tell(whom, 'revoked ' .. owner) end
serve('', 0)
return broken
