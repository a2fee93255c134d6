import type { Account, Resource, Rule, Ruling } from '../../contracts/auth.ts'
import { compareRules } from './compare-rules.ts'
import { EndpointRules } from './endpoint-rules.ts'

/** Kept before all are forgotten: names that may be called are few, callers that differ too. */
const REMEMBERED_MAX = 10_000

/** Scopes of rules that every account of the namespace is in. */
const GENERAL_SCOPES: ReadonlySet<string> = new Set(['', '*', '+'])

/** What rules tell accounts apart by. */
export type SubjectRules = Pick<Account, 'issuer' | 'scopes'>

/**
 * The rules of a namespace, one version of them, made ready for many calls (specification: Authentication 3 to 5).
 *
 * They are asked by priority, the highest first; of the same priority those that deny before those that grant, then by id.
 * The first that applies to caller and resource decides. None applies: denied.
 */
export class Policy {
  readonly #namespace: string
  /** In the order they are asked, by the name of their resource in lower case. */
  readonly #byName: ReadonlyMap<string, readonly RankedRule[]>
  readonly #everybody: Subject
  readonly #callers = new Map<string, Subject>()
  /** As above, of accounts that were asked about before: they do not change. */
  readonly #known = new WeakMap<SubjectRules, Subject>()

  constructor(namespace: string, rules: readonly Rule[]) {
    this.#namespace = namespace
    const byName = new Map<string, RankedRule[]>()
    for (const [rank, rule] of [...rules].sort(compareRules).entries()) {
      const name = rule.resource.name.toLowerCase()
      const ranked = byName.get(name)
      if (ranked === undefined) byName.set(name, [{ rule, rank }])
      else ranked.push({ rule, rank })
    }
    this.#byName = byName
    this.#everybody = new Subject(this, (scope) => scope === '')
  }

  /** What the rules tell `account` apart by; without one, everybody. Accounts they treat alike share one. */
  caller(account: SubjectRules | undefined): Subject {
    if (account === undefined) return this.#everybody
    let caller = this.#known.get(account)
    if (caller === undefined) {
      caller = this.#find(account)
      this.#known.set(account, caller)
    }
    return caller
  }

  /** The rules for a resource of this type and name, whatever its endpoint, in the order they are asked. */
  rulesFor(type: string, name: string): readonly Rule[] {
    const named = this.#byName.get(name.toLowerCase()) ?? []
    const general = name === '*' ? [] : (this.#byName.get('*') ?? [])
    const wanted = type.toLowerCase()
    return [...named, ...general]
      .filter(
        ({ rule }) => rule.resource.type === '*' || rule.resource.type.toLowerCase() === wanted,
      )
      .sort((a, b) => a.rank - b.rank)
      .map(({ rule }) => rule)
  }

  /**
   * The scope that an account lacks for a resource it is denied: that of the first rule which would grant it. Undefined if no
   * scope helps.
   */
  findMissingScope({ issuer, scopes }: SubjectRules, resource: Resource): string | undefined {
    if (issuer !== this.#namespace) return undefined
    const denied = new Set<string>()
    for (const rule of this.rulesFor(resource.type, resource.name)) {
      const { scope, access } = rule
      if (new EndpointRules([rule]).judge(resource.endpoint).rule === undefined) continue
      if (access === 'DENIED' && (GENERAL_SCOPES.has(scope) || scopes.includes(scope)))
        return undefined
      if (access === 'DENIED') denied.add(scope)
      else if (!denied.has(scope)) return scope
    }
    return undefined
  }

  #find({ issuer, scopes }: SubjectRules): Subject {
    const own = issuer === this.#namespace
    const key = own ? JSON.stringify([...new Set(scopes)].sort()) : ''
    let caller = this.#callers.get(key)
    if (caller === undefined) {
      if (this.#callers.size === REMEMBERED_MAX) this.#callers.clear()
      const held = new Set(scopes)
      caller = new Subject(
        this,
        (scope) => scope === '' || scope === '+' || (own && (scope === '*' || held.has(scope))),
      )
      this.#callers.set(key, caller)
    }
    return caller
  }
}

/** Callers that the rules of a {@link Policy} treat alike. */
export class Subject {
  readonly #book: Policy
  readonly #isIn: (scope: string) => boolean
  readonly #services = new Map<string, EndpointRules>()

  constructor(book: Policy, isIn: (scope: string) => boolean) {
    this.#book = book
    this.#isIn = isIn
  }

  /** @param endpoint `Handler.Method`, or the path of a plain HTTP request. */
  call(service: string, endpoint: string): Ruling {
    let rules = this.#services.get(service)
    if (rules === undefined) {
      if (this.#services.size === REMEMBERED_MAX) this.#services.clear()
      rules = this.#select('service', service)
      this.#services.set(service, rules)
    }
    return rules.judge(endpoint)
  }

  /** As {@link call}, for a resource of any type. */
  access(type: string, name: string, endpoint: string): Ruling {
    return this.#select(type, name).judge(endpoint)
  }

  #select(type: string, name: string): EndpointRules {
    return new EndpointRules(
      this.#book.rulesFor(type, name).filter(({ scope }) => this.#isIn(scope)),
    )
  }
}

interface RankedRule {
  readonly rule: Rule
  readonly rank: number
}
