import type { Account } from '../../core/contracts/auth.ts'
import type { RequestQuotas } from '../../core/contracts/request-quotas.ts'
import { GATEWAY_ID, GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import { definePlugin, type PluginDefinition, type PluginEnv } from '../../core/plugin/define.ts'
import { type Static, Type } from '../../core/schema.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import { createQuotaLeases, type QuotaDecision, type QuotaLeases } from './quota/quota-leases.ts'

const quotaSchema = Type.Object({
  name: Type.String({
    pattern: '^[a-z][a-z0-9-]{0,31}$',
    description:
      'Name of the quota in headers, errors and mx quota. Plugins with the same name and period share the count.',
  }),
  limit: Type.Integer({
    minimum: 1,
    maximum: 1_000_000_000_000,
    description: 'Number of requests per period.',
  }),
  period: Type.Union([Type.Literal('day'), Type.Literal('month')], {
    description: 'Day or month in UTC.',
  }),
  key: Type.Union([Type.Literal('account'), Type.Literal('api_key')], {
    default: 'account',
    description: 'Counts requests by account, or by api_key (callers without one: account).',
  }),
  batch: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 10_000,
      description:
        'Number of requests that a gateway process reserves in advance, which a crash may count in addition; default: a thousandth of limit, from 1 to 100.',
    }),
  ),
})

