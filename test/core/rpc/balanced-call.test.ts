import t, { type Test } from 'tap'
import type { GatewayError } from '../../../core/errors.ts'
import { BalancedCall } from '../../../core/rpc/balanced-call.ts'
import type { OutgoingCall, TransportFailure } from '../../../core/rpc/call.ts'
import type { Caller } from '../../../core/rpc/caller.ts'
import { deadlines } from '../../../core/rpc/deadlines.ts'
import { toBadResponse } from '../../../core/rpc/error-codec.ts'
import type { UpstreamNode } from '../../../core/upstream/node/upstream-node.ts'
import { Upstream } from '../../../core/upstream/upstream.ts'
import { ServiceError } from '../../../sdk/errors.ts'
import { keepAlive } from '../../fixtures/keep-alive.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'
import { createPools, makeNode, makeService } from '../../fixtures/services.ts'

/** A call that records its events. */
class TestCall extends BalancedCall {
  override service = 'greeter'
  readonly events: string[] = []
  readonly nodes: string[] = []
  repeats = 0

  constructor(upstream: Upstream, limitMs = 0) {
    super()
    this.upstream = upstream
    this.limitMs = limitMs
    this.startedMs = performance.now()
  }

  send(): this {
    this.attempt()
    return this
  }

  /** Simulates a receiver that fails during `onReply`. */
  forget(): void {
    this.endAttempt()
  }

  protected override chosen({ id }: UpstreamNode): void {
    this.nodes.push(id)
  }

  protected override note(detail: string): void {
    this.events.push(`note ${detail}`)
  }

  protected override mayRepeat(): boolean {
    return this.repeats-- > 0
  }

  protected onDenied({ code }: GatewayError): void {
    this.events.push(`refused ${code}`)
  }

  protected failed({ code }: GatewayError): void {
    this.events.push(`failed ${code}`)
  }

  override onReply(): void {
    this.recordHealthy()
    this.endAttempt()
    this.events.push('reply')
  }
}

type Serve = (call: OutgoingCall, node: string) => void

/** Opens a service whose nodes all handle calls with `serve`. */
function open(t: Test, ids: readonly string[], serve: Serve) {
  const { createPool } = createPools()
  const ejected: string[] = []
  const upstream = new Upstream('greeter', {
    createPool,
    findCaller: ({ id }): Caller => ({
      pending: 0,
      call: (call) => serve(call, id),
      drain: () => {},
      close: () => {},
    }),
    onEject: ({ id }) => ejected.push(id),
  })
  t.teardown(() => upstream.close())
  const nodes = ids.map((id, i) => ({ ...makeNode(`127.0.0.1:${9001 + i}`), id }))
  upstream.update([makeService('greeter', nodes)])
  return { upstream, ejected, active: () => upstream.nodes.map(({ active }) => active) }
}

const failWith =
  (kind: TransportFailure): Serve =>
  (call) =>
    call.onLost(kind, kind)

t.test('a call that was certainly not processed is retried on the next node', async (t) => {
  for (const kind of ['connect', 'foreign', 'full', 'unsent'] as const) {
    const { upstream, ejected, active } = open(t, ['a', 'b'], (call, node) =>
      node === 'a' ? failWith(kind)(call, node) : call.onReply('', Buffer.alloc(0)),
    )
    const { nodes, events } = new TestCall(upstream).send()
    t.strictSame(nodes, ['a', 'b'], kind)
    t.strictSame(events, [`note ${kind}`, 'reply'])
    t.strictSame(ejected, kind === 'connect' || kind === 'foreign' ? ['a'] : [])
    t.strictSame(active(), [0, 0])
  }
})

t.test('a call that ends twice is released by its node once', async (t) => {
  const { upstream, active } = open(t, ['a'], (call) => {
    call.onReply('', Buffer.alloc(0))
    ;(call as TestCall).forget()
  })
  new TestCall(upstream).send()
  t.strictSame(active(), [0])
})

t.test('a call lost with a removed node is retried on the next node', async (t) => {
  const { upstream } = open(t, ['a', 'b'], (call, node) => {
    if (node === 'b') return call.onReply('', Buffer.alloc(0))
    const [, b] = upstream.nodes.map(({ id, port }) => ({ ...makeNode(`127.0.0.1:${port}`), id }))
    upstream.update([makeService('greeter', [b!])])
    call.onLost('unsent', 'the node accepts no more calls')
  })
  const { nodes, events } = new TestCall(upstream).send()
  t.strictSame(nodes, ['a', 'b'])
  t.strictSame(events, ['note the node accepts no more calls', 'reply'])
})

