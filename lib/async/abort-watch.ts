export interface Abortable {
  onAbort(reason: unknown): void
}

const watched = new WeakMap<AbortSignal, Set<Abortable>>()

/**
 * Notifies `abortable` when a signal aborts.
 *
 * All watchers share one listener per signal: a handler may make many calls with its signal, and Node.js warns about a
 * leak above ten listeners.
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

/** Removes the listener together with the last `abortable`. */
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
