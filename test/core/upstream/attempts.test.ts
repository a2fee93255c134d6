import t, { type Test } from 'tap'
import {
  type Attempts,
  beginAttempt,
  endAttempt,
  mayRace,
  mayRetry,
  mayRetryStatus,
  pickNode,
  recordFailure,
  recordStatus,
} from '../../../core/upstream/attempts.ts'
import { DEFAULT_BREAKER } from '../../../core/upstream/health/breaker.ts'
import { DEFAULT_POLICIES } from '../../../core/upstream/policies/policies.ts'
import { DEFAULT_RETRY, NO_RETRY } from '../../../core/upstream/retry/retry-options.ts'
import { Upstream } from '../../../core/upstream/upstream.ts'
import type { UpstreamOptions } from '../../../core/upstream/upstream-options.ts'
import { createPools, makeNode, makeService } from '../../fixtures/services.ts'

const NODES = Array.from({ length: 30 }, (_, i) => makeNode(`127.0.0.1:${9001 + i}`))

function open(t: Test, nodes: number, options: Partial<UpstreamOptions> = {}) {
  const upstream = new Upstream('greeter', { createPool: createPools().createPool, ...options })
  t.teardown(() => upstream.close())
  const show = (from: number, to: number) =>
    upstream.update([makeService('greeter', NODES.slice(from, to))])
  show(0, nodes)
  const request: Attempts = {
    ...{ upstream, node: undefined, attempts: 0, tried: undefined, inFlight: false },
    ...{ attemptStartMs: 0, routeName: '/a', isAwaited: false, isRetrying: false },
  }
  const startAttempt = (): string => {
    const node = pickNode(request, undefined)
    if (node === undefined) return 'none'
    beginAttempt(request, node)
    return node.id
  }
  const fail = (failure: Parameters<typeof recordFailure>[1], isRepeatable = false): boolean => {
    recordFailure(request, failure)
    endAttempt(request)
    return mayRetry(request, failure, isRepeatable)
  }
  return { upstream, request, show, startAttempt, fail }
}

t.test(
  'an unsent request is tried on five nodes, or on 20 that reject the connection immediately',
  async (t) => {
    for (const failure of ['connect', 'unsent'] as const) {
      const threeNodes = open(t, 3)
      const ids = new Set<string>()
      do ids.add(threeNodes.startAttempt())
      while (threeNodes.fail(failure))
      t.equal(ids.size, 3, failure)
      t.equal(threeNodes.startAttempt(), 'none')
      const thirtyNodes = open(t, 30)
      do thirtyNodes.startAttempt()
      while (thirtyNodes.fail(failure))
      t.equal(thirtyNodes.request.attempts, failure === 'connect' ? 20 : 5, failure)
      const slow = open(t, 8)
      do {
        slow.startAttempt()
        slow.request.attemptStartMs -= 1000
      } while (slow.fail(failure))
      t.equal(slow.request.attempts, 5, `late ${failure}`)
    }
  },
)

t.test('a node added during the retries is tried', async (t) => {
  const { startAttempt, fail, show } = open(t, 1)
  startAttempt()
  t.equal(fail('connect'), false)
  show(1, 2)
  t.equal(startAttempt(), NODES[1]!.id)
})

t.test('a lost request is retried once on another node if it is repeatable', async (t) => {
  const single = open(t, 1)
  single.startAttempt()
  t.equal(single.fail('reset', true), false, 'no other node')
  const { startAttempt, fail } = open(t, 3)
  const first = startAttempt()
  t.equal(fail('reset', false), false, 'it may have been processed')
  t.equal(fail('reset', true), true)
  t.not(startAttempt(), first)
  t.equal(fail('reset', true), false, 'the second attempt')
})

t.test(
  'a repeatable request lost with a reused connection is retried on the same node',
  async (t) => {
    const { startAttempt, fail } = open(t, 1)
    const first = startAttempt()
    t.equal(fail('stale', false), false)
    t.equal(fail('stale', true), true)
    t.equal(startAttempt(), first)
    t.equal(fail('stale', true), false, 'the second attempt')
  },
)

t.test('late and malformed responses are not retried', async (t) => {
  for (const failure of ['gateway', 'neutral'] as const) {
    const { startAttempt, fail } = open(t, 2)
    startAttempt()
    t.equal(fail(failure, true), false, failure)
  }
})

