import t, { type Test } from 'tap'
import { GatewayError } from '../../../core/errors.ts'
import { callMemory, relayMemory } from '../../../core/limits/memory-budget.ts'
import type { Dispatch, IncomingCall } from '../../../core/rpc/call.ts'
import { deadlines } from '../../../core/rpc/deadlines.ts'
import { HOPS_MAX } from '../../../core/rpc/hops.ts'
import { findMetadata } from '../../../core/rpc/metadata.ts'
import { type FindUpstream, forwardCall } from '../../../core/rpc/proxy-call.ts'
import type { Upstream } from '../../../core/upstream/upstream.ts'
import { ServiceError } from '../../../sdk/errors.ts'
import { openRawBackend, waitUntil } from '../../fixtures/raw-backend.ts'
import { createTracker, RecordedCall } from '../../fixtures/rpc.ts'
import {
  openCaller,
  openPort,
  openProxy,
  type TestProxyOptions,
  toNode,
} from '../../fixtures/rpc-proxy.ts'
import { openRpcService } from '../../fixtures/rpc-service.ts'
import { TestCall } from '../../fixtures/served-calls.ts'
import { makeService } from '../../fixtures/services.ts'

const JOHN = '{"name":"John"}'

/** Opens nodes that handle calls with `nodes`, a proxy in front of them, and a caller. */
async function open(t: Test, nodes: readonly Dispatch[], options: TestProxyOptions = {}) {
  const services = await Promise.all(nodes.map((dispatch) => openRpcService(t, dispatch)))
  const ejected: string[] = []
  const proxy = await openProxy(
    t,
    { helloworld: services.map(({ port }) => toNode(port)) },
    { upstream: { onEject: ({ id }) => ejected.push(id) }, ...options },
  )
  const caller = openCaller(t, proxy.port, 'mx')
  const upstream = proxy.upstreams.get('helloworld')!
  const send = (fields: Partial<RecordedCall> = {}): RecordedCall => {
    const call = new RecordedCall(fields)
    caller.call(call)
    return call
  }
  const sendAndWait = async (fields: Partial<RecordedCall> = {}): Promise<string[]> => {
    const call = send(fields)
    await waitUntil(() => call.carrier === undefined)
    return call.events
  }
  const active = () => upstream.nodes.map((node) => node.active)
  return { proxy, services, upstream, caller, send, sendAndWait, ejected, active }
}

const echo: Dispatch = (call) => call.reply('', call.body)

t.test(
  'rejects a malformed service name with 400, an unknown service with 404 and a service without nodes with 503',
  async (t) => {
    const { sendAndWait, upstream } = await open(t, [])
    const callService = (service: string) => sendAndWait({ service })
    t.strictSame(await callService(''), ['fail 400 go.mx.proxy: service name is blank'])
    t.strictSame(await callService(' \t'), ['fail 400 go.mx.proxy: service name is blank'])
    for (const service of ['a b', '../a', 'a..b', 'x'.repeat(300), '__proto__'])
      t.match(await callService(service), [
        /^fail 400 go\.mx\.proxy: service name must be letters, digits/,
      ])
    for (const service of ['missing', 'constructor'])
      t.strictSame(await callService(service), [
        `fail 404 ${service}: service not found: ${service}`,
      ])
    t.strictSame(await callService('helloworld'), [
      'fail 503 helloworld: no node of helloworld is available',
    ])
    t.same(upstream.nodes, [])
  },
)

t.test('bodies that arrive during an asynchronous lookup are delivered afterwards', async (t) => {
  const { dispatch, calls, bodies, events } = createTracker()
  let resolveLookup: (result: Upstream | undefined) => void = () => {}
  const find: FindUpstream = () =>
    new Promise((resolve) => {
      resolveLookup = resolve
    })
  const service = await openPort(t, dispatch)
  const { upstreams } = await openProxy(t, { helloworld: [toNode(service.port)] })
  const call = new TestCall('A.B', { service: 'helloworld', body: 'one', more: true, stream: true })
  forwardCall(call, find)
  call.body.fill(0)
  call.send('two')
  call.send('three')
  call.end()
  t.equal(call.consumedBytes, 0, 'nothing is consumed yet')
  resolveLookup(upstreams.get('helloworld'))
  await waitUntil(() => events[0]?.length === 3)
  t.strictSame([bodies, events], [['one'], [['data two', 'data three', 'end']]])
  t.equal(call.consumedBytes, 8)
  calls[0]!.reply('', 'done')
  await call.done
  t.equal(String(call.replyBody), 'done')
})

