const NOW = Promise.resolve()

/** What begins calls of a client that wait for the end of the turn. */
const unbegun = new WeakMap<object, Set<() => void>>()

/** Has calls of a client begun at the end of this turn, or when it is closed before: a closed one takes no more. */
export function beginLater(client: object, begin: () => void): void {
  const begins = unbegun.get(client) ?? new Set()
  unbegun.set(client, begins)
  begins.add(begin)
  void NOW.then(() => {
    if (begins.delete(begin)) begin()
  })
}

/** Begins what waits. */
export function beginNow(client: object): void {
  const begins = unbegun.get(client)
  if (begins === undefined) return
  const all = [...begins]
  begins.clear()
  for (const begin of all) begin()
}