t.test(
  'responses from 502 to 504 are retried on another node, unless the node requests a delay',
  async (t) => {
    const { startAttempt, request } = open(t, 2)
    const first = startAttempt()
    t.equal(mayRetryStatus(request, 500), false)
    t.equal(mayRetryStatus(request, 503, 1000), false)
    t.equal(mayRetryStatus(request, 503, 200), true)
    endAttempt(request, false)
    t.not(startAttempt(), first)
    t.equal(mayRetryStatus(request, 503), false, 'the second attempt')
    const single = open(t, 1)
    single.startAttempt()
    t.equal(mayRetryStatus(single.request, 503), false, 'no other node')
  },
)

t.test('without retries, an unsent request is not sent again either', async (t) => {
  const retry = { ...DEFAULT_RETRY, ...NO_RETRY }
  const { startAttempt, fail } = open(t, 2, { policies: { ...DEFAULT_POLICIES, retry } })
  startAttempt()
  t.equal(fail('connect'), false)
})

t.test('a hedged request needs another node and room in the retry budget', async (t) => {
  const single = open(t, 1)
  single.startAttempt()
  t.equal(mayRace({ ...single.request, tried: [...single.upstream.nodes] }), false)
  const { startAttempt, request } = open(t, 2)
  startAttempt()
  const hedges = Array.from({ length: 4 }, () => ({ ...request, tried: [request.node!] }))
  t.strictSame(hedges.map(mayRace), [true, true, true, false])
})

t.test('counts each attempt once as in flight', async (t) => {
  let retries = 0
  const { startAttempt, request } = open(t, 1, { onRetry: () => retries++ })
  startAttempt()
  t.equal(request.node!.active, 1)
  endAttempt(request)
  endAttempt(request)
  t.equal(request.node!.active, 0)
  startAttempt()
  t.strictSame([request.attempts, retries, request.node!.active], [2, 1, 1])
})

t.test('outlier detection counts connect, reset and gateway failures only', async (t) => {
  const rows = [
    ['connect', 1],
    ['reset', 1],
    ['gateway', 1],
    ['unsent', 0],
    ['stale', 0],
    ['neutral', 0],
  ] as const
  for (const [failure, failures] of rows) {
    const { startAttempt, fail, request } = open(t, 1)
    startAttempt()
    fail(failure)
    t.equal(request.node!.failures.consecutive, failures, failure)
    recordFailure(request, failure, false)
    t.equal(request.node!.failures.consecutive, failures, 'counted for another request')
  }
})

t.test('responses from 500 on count as failures, 502 to 504 as gateway errors', async (t) => {
  const { startAttempt, request } = open(t, 1)
  startAttempt()
  for (const [status, consecutive, gatewayErrors] of [
    [502, 1, 1],
    [503, 2, 2],
    [500, 3, 0],
    [504, 4, 1],
    [404, 0, 0],
  ] as const) {
    recordStatus(request, status)
    const { failures } = request.node!
    t.strictSame(
      [failures.consecutive, failures.consecutiveGatewayErrors],
      [consecutive, gatewayErrors],
      `${status}`,
    )
  }
})

t.test('a circuit breaker replaces a trial request that ends without a result', async (t) => {
  let nowMs = 1
  const breaker = { ...DEFAULT_BREAKER, minRequests: 1, halfOpen: 1 }
  const policies = { ...DEFAULT_POLICIES, breaker }
  const { startAttempt, request, upstream } = open(t, 1, { policies, nowMs: () => nowMs })
  const end = (record?: () => void): void => {
    record?.()
    endAttempt(request)
  }
  startAttempt()
  end(() => recordStatus(request, 500))
  t.equal(startAttempt(), 'none', 'the circuit breaker is open')
  nowMs += breaker.openMs
  t.equal(startAttempt(), '127.0.0.1:9001', 'no second trial at the same time')
  t.equal(startAttempt(), 'none', 'a second trial at the same time')
  end()
  for (const failure of ['stale', 'unsent', 'neutral'] as const) {
    t.equal(startAttempt(), '127.0.0.1:9001', failure)
    end(() => recordFailure(request, failure))
    request.tried = undefined
  }
  startAttempt()
  end(() => recordStatus(request, 200))
  t.equal(upstream.openForMs, 0)
})
