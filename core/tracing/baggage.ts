/** Limits that every participant must propagate (W3C Baggage §3.3.2). */
const MEMBERS_MAX = 64
const CHARS_MAX = 8192

/** Truncates `baggage` to the first 64 members and 8192 characters. */
export function limitBaggage(text: string): string {
  if (text.length <= CHARS_MAX && !hasTooManyMembers(text)) return text
  const members = text.slice(0, CHARS_MAX + 1).split(',')
  // The last member is incomplete, or exceeds the limit.
  if (text.length > CHARS_MAX) members.pop()
  return members.slice(0, MEMBERS_MAX).join(',')
}

function hasTooManyMembers(text: string): boolean {
  let count = 1
  for (let at = text.indexOf(','); at >= 0; at = text.indexOf(',', at + 1)) count++
  return count > MEMBERS_MAX
}
