import type { Account, Resource, Rule, Ruling } from '../../contracts/auth.ts'
import { compareRules } from './compare-rules.ts'
import { EndpointRules } from './endpoint-rules.ts'

/** Size at which the cache is cleared; there are few services and distinct callers. */
const CACHE_MAX = 10_000

/** Rule scopes that include every account of the namespace. */
const GENERAL_SCOPES: ReadonlySet<string> = new Set(['', '*', '+'])

/** Account fields that are evaluated by rules. */
export type SubjectRules = Pick<Account, 'issuer' | 'scopes'>

/**
 * A version of a namespace's rules, prepared for many calls (specification: Authentication 3 to 5).
 *
 * Rules are evaluated by priority, highest first, then DENIED before GRANTED, then by id. The first match decides.
 * Access is denied if no rule matches.
 */
export class Policy {
  readonly #namespace: string
  /** In evaluation order, by resource name in lower case. */
  readonly #byName: ReadonlyMap<string, readonly RankedRule[]>
  readonly #anonymous: Subject
  readonly #callers = new Map<string, Subject>()
  /** Cache by account object; account objects are immutable. */
  readonly #byAccount = new WeakMap<SubjectRules, Subject>()

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
    this.#anonymous = new Subject(this, (scope) => scope === '')
  }

  /** Returns the subject for an account or anonymous callers. Equivalent accounts share a subject. */
  caller(account: SubjectRules | undefined): Subject {
    if (account === undefined) return this.#anonymous
    let caller = this.#byAccount.get(account)
    if (caller === undefined) {
      caller = this.#find(account)
      this.#byAccount.set(account, caller)
    }
    return caller
  }

  /** Returns the rules for a resource type and name and any endpoint, in evaluation order. */
  rulesFor(type: string, name: string): readonly Rule[] {
    const specific = this.#byName.get(name.toLowerCase()) ?? []
    const general = name === '*' ? [] : (this.#byName.get('*') ?? [])
    const resourceType = type.toLowerCase()
    return [...specific, ...general]
      .filter(
        ({ rule }) =>
          rule.resource.type === '*' || rule.resource.type.toLowerCase() === resourceType,
      )
      .sort((a, b) => a.rank - b.rank)
      .map(({ rule }) => rule)
  }

  /**
   * Returns the scope that an account lacks for a denied resource, from the first rule that would grant access, or
   * undefined if no scope helps.
   */
  findMissingScope({ issuer, scopes }: SubjectRules, resource: Resource): string | undefined {
    if (issuer !== this.#namespace) return undefined
    const denied = new Set<string>()
    for (const rule of this.rulesFor(resource.type, resource.name)) {
      const { scope, access } = rule
      if (new EndpointRules([rule]).evaluate(resource.endpoint).rule === undefined) continue
      if (access === 'DENIED' && (GENERAL_SCOPES.has(scope) || scopes.includes(scope)))
        return undefined
      if (access === 'DENIED') denied.add(scope)
      else if (!denied.has(scope)) return scope
    }
    return undefined
  }

  #find({ issuer, scopes }: SubjectRules): Subject {
    const isLocal = issuer === this.#namespace
    const key = isLocal ? JSON.stringify([...new Set(scopes)].sort()) : ''
    let caller = this.#callers.get(key)
    if (caller === undefined) {
      if (this.#callers.size === CACHE_MAX) this.#callers.clear()
      const accountScopes = new Set(scopes)
      caller = new Subject(
        this,
        (scope) =>
          scope === '' || scope === '+' || (isLocal && (scope === '*' || accountScopes.has(scope))),
      )
      this.#callers.set(key, caller)
    }
    return caller
  }
}

/** Callers that share the same rules. */
export class Subject {
  readonly #policy: Policy
  readonly #hasScope: (scope: string) => boolean
  readonly #services = new Map<string, EndpointRules>()

  constructor(policy: Policy, hasScope: (scope: string) => boolean) {
    this.#policy = policy
    this.#hasScope = hasScope
  }

  /**
   * Evaluates the rules for a call.
   *
   * @param endpoint `Handler.Method`, or the path of a plain HTTP request.
   */
  call(service: string, endpoint: string): Ruling {
    let rules = this.#services.get(service)
    if (rules === undefined) {
      if (this.#services.size === CACHE_MAX) this.#services.clear()
      rules = this.#select('service', service)
      this.#services.set(service, rules)
    }
    return rules.evaluate(endpoint)
  }

  /** Like {@link call}, for resources of any type. */
  access(type: string, name: string, endpoint: string): Ruling {
    return this.#select(type, name).evaluate(endpoint)
  }

  #select(type: string, name: string): EndpointRules {
    return new EndpointRules(
      this.#policy.rulesFor(type, name).filter(({ scope }) => this.#hasScope(scope)),
    )
  }
}

interface RankedRule {
  readonly rule: Rule
  readonly rank: number
}
