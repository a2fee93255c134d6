import type { Traces } from '../tracing/traces.ts'

const known = new WeakMap<object, Traces>()

/** Remembers where a service, or a client, keeps what it does for others, out of reach of those who have it. */
export function setServiceTraces(owner: object, traces: Traces): void {
  known.set(owner, traces)
}

/** As it was remembered; undefined: nowhere. */
export function findServiceTraces(owner: object): Traces | undefined {
  return known.get(owner)
}