t.test('a call cancelled during the lookup is not forwarded', async (t) => {
  const { dispatch, calls } = createTracker()
  const { upstream } = await open(t, [dispatch])
  let resolveLookup: (result: Upstream) => void = () => {}
  const call = new TestCall('A.B', { service: 'helloworld' })
  forwardCall(call, () => new Promise((resolve) => (resolveLookup = resolve)))
  call.cancel()
  resolveLookup(upstream)
  await new Promise(setImmediate)
  t.same(upstream.nodes[0]!.active, 0)
  t.same(calls, [])
})

t.test('the error of a failed lookup is the error of the call', async (t) => {
  for (const find of [
    () => Promise.reject(new GatewayError('a', 503, 'cannot look up a')),
    () => {
      throw new GatewayError('a', 503, 'cannot look up a')
    },
  ]) {
    const { sendAndWait } = await open(t, [], { find })
    t.strictSame(await sendAndWait(), ['fail 503 a: cannot look up a'])
  }
})

t.test('the time spent on the lookup is deducted from the deadline', async (t) => {
  const { dispatch, calls } = createTracker()
  const { upstream } = await open(t, [dispatch])
  /** Forwards a call whose service is found after `afterMs`. */
  const send = async (timeoutMs: number, afterMs: number): Promise<TestCall> => {
    const endMs = performance.now() + afterMs
    const result = waitUntil(() => performance.now() >= endMs).then(() => upstream)
    const call = new TestCall('A.B', { service: 'helloworld', timeoutMs })
    forwardCall(call, () => result)
    await result
    return call
  }
  await send(60_000, 50)
  await waitUntil(() => calls.length === 1)
  t.ok(calls[0]!.timeoutMs <= 60_000 - 49, `${calls[0]!.timeoutMs} ms`)
  const late = await send(20, 30)
  await late.done
  t.match(late.error, { id: 'helloworld', code: 408 })
  t.equal(calls.length, 1)
})

t.test('calls are balanced over the nodes, and retried if they were not processed', async (t) => {
  const received: number[] = []
  const node =
    (i: number): Dispatch =>
    (call) => {
      received.push(i)
      echo(call)
    }
  const { sendAndWait, services, ejected, active, upstream } = await open(t, [
    node(0),
    node(1),
    node(2),
  ])
  for (let i = 0; i < 6; i++) t.strictSame(await sendAndWait(), [`reply "" ${JOHN}`])
  t.strictSame(received, [0, 1, 2, 0, 1, 2])
  const [killed] = upstream.nodes
  const port = await openClosedPort(t)
  upstream.update([
    makeService('helloworld', [toNode(port), ...services.slice(1).map((s) => toNode(s.port))]),
  ])
  for (let i = 0; i < 6; i++) t.strictSame(await sendAndWait(), [`reply "" ${JOHN}`])
  t.strictSame(ejected, [`127.0.0.1:${port}`])
  t.equal(killed!.active, 0)
  t.strictSame(active(), [0, 0, 0])
})

t.test('a service whose nodes all refuse connections returns 502', async (t) => {
  const port = await openClosedPort(t)
  const proxy = await openProxy(t, { helloworld: [toNode(port), toNode(await openClosedPort(t))] })
  const call = new RecordedCall()
  openCaller(t, proxy.port, 'mx').call(call)
  await waitUntil(() => call.events.length > 0)
  t.strictSame(call.events, [
    'fail 502 helloworld: bad gateway: the service refused the connection',
  ])
})

t.test(
  'a call lost by its node fails with 502 and is not retried, since it may have been processed',
  async (t) => {
    let served = 0
    const kill: Dispatch = () => {
      served++
      for (const { sockets } of services) for (const socket of sockets) socket.terminate()
    }
    const { sendAndWait, services, active } = await open(t, [kill, kill])
    t.strictSame(await sendAndWait(), [
      'fail 502 helloworld: bad gateway: the service closed the connection',
    ])
    t.equal(served, 1)
    t.strictSame(active(), [0, 0])
  },
)

