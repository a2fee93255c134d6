import { OTHER_ROUTES } from './route-counters.ts'

/** What happened between a gateway and the nodes of a service. */
export interface ServiceCounters {
  /** Requests and calls that were sent once more. */
  retries: number
  /** Times a node was left out after failures. */
  ejections: number
}

/** Most services told apart: callers may name some that no registry knows. */
const MAX = 1000

/** {@link ServiceCounters} by the full name of the service; what comes after the first 1000 is counted as one. */
export class ServiceTable {
  readonly #services = new Map<string, ServiceCounters>()

  of(service: string): ServiceCounters {
    const known = this.#services.get(service)
    if (known !== undefined) return known
    if (this.#services.size >= MAX && service !== OTHER_ROUTES) return this.of(OTHER_ROUTES)
    const counters = { retries: 0, ejections: 0 }
    this.#services.set(service, counters)
    return counters
  }

  entries(): Iterable<readonly [service: string, ServiceCounters]> {
    return this.#services
  }
}
