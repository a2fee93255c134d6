import { OTHER_ROUTES } from './route-counters.ts'

/** Counters of upstream attempts of a service. */
export interface ServiceCounters {
  retries: number
  /** Nodes removed from load balancing after failures. */
  ejections: number
  /** Requests shed by a concurrency limit or by the event-loop delay. */
  overflows: number
}

/** Maximum number of services, since callers may name unregistered ones. */
const MAX = 1000

/** {@link ServiceCounters} by service label. Services after the first 1000 share one counter. */
export class ServiceTable {
  readonly #services = new Map<string, ServiceCounters>()

  of(service: string): ServiceCounters {
    const before = this.#services.get(service)
    if (before !== undefined) return before
    if (this.#services.size >= MAX && service !== OTHER_ROUTES) return this.of(OTHER_ROUTES)
    const counters = { retries: 0, ejections: 0, overflows: 0 }
    this.#services.set(service, counters)
    return counters
  }

  entries(): Iterable<readonly [service: string, ServiceCounters]> {
    return this.#services
  }
}