t.test('an error response is not retried, and its repeatable flag is forwarded', async (t) => {
  for (const repeatable of [true, false]) {
    let served = 0
    const { send } = await open(t, [
      (call) => {
        served++
        call.fail(new ServiceError('custom', 500, 'no', { repeatable }))
      },
    ])
    const call = send()
    await waitUntil(() => call.error !== undefined)
    t.equal(call.error!.repeatable, repeatable)
    t.equal(served, 1)
  }
})

t.test('errors of the proxy have the repeatable flag of the registered endpoint', async (t) => {
  const { send, upstream, services } = await open(t, [() => {}])
  const declared = (name: string, idempotent: string) => ({
    name,
    request: { name: '', type: '', values: [] },
    response: { name: '', type: '', values: [] },
    metadata: { idempotent },
  })
  const entry = makeService(
    'helloworld',
    services.map(({ port }) => toNode(port)),
  )
  upstream.update([
    { ...entry, endpoints: [declared('A.Once', 'false'), declared('A.Again', 'true')] },
  ])
  for (const [endpoint, repeatable] of [
    ['A.Once', false],
    ['A.Again', true],
  ] as const) {
    // The call has no deadline, so that no timer interferes.
    const call = new TestCall(endpoint, { service: 'helloworld' })
    forwardCall(call, () => upstream)
    t.equal(call.receiver.repeatable, repeatable)
    call.cancel()
  }
  const late = send({ endpoint: 'A.Once', timeoutMs: 40 })
  await waitUntil(() => late.events.length > 0)
  t.match(late.events, [/^(lost timeout|fail 408)/])
})

t.test('an error is delivered after the bodies buffered for the caller', async (t) => {
  const { upstream } = await open(t, [
    (call) => {
      for (let i = 0; call.sendData(`${i} ${'x'.repeat(50_000)}`); i++);
      call.fail(new ServiceError('custom', 409, 'conflict'))
    },
  ])
  const call = new TestCall('A.B', { service: 'helloworld', stream: true })
  call.window = 1
  forwardCall(call, () => upstream)
  await waitUntil(() => upstream.nodes[0]!.active === 0)
  t.equal(call.error, undefined)
  t.equal(call.bodies.length, 1)
  call.read()
  await call.done
  t.equal(call.bodies.length, 6)
  t.match(call.error, { id: 'custom', code: 409, message: 'conflict' })
})

t.test('a cancelled call drops its buffered bodies', async (t) => {
  const { upstream } = await open(t, [
    (call) => {
      for (let i = 0; i < 4; i++) call.sendData('x'.repeat(1000))
      call.endData()
    },
  ])
  const call = new TestCall('A.B', { service: 'helloworld', stream: true })
  call.window = 1
  forwardCall(call, () => upstream)
  await waitUntil(() => upstream.nodes[0]!.active === 0)
  call.cancel()
  call.receiver.onCredit()
  t.equal(call.bodies.length, 1)
})

t.test(
  'a response that cannot be forwarded is an error, and the call to the node is cancelled',
  async (t) => {
    const cancelled: string[] = []
    const { proxy } = await open(t, [
      (call) => {
        call.receiver = { ...call.receiver, onCancel: (reason) => cancelled.push(reason) }
        if (call.endpoint === 'A.Proto') call.start('content-type: application/protobuf\r\n')
        else call.start('nonsense')
      },
    ])
    const httpCaller = openCaller(t, proxy.port, 'http')
    const sendRequest = async (endpoint: string): Promise<string[]> => {
      const call = new RecordedCall({ endpoint, stream: true })
      httpCaller.call(call)
      await waitUntil(() => call.carrier === undefined)
      return call.events
    }
    t.strictSame(await sendRequest('A.Proto'), [
      'fail 400 helloworld: streams of application/protobuf require the WebSocket transport',
    ])
    t.strictSame(await sendRequest('A.Wrong'), [
      'fail 502 helloworld: bad gateway: malformed response from helloworld',
    ])
    await waitUntil(() => cancelled.length === 2)
    t.strictSame(cancelled, ['cancel', 'cancel'])
  },
)

