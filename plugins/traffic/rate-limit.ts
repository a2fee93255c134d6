import { GATEWAY_ID, GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import { definePlugin, type PluginDefinition, type PluginLog } from '../../core/plugin/define.ts'
import { type Static, Type } from '../../core/schema.ts'
import { parseDuration } from '../../lib/text/units.ts'
import {
  createRateLimiter,
  type RateDecision,
  type RateLimiter,
} from './rate-limit/rate-limiter.ts'
import { compileKey, needsAccount, type ToKey } from './rate-limit/request-key.ts'

const ruleSchema = Type.Object({
  name: Type.String({
    pattern: '^[a-z][a-z0-9-]{0,31}$',
    description: 'Name of the rule in headers, errors and logs.',
  }),
  key: Type.Array(Type.String(), {
    default: ['ip'],
    minItems: 1,
    maxItems: 5,
    description:
      'Counts requests by ip (IPv6: /64 network), account (anonymous callers: ip), api_key (callers without one: account), path, host, method, header:<name>, or a combination.',
  }),
  limit: Type.Integer({
    minimum: 1,
    maximum: 1_000_000_000,
    description: 'Number of requests per window.',
  }),
  window: Type.String({ default: '1m', description: 'Duration of the window, at most 30d.' }),
  burst: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000_000,
      description: 'Number of requests that a client may send at once; default: limit.',
    }),
  ),
  cost: Type.Integer({
    default: 1,
    minimum: 1,
    maximum: 1_000_000,
    description: 'Number of requests that one request counts as; at most burst.',
  }),
  methods: Type.Array(Type.String(), {
    default: [],
    description: 'Methods of the requests that count; all if empty.',
  }),
  shadow: Type.Boolean({
    default: false,
    description: 'Only log how many requests would have been rejected.',
  }),
})

const options = Type.Object({
  rules: Type.Array(ruleSchema, {
    minItems: 1,
    maxItems: 20,
    description: 'All rules that apply to a request must allow it.',
  }),
  max_keys: Type.Integer({
    default: 100_000,
    minimum: 1,
    maximum: 10_000_000,
    description:
      'Maximum number of keys per rule, about 200 bytes each. Above it, the least recently used key is evicted.',
  }),
  headers: Type.Boolean({
    default: true,
    description: 'Send RateLimit-Policy and RateLimit with every response.',
  }),
  legacy_headers: Type.Boolean({
    default: false,
    description:
      'Send X-RateLimit-Limit, X-RateLimit-Remaining and X-RateLimit-Reset (seconds) of the rule with the fewest remaining requests.',
  }),
})

interface Rule {
  readonly name: string
  readonly limit: number
  readonly windowMs: number
  readonly cost: number
  readonly toKey: ToKey
  readonly needsAccount: boolean
  readonly methods: ReadonlySet<string>
  readonly limiter: RateLimiter
  /** Item of `RateLimit-Policy`. */
  readonly policy: string
  /** Undefined if requests are rejected. */
  readonly shadow: ShadowLog | undefined
}

interface Counted {
  readonly rule: Rule
  readonly decision: RateDecision
}

/** Maximum length of a window, since counters are in memory and lost on restart. */
const WINDOW_MAX_MS = 30 * 86_400_000
/** Interval between log entries of a shadow rule, in milliseconds. */
const SHADOW_LOG_MS = 10_000

