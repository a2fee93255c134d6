import type { Rule, Ruling } from '../../contracts/auth.ts'
import { toCanonicalPath } from '../../path/canonical.ts'

interface Placed extends Ruling {
  readonly place: number
}

const SLASH = 47
const DOT = 46
const NONE_APPLIES: Placed = { granted: false, rule: undefined, place: Number.POSITIVE_INFINITY }

/** The rules that apply to a caller and a resource's type and name: what is left is the endpoint. */
export class EndpointRules {
  /** By what they name, in lower case, without a slash at the end: which of two such paths a backend means is not known. */
  readonly #exact = new Map<string, Placed>()
  /** By what they name, up to the `/` or `.` before the `*`. */
  readonly #beginnings = new Map<string, Placed>()
  readonly #all: Placed

  /** @param rules in the order they are asked. */
  constructor(rules: readonly Rule[]) {
    let all = NONE_APPLIES
    for (const [place, rule] of rules.entries()) {
      const ruling = { granted: rule.access === 'GRANTED', rule, place }
      const { endpoint } = rule.resource
      if (endpoint === '*') {
        all = ruling
        break
      }
      const isBeginning = endpoint.endsWith('/*') || endpoint.endsWith('.*')
      const rulings = isBeginning ? this.#beginnings : this.#exact
      const name = toJudged(isBeginning ? endpoint.slice(0, -1) : endpoint).toLowerCase()
      const key = isBeginning ? name : trim(name)
      if (!rulings.has(key)) rulings.set(key, ruling)
    }
    this.#all = all
  }

  /** @param endpoint as {@link toJudged} has it. */
  judge(endpoint: string): Ruling {
    if (this.#exact.size === 0 && this.#beginnings.size === 0) return this.#all
    const text = endpoint.toLowerCase()
    let first = this.#exact.get(trim(text)) ?? NONE_APPLIES
    if (this.#beginnings.size > 0)
      for (let i = 0; i < text.length; i++) {
        const code = text.charCodeAt(i)
        if (code !== SLASH && code !== DOT) continue
        const ruling = this.#beginnings.get(text.slice(0, i + 1))
        if (ruling !== undefined && ruling.place < first.place) first = ruling
      }
    return first.place < this.#all.place ? first : this.#all
  }
}

/** The form in which endpoints are judged, of one as people write it. */
export function toJudged(endpoint: string): string {
  return endpoint.startsWith('/') ? toCanonicalPath(endpoint) : endpoint
}

function trim(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
}
