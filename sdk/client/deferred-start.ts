import { findInternals, internalsOf } from '../internal/internals.ts'

const NOW = Promise.resolve()

/**
 * Starts calls of a client at the end of the current tick, or when the client is closed before that, since a closed
 * client rejects calls.
 */
export function beginLater(client: object, begin: () => void): void {
  const internals = internalsOf(client)
  internals.deferred ??= new Set()
  const begins = internals.deferred
  begins.add(begin)
  void NOW.then(() => {
    if (begins.delete(begin)) begin()
  })
}

/** Starts the deferred calls. */
export function beginNow(client: object): void {
  const begins = findInternals(client)?.deferred
  if (begins === undefined) return
  const all = [...begins]
  begins.clear()
  for (const begin of all) begin()
}