t.test('a call that may have been processed, or has timed out, is not retried', async (t) => {
  for (const [kind, code] of [
    ['closed', 502],
    ['timeout', 408],
  ] as const) {
    const { upstream } = open(t, ['a', 'b'], failWith(kind))
    const { nodes, events } = new TestCall(upstream).send()
    t.strictSame(nodes, ['a'])
    t.strictSame(events, [`note ${kind}`, `failed ${code}`])
  }
})

t.test('a call with sent bodies is not retried', async (t) => {
  const { upstream } = open(t, ['a', 'b'], (call, node) => {
    call.started = true
    failWith('unsent')(call, node)
  })
  t.strictSame(new TestCall(upstream).send().events, ['note unsent', 'failed 502'])
})

t.test('at most 5 nodes are tried, each once', async (t) => {
  const twoNodes = open(t, ['a', 'b'], failWith('full'))
  t.strictSame(new TestCall(twoNodes.upstream).send().nodes, ['a', 'b'])
  const fullNodes = open(t, ['a', 'b', 'c', 'd', 'e', 'f', 'g'], failWith('full'))
  const call = new TestCall(fullNodes.upstream).send()
  t.strictSame([call.nodes.length, new Set(call.nodes).size], [5, 5])
  t.equal(call.events.at(-1), 'failed 503')
})

t.test('a call without an available node fails with 503', async (t) => {
  const { upstream } = open(t, [], failWith('full'))
  t.strictSame(new TestCall(upstream).send().events, [
    'note no node of greeter is available',
    'failed 503',
  ])
})

t.test(
  'malformed responses eject a node if another node responds, but errors do not',
  async (t) => {
    const expired = open(t, ['a', 'b'], (call) => call.onFail(new ServiceError('x', 503, 'no')))
    const bad = toBadResponse('x', 'none')
    const malformed = open(t, ['a', 'b'], (call) => call.onFail(bad, true))
    const half = open(t, ['a', 'b'], (call, node) => {
      if (node === 'a') call.onFail(bad, true)
      else call.onReply('', Buffer.alloc(0))
    })
    for (let i = 0; i < 20; i++) {
      t.strictSame(new TestCall(expired.upstream).send().events, ['refused 503'])
      t.strictSame(new TestCall(malformed.upstream).send().events, ['refused 502'])
      new TestCall(half.upstream).send()
    }
    t.strictSame(expired.ejected, [])
    t.strictSame(malformed.ejected, [], 'all nodes fail')
    t.strictSame(half.ejected, ['a'])
  },
)

t.test('mayRepeat decides whether an error is retried', async (t) => {
  const { upstream, active } = open(t, ['a', 'b'], (call) =>
    call.onFail(new ServiceError('x', 500, 'no')),
  )
  const call = new TestCall(upstream)
  call.repeats = 2
  t.strictSame(call.send().events, ['refused 500'])
  t.strictSame(call.nodes, ['a', 'b', 'a'])
  t.strictSame(active(), [0, 0])
})

t.test('attempts share the timeout of the call', async (t) => {
  const reported: number[] = []
  const { upstream } = open(t, ['a', 'b', 'c'], (call) => {
    reported.push(call.timeoutMs)
    const untilMs = performance.now() + 30
    while (performance.now() < untilMs);
    call.onLost('unsent', 'busy')
  })
  const send = (limitMs: number): TestCall => {
    const call = new TestCall(upstream, limitMs)
    call.timeoutMs = limitMs
    return call.send()
  }
  t.equal(send(60_000).events.at(-1), 'failed 502')
  t.equal(reported[0], 60_000)
  t.ok(reported[1]! <= 60_000 - 30 && reported[2]! <= reported[1]! - 30, `${reported}`)
  t.strictSame(send(20).events, ['note busy', 'failed 408'])
  t.equal(reported.length, 4, 'no further attempt after the timeout')
})

t.test('a time limit that is not sent to the service is enforced', async (t) => {
  keepAlive(t)
  const { upstream } = open(t, ['a'], (call) => {
    t.equal(call.timeoutMs, 0)
    call.carrier = {
      sendData: () => true,
      endData: () => {},
      consumed: () => {},
      cancel: () => {},
      expire(call) {
        call.release()
        call.onLost('timeout', `after ${call.timeoutMs} ms`)
      },
    }
  })
  const before = deadlines.size
  const call = new TestCall(upstream, 30).send()
  await waitUntil(() => call.events.length > 0)
  t.strictSame(call.events, ['note after 30 ms', 'failed 408'])
  t.equal(deadlines.size, before)
})
