import type { Rule, Ruling } from '../../contracts/auth.ts'
import { toCanonicalPath } from '../../path/canonical.ts'

interface RankedRuling extends Ruling {
  readonly rank: number
}

const SLASH = 47
const DOT = 46
const NO_RULE_APPLIES: RankedRuling = {
  granted: false,
  rule: undefined,
  rank: Number.POSITIVE_INFINITY,
}

/** Evaluates the rules for a caller and a resource by endpoint. */
export class EndpointRules {
  /** By endpoint in lower case, without a trailing slash, since backends may not distinguish the two paths. */
  readonly #exact = new Map<string, RankedRuling>()
  /** By prefix, including the `/` or `.` before the `*`. */
  readonly #prefixes = new Map<string, RankedRuling>()
  readonly #all: RankedRuling

  /** @param rules in evaluation order. */
  constructor(rules: readonly Rule[]) {
    let all = NO_RULE_APPLIES
    for (const [rank, rule] of rules.entries()) {
      const ruling = { granted: rule.access === 'GRANTED', rule, rank }
      const { endpoint } = rule.resource
      if (endpoint === '*') {
        all = ruling
        break
      }
      const isPrefix = endpoint.endsWith('/*') || endpoint.endsWith('.*')
      const rulings = isPrefix ? this.#prefixes : this.#exact
      const name = toComparableName(isPrefix ? endpoint.slice(0, -1) : endpoint).toLowerCase()
      const key = isPrefix ? name : trim(name)
      if (!rulings.has(key)) rulings.set(key, ruling)
    }
    this.#all = all
  }

  /** @param endpoint canonical form, see {@link toComparableName}. */
  evaluate(endpoint: string): Ruling {
    if (this.#exact.size === 0 && this.#prefixes.size === 0) return this.#all
    const text = endpoint.toLowerCase()
    let first = this.#exact.get(trim(text)) ?? NO_RULE_APPLIES
    if (this.#prefixes.size > 0) {
      // `/a/*` also applies to `/a`, since backends may treat it as `/a/`.
      const path = text.startsWith('/') ? `${text}/` : text
      for (let i = 0; i < path.length; i++) {
        const code = path.charCodeAt(i)
        if (code !== SLASH && code !== DOT) continue
        const ruling = this.#prefixes.get(path.slice(0, i + 1))
        if (ruling !== undefined && ruling.rank < first.rank) first = ruling
      }
    }
    return first.rank < this.#all.rank ? first : this.#all
  }
}

/** Canonicalizes an endpoint for evaluation. */
export function toComparableName(endpoint: string): string {
  return endpoint.startsWith('/') ? toCanonicalPath(endpoint) : endpoint
}

function trim(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
}
