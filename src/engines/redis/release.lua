-- release: gives back what is ours and hands over. 1: it was ours; 0: it was not, nothing changed.
local answer = 0
local ours, fence = holder()
if ours == ARGV[1] and fence == ARGV[2] then
  free_name()
  answer = 1
else
  local inside = insider(ARGV[1])
  if inside and inside.fence == ARGV[2] then
    remove_insider(ARGV[1])
    answer = 1
  end
end
if answer == 1 and not exclusive() and end_of_hold() then return answer end
serve('', 0)
return answer
