import { findInternals, internalsOf } from '../internal/internals.ts'

const NOW = Promise.resolve()

/** Has calls of a client begun at the end of this turn, or when it is closed before: a closed one takes no more. */
export function beginLater(client: object, begin: () => void): void {
  const internals = internalsOf(client)
  internals.deferred ??= new Set()
  const begins = internals.deferred
  begins.add(begin)
  void NOW.then(() => {
    if (begins.delete(begin)) begin()
  })
}

/** Begins what waits. */
export function beginNow(client: object): void {
  const begins = findInternals(client)?.deferred
  if (begins === undefined) return
  const all = [...begins]
  begins.clear()
  for (const begin of all) begin()
}
