import { GatewayError } from '../errors.ts'
import { DEFAULT_DOMAIN } from '../registry/service.ts'

/**
 * Limits the number of concurrent uses, such as watchers, across namespaces. A namespace may use only as many slots as
 * remain free, so that no namespace can exclude other namespaces. The default namespace of gateways and operators may
 * use all slots.
 */
export class SharedPlaces {
  readonly #max: number
  readonly #label: string
  readonly #counts = new Map<string, number>()
  #used = 0

  /** @param label plural noun for errors: `watchers`. */
  constructor(max: number, what: string) {
    this.#max = max
    this.#label = what
  }

  /**
   * Acquires a slot.
   *
   * @param namespace empty for anonymous callers, which count as one namespace.
   * @param id error id.
   * @returns function that releases the slot; further calls have no effect.
   * @throws {GatewayError} 429 if the limit is reached.
   */
  enter(namespace: string, id: string): () => void {
    const count = this.#counts.get(namespace) ?? 0
    const free = this.#max - this.#used
    if (free <= 0) throw new GatewayError(id, 429, `limit of ${this.#max} ${this.#label} reached`)
    if (namespace !== DEFAULT_DOMAIN && count >= free) {
      const holder = namespace === '' ? 'anonymous callers' : `namespace ${namespace}`
      throw new GatewayError(id, 429, `too many ${this.#label} for ${holder}: ${count}`)
    }
    this.#used++
    this.#counts.set(namespace, count + 1)
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      this.#used--
      const remaining = this.#counts.get(namespace)! - 1
      if (remaining === 0) this.#counts.delete(namespace)
      else this.#counts.set(namespace, remaining)
    }
  }
}