t.test('no call is lost when nodes send GOAWAY', async (t) => {
  const { send, sendAndWait, services, caller } = await open(t, [echo, echo])
  for (let i = 0; i < 2; i++) await sendAndWait()
  const calls: RecordedCall[] = []
  for (let i = 0; i < 400; i++) {
    calls.push(send({ body: `${i}` }))
    if (i % 25 > 0) continue
    await waitUntil(() => services.every(({ connections }) => connections.at(-1)!.closed === false))
    for (const { connections } of services) connections.at(-1)!.goAway()
  }
  await waitUntil(() => caller.pending === 0)
  for (const [i, { events }] of calls.entries())
    if (events[0] !== `reply "" ${i}`) t.fail(`call ${i}: ${events}`)
})

t.test('a draining proxy completes the calls in flight and loses none', async (t) => {
  const { dispatch, calls } = createTracker()
  const { proxy, send } = await open(t, [dispatch])
  const waiting = Array.from({ length: 50 }, (_, i) => send({ body: `${i}`, stream: i % 2 > 0 }))
  await waitUntil(() => calls.length === 50)
  let drained = false
  const draining = proxy.drain().then(() => {
    drained = true
  })
  const late = send()
  await waitUntil(() => late.lost !== undefined)
  t.match(late.lost?.kind, /connect|unsent/, 'it may be retried elsewhere')
  t.notOk(drained)
  for (const [i, call] of calls.entries()) {
    if (call.stream) call.sendData(`${i}`)
    if (call.stream) call.endData()
    else call.reply('', `${i}`)
  }
  await draining
  await waitUntil(() => waiting.every(({ carrier }) => carrier === undefined))
  for (const [i, { events }] of waiting.entries())
    t.strictSame(events, i % 2 > 0 ? [`data ${i}`, 'end'] : [`reply "" ${i}`])
})

t.test('rejects a call in a routing loop with 508', async (t) => {
  let lookups = 0
  const upstreams = new Map<string, Upstream>()
  const find: FindUpstream = (service) => {
    lookups++
    return upstreams.get(service)
  }
  const proxy = await openProxy(t, {}, { find })
  const looping = await openProxy(t, { helloworld: [toNode(proxy.port)] })
  upstreams.set('helloworld', looping.upstreams.get('helloworld')!)
  const call = new RecordedCall()
  openCaller(t, proxy.port, 'mx').call(call)
  await waitUntil(() => call.events.length > 0)
  t.strictSame(call.events, [
    `fail 508 go.mx.proxy: the call has passed ${HOPS_MAX} proxies, the maximum is ${HOPS_MAX}: this is most likely a routing loop`,
  ])
  t.equal(lookups, HOPS_MAX)
})

t.test('metadata is forwarded unchanged, except for mx-hops', async (t) => {
  const received: string[] = []
  const { sendAndWait, proxy } = await open(t, [
    (call) => {
      received.push(call.metadata)
      echo(call)
    },
  ])
  const metadata = 'mx-namespace: shop\r\nmx-account: {"id":"1"}\r\nx-a: 1\r\nx-a: 2\r\n'
  await sendAndWait({ metadata })
  t.equal(received[0], `mx-hops: 1\r\n${metadata}`)
  await sendAndWait({ metadata: 'malformed' })
  t.equal(received[1], 'mx-hops: 1\r\nmalformed', 'malformed metadata is left to the service')
  await fetch(`http://${proxy.address}`, {
    method: 'POST',
    headers: { 'mx-service': 'helloworld', 'mx-endpoint': 'A.B', 'mx-hops': '3', 'x-a': 'b' },
  })
  t.equal(findMetadata(received[2]!, 'mx-hops'), '4')
  t.equal(findMetadata(received[2]!, 'x-a'), 'b')
})

t.test('a node that does not respond does not block calls to other nodes', async (t) => {
  const silent = await openRawBackend(t)
  const proxy = await openProxy(t, {
    silent: [toNode(silent.port)],
    plain: [toNode(silent.port, 'http')],
    helloworld: [toNode((await openPort(t, echo)).port)],
  })
  const caller = openCaller(t, proxy.port, 'mx')
  const stuck = ['silent', 'plain'].map((service) => {
    const call = new RecordedCall({ service })
    caller.call(call)
    return call
  })
  const healthy = Array.from({ length: 1000 }, () => {
    const call = new RecordedCall()
    caller.call(call)
    return call
  })
  await waitUntil(() => healthy.every(({ events }) => events.length > 0))
  t.ok(healthy.every(({ events }) => events[0] === `reply "" ${JOHN}`))
  for (const { events } of stuck) t.strictSame(events, [])
})

