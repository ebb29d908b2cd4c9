-- release: gives back what is ours and hands over. 1: it was ours; 0: it was not, nothing changed.
local answer = 0
local owner, token = string.match(ARGV[1], '^(%x+):(%d+)$')
local ours, fence = holder()
if ours == owner and is_of(token, fence) then
  free_name()
  answer = 1
else
  local inside = insider(owner)
  if inside and is_of(token, inside.fence, inside.block) then
    remove_insider(owner)
    answer = 1
  end
end
if answer == 1 and not exclusive() and end_of_hold() then return answer end
serve('', 0)
return answer