const options = Type.Object({
  rules: Type.Array(quotaSchema, {
    minItems: 1,
    maxItems: 20,
    description: 'All rules must allow a request.',
  }),
  outage: Type.Union([Type.Literal('reject'), Type.Literal('allow')], {
    default: 'reject',
    description: 'While requests cannot be counted: reject them with 503, or allow them uncounted.',
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

interface QuotaRule {
  readonly name: string
  readonly limit: number
  readonly period: 'day' | 'month'
  readonly byApiKey: boolean
  /** Item of `RateLimit-Policy`. */
  readonly policy: string
  readonly leases: QuotaLeases
}

interface CountedQuota {
  readonly rule: QuotaRule
  readonly limit: number
  readonly decision: QuotaDecision
}

const BATCH_MAX = 100
/** `w` of the policy. A month has no fixed length. */
const WINDOW_S = { day: 86_400, month: 30 * 86_400 } as const

/**
 * Limits the requests of an account or API key per day or month. The `auth` service stores the counts for all gateways.
 * Anonymous requests are not counted.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'quota',
  description: 'Limits the number of requests per account or API key in a day or month.',
  options,
  create({ rules, outage, headers, legacy_headers: hasLegacyHeaders }, env) {
    const { authorizer } = env
    const quotas = authorizer?.requestQuotas
    if (quotas === undefined)
      throw new TypeError(
        'the plugin quota needs a server that stores the counts: set --auth=mx://host:port',
      )
    const names = rules.map(({ name }) => name)
    const duplicate = names.find((name, i) => names.indexOf(name) < i)
    if (duplicate !== undefined) throw new TypeError(`rules: duplicate name ${duplicate}`)
    const compiled = rules.map((rule) => compileQuota(rule, quotas, env))
    const state = Symbol('quota')

    function admit(x: Exchange, account: Account, counted: CountedQuota[]): Maybe<void> {
      for (let i = counted.length; i < compiled.length; i++) {
        const rule = compiled[i]!
        const decision = takeOrPass(x, account, rule)
        if (decision instanceof Promise)
          return decision.then((late) => {
            settle(counted, rule, x, late)
            return admit(x, account, counted)
          })
        settle(counted, rule, x, decision)
      }
    }

    function takeOrPass(x: Exchange, account: Account, rule: QuotaRule): Maybe<QuotaDecision> {
      if (outage === 'reject') return take(x, account, rule)
      try {
        const decision = take(x, account, rule)
        return decision instanceof Promise ? decision.catch(() => UNCOUNTED) : decision
      } catch {
        return UNCOUNTED
      }
    }

    function settle(
      counted: CountedQuota[],
      rule: QuotaRule,
      x: Exchange,
      decision: QuotaDecision,
    ): void {
      const limit = findLimit(x, rule)
      counted.push({ rule, limit, decision })
      if (decision.isAllowed) return
      for (const { rule, decision } of counted) rule.leases.refund(decision)
      throw toError(rule, limit, decision)
    }

    return {
      onRoute(x) {
        const { account } = x
        if (account === undefined) return
        const counted: CountedQuota[] = []
        x.state.set(state, counted)
        return admit(x, account, counted)
      },

      ...((headers || hasLegacyHeaders) && {
        onReply(x: Exchange) {
          const all = x.state.get(state) as readonly CountedQuota[] | undefined
          const counted = all?.filter(({ decision }) => decision !== UNCOUNTED) ?? []
          if (counted.length === 0) return
          if (headers) appendHeaders(x, counted)
          if (hasLegacyHeaders) setLegacyHeaders(x, counted)
        },
      }),

      async close() {
        await Promise.all(compiled.map(({ leases }) => leases.close()))
      },
    }
  },
})

export default plugin

/** Decision during an outage. */
const UNCOUNTED: QuotaDecision = { isAllowed: true, remaining: 0, resetMs: 0, lease: undefined }

function compileQuota(
  rule: Static<typeof quotaSchema>,
  quotas: RequestQuotas,
  { log, nowMs }: PluginEnv,
): QuotaRule {
  const { name, limit, period, key } = rule
  const { batch = Math.min(BATCH_MAX, Math.max(1, Math.floor(limit / 1000))) } = rule
  return {
    ...{ name, limit, period, byApiKey: key === 'api_key' },
    policy: `;w=${WINDOW_S[period]}`,
    leases: createQuotaLeases({ quotas, batch, log, nowMs }),
  }
}

function take(x: Exchange, account: Account, rule: QuotaRule): Maybe<QuotaDecision> {
  const { name: quota, period, byApiKey, leases } = rule
  const { issuer: namespace, id } = account
  const apiKey = byApiKey ? (account.apiKey ?? '') : ''
  const key = apiKey === '' ? `${namespace}/${id}` : apiKey
  const toCounter = () => ({ quota, period, namespace, account: id, apiKey })
  return leases.take(key, toCounter, findLimit(x, rule))
}

/** Limits of an API key only reduce the limit, because its owner chooses them. */
function findLimit({ session }: Exchange, { limit, period, byApiKey }: QuotaRule): number {
  const keyLimit = byApiKey ? session?.limits?.[period] : undefined
  return keyLimit === undefined ? limit : Math.min(limit, keyLimit)
}

function toSeconds(ms: number): number {
  return Math.ceil(ms / 1000)
}

/** Creates the 429 error (RFC 6585 §4) with `Retry-After` in seconds. */
function toError({ name, period }: QuotaRule, limit: number, { resetMs }: QuotaDecision) {
  const seconds = toSeconds(resetMs)
  return new GatewayError(
    GATEWAY_ID,
    429,
    `quota ${name} exceeded: ${limit} requests per ${period}; retry in ${seconds} s`,
    { headers: ['retry-after', String(seconds)], repeatable: false },
  )
}

/** Adds the headers of draft-ietf-httpapi-ratelimit-headers-10, like `rate-limit`. */
function appendHeaders({ replyHeaders }: Exchange, counted: readonly CountedQuota[]): void {
  const policies = counted.map(({ rule, limit }) => `"${rule.name}";q=${limit}${rule.policy}`)
  replyHeaders.append('RateLimit-Policy', policies.join(', '))
  const limits = counted.map(({ rule, decision }) => {
    return `"${rule.name}";r=${decision.remaining};t=${toSeconds(decision.resetMs)}`
  })
  replyHeaders.append('RateLimit', limits.join(', '))
}

function setLegacyHeaders({ replyHeaders }: Exchange, counted: readonly CountedQuota[]): void {
  const { limit, decision } = counted.reduce((least, next) =>
    next.decision.remaining < least.decision.remaining ? next : least,
  )
  replyHeaders.set('X-RateLimit-Limit', String(limit))
  replyHeaders.set('X-RateLimit-Remaining', String(decision.remaining))
  replyHeaders.set('X-RateLimit-Reset', String(toSeconds(decision.resetMs)))
}
