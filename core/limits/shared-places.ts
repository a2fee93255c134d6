import { GatewayError } from '../errors.ts'
import { DEFAULT_DOMAIN } from '../registry/service.ts'

/**
 * Places that namespaces share, such as those of watchers. A namespace leaves as many places free as it takes, so that none keeps the others
 * out; the default one, that of gateways and operators, may take all.
 */
export class SharedPlaces {
  readonly #max: number
  readonly #what: string
  readonly #counts = new Map<string, number>()
  #used = 0

  /** @param what has the places, for errors: `watchers`. */
  constructor(max: number, what: string) {
    this.#max = max
    this.#what = what
  }

  /**
   * Takes a place.
   *
   * @param namespace empty for anonymous callers, which count as one namespace.
   * @param id of the error.
   * @returns gives the place back; further calls have no effect.
   * @throws {GatewayError} 429
   */
  enter(namespace: string, id: string): () => void {
    const count = this.#counts.get(namespace) ?? 0
    const free = this.#max - this.#used
    if (free <= 0) throw new GatewayError(id, 429, `there are ${this.#max} ${this.#what} already`)
    if (namespace !== DEFAULT_DOMAIN && count >= free) {
      const who = namespace === '' ? 'anonymous callers' : `namespace ${namespace}`
      throw new GatewayError(id, 429, `too many ${this.#what} of ${who}: ${count}`)
    }
    this.#used++
    this.#counts.set(namespace, count + 1)
    let isIn = true
    return () => {
      if (!isIn) return
      isIn = false
      this.#used--
      const left = this.#counts.get(namespace)! - 1
      if (left === 0) this.#counts.delete(namespace)
      else this.#counts.set(namespace, left)
    }
  }
}
