const ENCODED = /[%+]/
/** Characters that are encoded in the name of a parameter. */
const SPECIAL = /[&=%+]/

/** First value of a query parameter, decoded; undefined if absent. Allocates the value only, if nothing is percent-encoded. */
export function findParameter(query: string | undefined, name: string): string | undefined {
  if (query === undefined || query === '') return undefined
  // `URLSearchParams` drops a leading `?`, but here a leading `?` is part of the first name.
  if (ENCODED.test(query) || SPECIAL.test(name))
    return new URLSearchParams(`?${query}`).get(name) ?? undefined
  for (let start = 0; start < query.length; ) {
    const next = query.indexOf('&', start)
    const end = next < 0 ? query.length : next
    if (end > start && query.startsWith(name, start)) {
      const at = start + name.length
      if (at === end) return ''
      if (query[at] === '=') return query.slice(at + 1, end)
    }
    start = end + 1
  }
  return undefined
}