t.test('a caller that does not read slows only its own streams', async (t) => {
  const pad = 'x'.repeat(1000)
  let served = 0
  const countForever: Dispatch = (call) => {
    const pump = (): void => {
      while (call.sendData(pad)) served++
    }
    call.receiver = { onData() {}, onEnd() {}, onCancel() {}, onCredit: pump }
    pump()
  }
  const { send, sendAndWait } = await open(t, [
    (call) => (call.endpoint === 'A.Echo' ? echo(call) : countForever(call)),
  ])
  const slow = Array.from({ length: 20 }, () => send({ stream: true }))
  await waitUntil(() => slow.every(({ events }) => events.length >= 262))
  for (let i = 0; i < 100; i++) t.strictSame((await sendAndWait({ endpoint: 'A.Echo' })).length, 1)
  const perStream = served / slow.length
  t.ok(
    perStream <= 3 * 263,
    `${perStream} bodies of 1 KB, at most a window each for proxy and caller`,
  )
})

t.test(
  'rejects a call that exceeds the relay memory with 503, and other calls continue',
  async (t) => {
    const { maxBytes } = relayMemory
    t.teardown(() => {
      relayMemory.maxBytes = maxBytes
    })
    const cancelled: string[] = []
    const { upstream, sendAndWait } = await open(t, [
      (call) => {
        if (call.endpoint === 'A.Echo') return echo(call)
        call.receiver = { ...call.receiver, onCancel: (reason) => cancelled.push(reason) }
        for (let i = 0; i < 5; i++) call.sendData('x'.repeat(30_000))
      },
    ])
    relayMemory.maxBytes = 100_000
    const serverStream = new TestCall('A.Down', { service: 'helloworld', stream: true })
    serverStream.window = 1
    forwardCall(serverStream, () => upstream)
    const up = new TestCall('A.Up', { service: 'helloworld', more: true })
    forwardCall(up, () => new Promise(() => {}))
    await serverStream.done
    t.match(serverStream.error, { id: 'helloworld', code: 503, headers: ['retry-after', '1'] })
    t.equal(serverStream.bodies.length, 1)
    for (let i = 0; i < 4; i++) up.send('x'.repeat(30_000))
    await up.done
    t.match(up.error, { code: 503, message: /too many messages buffered/ })
    await waitUntil(() => cancelled.length === 1)
    t.equal(relayMemory.usedBytes, 0)
    t.strictSame(await sendAndWait({ endpoint: 'A.Echo' }), [`reply "" ${JOHN}`])
  },
)

t.test('ended calls leave no memory, deadlines or active counts', async (t) => {
  // Waits for objects of the preceding tests.
  await waitUntil(() => callMemory.usedBytes === 0 && deadlines.size === 0)
  const serve = (call: IncomingCall): void => {
    switch (call.endpoint) {
      case 'A.Reply':
        return echo(call)
      case 'A.Fail':
        return call.fail(new ServiceError('a', 500, 'b'))
      case 'A.Stream':
        call.sendData('1')
        return call.endData()
    }
  }
  const { send, caller, active } = await open(t, [serve, serve])
  const calls = ['Reply', 'Fail', 'Stream', 'Wait', 'Late'].map((name) =>
    send({
      endpoint: `A.${name}`,
      body: 'x'.repeat(10_000),
      stream: true,
      timeoutMs: name === 'Late' ? 30 : 60_000,
    }),
  )
  await waitUntil(() => calls.filter(({ carrier }) => carrier === undefined).length === 4)
  calls[3]!.cancel()
  await waitUntil(() => callMemory.usedBytes === 0 && deadlines.size === 0)
  t.strictSame(active(), [0, 0])
  t.equal(caller.pending, 0)
  t.equal(relayMemory.usedBytes, 0)
})

async function openClosedPort(t: Test): Promise<number> {
  const port = await openPort(t, () => {})
  await port.close()
  return port.port
}