/**
 * Limits the rate of requests. Each process counts separately. Rules by account or API key run after authentication, all others
 * when the request arrives.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'rate-limit',
  description: 'Limits the number of requests per client, account or header value.',
  options,
  create({ rules, max_keys: maxKeys, headers, legacy_headers: hasLegacyHeaders }, { log }) {
    const compiled = rules.map((rule) => compileRule(rule, maxKeys, log))
    const names = compiled.map(({ name }) => name)
    const duplicate = names.find((name, i) => names.indexOf(name) < i)
    if (duplicate !== undefined) throw new TypeError(`rules: duplicate name ${duplicate}`)
    const early = compiled.filter((rule) => !rule.needsAccount)
    const late = compiled.filter((rule) => rule.needsAccount)
    const sendsHeaders = headers || hasLegacyHeaders
    const state = Symbol('rate-limit')

    function count(x: Exchange, applied: readonly Rule[]): void {
      for (const rule of applied) {
        if (rule.methods.size > 0 && !rule.methods.has(x.method)) continue
        const decision = rule.limiter.take(rule.toKey(x), rule.cost, x.startMs)
        if (sendsHeaders && rule.shadow === undefined) {
          const counted = x.state.get(state) as Counted[] | undefined
          if (counted === undefined) x.state.set(state, [{ rule, decision }])
          else counted.push({ rule, decision })
        }
        if (decision.isAllowed) continue
        if (rule.shadow === undefined) throw toError(rule, decision)
        rule.shadow.count(x.startMs)
      }
    }

    return {
      ...(early.length > 0 && { onRequest: (x) => count(x, early) }),
      ...(late.length > 0 && { onRoute: (x) => count(x, late) }),
      ...(sendsHeaders && {
        onReply(x) {
          const counted = x.state.get(state) as readonly Counted[] | undefined
          if (counted === undefined) return
          if (headers) appendHeaders(x, counted)
          if (hasLegacyHeaders) setLegacyHeaders(x, counted)
        },
      }),
    }
  },
})

export default plugin

function compileRule(rule: Static<typeof ruleSchema>, maxKeys: number, log: PluginLog): Rule {
  const { name, limit, burst = limit, cost, key, methods, shadow } = rule
  try {
    if (cost > burst) throw new RangeError(`cost must be at most burst (${burst}), got ${cost}`)
    const windowMs = parseWindow(rule.window)
    return {
      ...{ name, limit, windowMs, cost },
      toKey: compileKey(key),
      needsAccount: needsAccount(key),
      methods: toMethods(methods),
      limiter: createRateLimiter({ limit, windowMs, burst, maxKeys }),
      policy: `"${name}";q=${limit};w=${Math.ceil(windowMs / 1000)}`,
      shadow: shadow ? new ShadowLog(name, log) : undefined,
    }
  } catch (error) {
    throw new TypeError(`rule ${name}: ${(error as Error).message}`, { cause: error })
  }
}

/** `GET` includes `HEAD`, as in routes. */
function toMethods(names: readonly string[]): ReadonlySet<string> {
  const methods = new Set(names.map((name) => name.toUpperCase()))
  return methods.has('GET') ? methods.add('HEAD') : methods
}

function parseWindow(text: string): number {
  let ms: number
  try {
    ms = parseDuration(text)
  } catch (error) {
    throw new RangeError(`window ${(error as Error).message}`, { cause: error })
  }
  if (ms >= 1000 && ms <= WINDOW_MAX_MS) return ms
  throw new RangeError(`window must be from 1s to 30d, got ${text}`)
}

/** Rounds up to seconds. Sums of monotonic times are off by less than a microsecond. */
function toSeconds(ms: number): number {
  return Math.ceil((ms - 1e-3) / 1000)
}

/** Creates the 429 error (RFC 6585 §4) with `Retry-After` in seconds. */
function toError({ name, limit, windowMs }: Rule, { retryMs }: RateDecision): GatewayError {
  const seconds = toSeconds(retryMs)
  return new GatewayError(
    GATEWAY_ID,
    429,
    `rate limit ${name} exceeded: ${limit} requests per ${windowMs / 1000} s; retry in ${seconds} s`,
    { headers: ['retry-after', String(seconds)], repeatable: false },
  )
}

/** Adds the headers of draft-ietf-httpapi-ratelimit-headers-10: `"name";q=100;w=60` and `"name";r=99;t=1`. */
function appendHeaders({ replyHeaders }: Exchange, counted: readonly Counted[]): void {
  replyHeaders.append('RateLimit-Policy', counted.map(({ rule }) => rule.policy).join(', '))
  const limits = counted.map(({ rule, decision }) => {
    return `"${rule.name}";r=${decision.remaining};t=${toSeconds(decision.resetMs)}`
  })
  replyHeaders.append('RateLimit', limits.join(', '))
}

function setLegacyHeaders({ replyHeaders }: Exchange, counted: readonly Counted[]): void {
  const { rule, decision } = counted.reduce((least, next) =>
    next.decision.remaining < least.decision.remaining ? next : least,
  )
  replyHeaders.set('X-RateLimit-Limit', String(rule.limit))
  replyHeaders.set('X-RateLimit-Remaining', String(decision.remaining))
  replyHeaders.set('X-RateLimit-Reset', String(toSeconds(decision.resetMs)))
}

/** Counts requests that a shadow rule would have rejected; at most one log entry per {@link SHADOW_LOG_MS}. */
class ShadowLog {
  readonly #rule: string
  readonly #log: PluginLog
  #requests = 0
  #nextLogMs = 0

  constructor(rule: string, log: PluginLog) {
    this.#rule = rule
    this.#log = log
  }

  count(nowMs: number): void {
    this.#requests++
    if (nowMs < this.#nextLogMs) return
    this.#nextLogMs = nowMs + SHADOW_LOG_MS
    const details = { rule: this.#rule, requests: this.#requests }
    this.#requests = 0
    this.#log.warn(details, 'rate limit exceeded; not rejected, because the rule is a shadow rule')
  }
}
