/** What a signal gives up. */
export interface Abortable {
  onAbort(reason: unknown): void
}

const watched = new WeakMap<AbortSignal, Set<Abortable>>()

/**
 * Tells `abortable` when a signal aborts that has not yet.
 *
 * However many there are, the signal has one listener: a handler may make many calls with its signal, and Node.js warns of a
 * leak from the eleventh on.
 */
export function watchAbort(signal: AbortSignal, abortable: Abortable): void {
  const before = watched.get(signal)
  if (before !== undefined) {
    before.add(abortable)
    return
  }
  watched.set(signal, new Set([abortable]))
  signal.addEventListener('abort', onAbort)
}

/** The last one takes the listener with it. */
export function unwatchAbort(signal: AbortSignal, abortable: Abortable): void {
  const all = watched.get(signal)
  if (!all?.delete(abortable) || all.size > 0) return
  watched.delete(signal)
  signal.removeEventListener('abort', onAbort)
}

function onAbort({ target }: Event): void {
  const signal = target as AbortSignal
  const all = watched.get(signal) ?? []
  watched.delete(signal)
  for (const abortable of [...all]) abortable.onAbort(signal.reason)
}
