import { type ClassifiedAddress, classify } from './allow-list.ts'
import type { EgressTarget } from './target.ts'

/** Whether a connection to an address and port reaches one of the listeners. */
export function isListener(
  { text, kind }: ClassifiedAddress,
  port: number,
  listeners: readonly EgressTarget[],
): boolean {
  const isLocal = kind === 'loopback' || kind === 'this server'
  return listeners.some((listener) => {
    if (listener.port !== port) return false
    const bound = classify(listener.host)
    // A name such as localhost, or all interfaces.
    if (bound === undefined || bound.kind === 'unspecified') return isLocal
    return bound.text === text
  })
}
