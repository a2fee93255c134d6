// Node selection, retries and deadlines of calls over real connections.
import t, { type Test } from 'tap'
import type { Registry } from '../../../core/contracts/registry.ts'
import { GatewayError } from '../../../core/errors.ts'
import type { Dispatch, IncomingCall } from '../../../core/rpc/call.ts'
import { deadlines } from '../../../core/rpc/deadlines.ts'
import { type ServiceError, timeout, tooManyRequests } from '../../../sdk/errors.ts'
import { endpoint } from '../../../sdk/service/endpoint.ts'
import { Traces } from '../../../sdk/tracing/traces.ts'
import { keepAlive } from '../../fixtures/keep-alive.ts'
import { findClosedPort } from '../../fixtures/ports.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'
import { createTracker } from '../../fixtures/rpc.ts'
import { openRpcService } from '../../fixtures/rpc-service.ts'
import {
  createService,
  openClient,
  openRegistry,
  registerPorts,
  toNode,
} from '../../fixtures/sdk-services.ts'
import { makeService } from '../../fixtures/services.ts'

const fail =
  (code: number): Dispatch =>
  (call) =>
    call.fail(new GatewayError('greeter', code, `status ${code}`))

/** Opens nodes that count calls and respond with these functions. */
async function open(t: Test, ...answers: Dispatch[]) {
  const registry = openRegistry(t)
  const counts: number[] = []
  const calls: IncomingCall[] = []
  const services = await Promise.all(
    answers.map((answer, i) => {
      counts[i] = 0
      return openRpcService(t, (call) => {
        counts[i]!++
        calls.push(call)
        answer(call)
      })
    }),
  )
  registerPorts(
    registry,
    'greeter',
    services.map(({ port }) => port),
  )
  const traces = new Traces()
  const client = openClient(t, { registry, traces })
  return { registry, services, counts, calls, client, traces }
}

/** Registers the same nodes again, with an endpoint that has this metadata. */
function declare(registry: Registry, ports: readonly number[], metadata: Record<string, string>) {
  const value = { name: '', type: '', values: [] }
  const endpoint = { name: 'A.B', request: value, response: value, metadata }
  const service = { ...makeService('greeter', ports.map(toNode)), endpoints: [endpoint] }
  void registry.register!(service)
}

const ok: Dispatch = (call) => call.reply('', '{"ok":true}')

t.test('calls are distributed round robin over the nodes', async (t) => {
  const { client, counts } = await open(t, ok, ok, ok)
  for (let i = 0; i < 9; i++) await client.call('greeter', 'A.B')
  t.strictSame(counts, [3, 3, 3])
})

t.test('a call is retried on status 500 and 408, and on no other status', async (t) => {
  for (const code of [500, 408]) {
    const { client, counts } = await open(t, fail(code), fail(code))
    await t.rejects(client.call('greeter', 'A.B'), { code, message: `status ${code}` })
    t.strictSame(counts, [1, 1], 'one retry on another node')
  }
  for (const code of [400, 401, 403, 404, 409, 429, 501, 502, 503, 504]) {
    const { client, counts } = await open(t, fail(code))
    await t.rejects(client.call('greeter', 'A.B'), { code })
    t.strictSame(counts, [1], String(code))
  }
})

t.test('a call succeeds if its retry on another node succeeds', async (t) => {
  const { client, counts } = await open(t, fail(500), ok)
  for (let i = 0; i < 10; i++) t.strictSame(await client.call('greeter', 'A.B'), { ok: true })
  t.equal(counts[1], 10)
})

t.test('retries: n repeats a failed call n times with backoff, and 0 never repeats', async (t) => {
  const { client, counts } = await open(t, fail(500))
  await t.rejects(client.call('greeter', 'A.B', {}, { retries: 0 }))
  t.strictSame(counts, [1])
  const startMs = performance.now()
  await t.rejects(client.call('greeter', 'A.B', {}, { retries: 3 }))
  t.strictSame(counts, [5])
  const elapsedMs = performance.now() - startMs
  t.ok(elapsedMs > 145, `backoff: none, then 50 to 100 ms, then 100 to 200: ${elapsedMs}`)
})

t.test('the backoff stays within the timeout of the call', async (t) => {
  const { client, counts } = await open(t, fail(500))
  await t.rejects(client.call('greeter', 'A.B', {}, { retries: 100, timeoutMs: 500 }), {
    // The status of the service, or 408 on a busy machine.
    code: /500|408/,
  })
  t.ok(counts[0]! < 8, `${counts[0]} attempts`)
})

t.test('an endpoint declared `idempotent: false` is not retried after dispatch', async (t) => {
  const { registry, services, client, counts } = await open(t, fail(500), fail(500))
  const ports = services.map(({ port }) => port)
  declare(registry, ports, { idempotent: 'false' })
  await t.rejects(client.call('greeter', 'A.B', {}, { retries: 3 }), { code: 500 })
  t.equal(counts[0]! + counts[1]!, 1)
})

t.test(
  'a service marks errors of `idempotent: false` endpoints as not repeatable, without a registry',
  async (t) => {
    let served = 0
    const service = createService(t).handle('A', {
      once: endpoint({
        idempotent: false,
        handle() {
          served++
          throw new Error('handler failed')
        },
      }),
      slow: endpoint({
        idempotent: false,
        async handle() {
          served++
          throw timeout('greeter', 'too slow')
        },
      }),
    })
    const port = await service.start()
    for (const client of [
      openClient(t, { address: port }),
      openClient(t, { address: `http://${port}` }),
      openClient(t, { services: [service] }),
    ]) {
      for (const [name, code] of [
        ['A.Once', 500],
        ['A.Slow', 408],
      ] as const) {
        served = 0
        await t.rejects(client.call('greeter', name, {}, { retries: 3 }), {
          code,
          repeatable: false,
        })
        t.equal(served, 1, name)
      }
    }
  },
)

t.test('headers of a typed error reach the caller over each transport', async (t) => {
  const headers = ['Retry-After', '7', 'content-type', 'text/html']
  const service = createService(t).handle('A', {
    b: endpoint({
      handle() {
        throw tooManyRequests('greeter', 'slow', { headers, cause: 'secret' })
      },
    }),
    stream: endpoint({
      stream: 'server',
      *handle() {
        yield {}
        throw tooManyRequests('greeter', 'slow', { headers })
      },
    }),
  })
  const port = await service.start()
  for (const client of [
    openClient(t, { address: port }),
    openClient(t, { address: `http://${port}` }),
    openClient(t, { services: [service] }),
  ]) {
    const error = await client.call('greeter', 'A.B').catch((thrown) => thrown)
    t.match(error, { code: 429, id: 'greeter', message: 'slow', cause: undefined })
    t.strictSame((error as ServiceError).headers, ['retry-after', '7'])
    const stream = client.stream('greeter', 'A.Stream', {})
    const broken = await (async () => {
      for await (const _ of stream);
    })().catch((thrown) => thrown)
    t.match(broken, { code: 429, message: 'slow' })
    t.strictSame((broken as ServiceError).headers, ['retry-after', '7'])
  }
})

t.test('a node that responds with errors stays in the rotation', async (t) => {
  for (const code of [502, 503, 504]) {
    const { client, counts } = await open(t, fail(code), ok)
    for (let i = 0; i < 20; i++) await client.call('greeter', 'A.B').catch(() => {})
    t.strictSame(counts, [10, 10])
  }
})

t.test(
  'calls that were not sent are retried on the next node, even with idempotent: false',
  async (t) => {
    const { registry, services, client, counts } = await open(t, ok)
    const closed = await findClosedPort()
    declare(registry, [closed, services[0]!.port], { idempotent: 'false' })
    for (let i = 0; i < 6; i++)
      t.strictSame(await client.call('greeter', 'A.B', {}, { retries: 0 }), { ok: true })
    t.strictSame(counts, [6])
  },
)

t.test('a call returns 502 if all nodes refuse connections', async (t) => {
  const registry = openRegistry(t)
  registerPorts(registry, 'greeter', [await findClosedPort(), await findClosedPort()])
  const client = openClient(t, { registry })
  await t.rejects(client.call('greeter', 'A.B'), {
    code: 502,
    id: 'greeter',
    message: 'bad gateway: the service refused the connection',
    cause: /ECONNREFUSED/,
  })
})

t.test('a connection lost during a call results in 502 without a retry', async (t) => {
  const { services, client, counts } = await open(
    t,
    () => services[0]!.sockets.at(-1)!.terminate(),
    ok,
  )
  const results = await Promise.allSettled(
    [1, 2, 3, 4].map(() => client.call('greeter', 'A.B', {}, { retries: 3 })),
  )
  t.strictSame(counts, [2, 2])
  const rejected = results.filter(({ status }) => status === 'rejected')
  t.equal(rejected.length, 2)
  t.match(rejected, [{ reason: { code: 502, id: 'greeter', message: /closed the connection/ } }])
})

t.test('a node that refuses connections is skipped', async (t) => {
  const { registry, services, client, counts } = await open(t, ok, ok)
  const [first, second] = services.map(({ port }) => port)
  registerPorts(registry, 'greeter', [await findClosedPort(), first!, second!])
  for (let i = 0; i < 30; i++) await client.call('greeter', 'A.B', {}, { retries: 0 })
  t.strictSame(counts, [15, 15])
})

t.test('an unknown service returns 404, and a service without a usable node 503', async (t) => {
  const { registry, client } = await open(t, ok)
  await t.rejects(client.call('unknown', 'A.B'), {
    id: 'unknown',
    code: 404,
    message: 'service not found: unknown',
  })
  const invalid = { id: 'a', address: '127.0.0.1:1', metadata: { protocol: 'carrier-pigeon' } }
  void registry.register!(makeService('empty', [invalid]))
  await t.rejects(client.call('empty', 'A.B'), {
    code: 503,
    message: 'no node of empty is available',
  })
})

t.test('a timeout returns 408, and the service receives a cancellation', async (t) => {
  const { dispatch, events, calls } = createTracker()
  const { client } = await open(t, dispatch)
  await client.call('greeter', 'A.B', {}, { timeoutMs: 1 }).catch(() => {})
  const startMs = performance.now()
  await t.rejects(client.call('greeter', 'A.B', {}, { timeoutMs: 400, retries: 3 }), {
    id: 'greeter',
    code: 408,
    message: 'greeter did not respond in time',
  })
  const elapsedMs = performance.now() - startMs
  t.ok(elapsedMs >= 399 && elapsedMs < 5000, `${elapsedMs}`)
  await waitUntil(() => events.at(-1)!.length > 0)
  const { timeoutMs } = calls.at(-1)!
  t.ok(timeoutMs > 0 && timeoutMs <= 400, 'the service receives the timeout')
  t.match(events.at(-1)!, [/cancel (cancel|timeout)/])
})

t.test('a retry has only the remaining time', async (t) => {
  const { client, calls } = await open(t, (call) => {
    setTimeout(() => call.fail(new GatewayError('greeter', 500, 'slow')), 60)
  })
  await t.rejects(client.call('greeter', 'A.B', {}, { timeoutMs: 1000 }), { code: 500 })
  t.equal(calls.length, 2)
  const [first, second] = calls.map(({ timeoutMs }) => timeoutMs)
  t.ok(second! <= first! - 50, `${first} ms, then ${second}`)
})

t.test('a failed registry returns 503, and a registry that exceeds the timeout 408', async (t) => {
  const registry: Registry = {
    name: 'slow',
    getService: (name) =>
      name === 'broken' ? Promise.reject(new Error('no')) : new Promise(() => {}),
    listServices: () => [],
  }
  const client = openClient(t, { registry })
  // Pending calls do not keep this process alive.
  keepAlive(t)
  await t.rejects(client.call('broken', 'A.B'), { code: 503, id: 'broken' })
  await t.rejects(client.call('slow', 'A.B', {}, { timeoutMs: 30 }), { code: 408, id: 'slow' })
})

t.test(
  'an aborted signal rejects with its reason, and the service receives a cancellation',
  async (t) => {
    const { dispatch, events } = createTracker()
    const { client } = await open(t, dispatch)
    const controller = new AbortController()
    const { signal } = controller
    const call = client.call('greeter', 'A.B', {}, { signal })
    await waitUntil(() => events.length === 1)
    const reason = new Error('changed my mind')
    controller.abort(reason)
    t.equal(await call.catch((error) => error), reason)
    await waitUntil(() => events[0]!.length > 0)
    t.strictSame(events, [['cancel cancel']])
    t.equal(await client.call('greeter', 'A.B', {}, { signal }).catch((error) => error), reason)
    t.equal(events.length, 1, 'no request was sent')
  },
)

t.test('a call can be aborted before it is sent, and between two attempts', async (t) => {
  const { client, counts } = await open(t, fail(500))
  const early = new AbortController()
  const first = client.call('greeter', 'A.B', {}, { signal: early.signal })
  early.abort()
  await t.rejects(first, { name: 'AbortError' })
  const controller = new AbortController()
  const second = client.call('greeter', 'A.B', {}, { signal: controller.signal, retries: 5 })
  await waitUntil(() => counts[0]! >= 2)
  controller.abort()
  await t.rejects(second, { name: 'AbortError' })
  const sent = counts[0]
  await new Promise((resolve) => setTimeout(resolve, 150))
  t.equal(counts[0], sent)
})

t.test('a completed call leaves no deadline and no listener', async (t) => {
  const { client, counts } = await open(t, ok, fail(500))
  const { signal } = new AbortController()
  const before = deadlines.size
  await Promise.allSettled(
    Array.from({ length: 100 }, () => client.call('greeter', 'A.B', {}, { signal })),
  )
  t.equal(deadlines.size, before)
  t.ok(counts[0]! + counts[1]! >= 100)
})

t.test('client calls are added to the traces', async (t) => {
  const { client, traces } = await open(t, ok)
  await client.call('greeter', 'A.B', {}, { metadata: { 'x-request-id': 'r-1' } })
  await client.call('unknown', 'A.B').catch(() => {})
  t.match(traces.list(), [
    { name: 'greeter.A.B', type: 'OUTBOUND', trace: 'r-1', metadata: { code: '200' } },
    { name: 'unknown.A.B', type: 'OUTBOUND', trace: '', metadata: { code: '404' } },
  ])
})

t.test('one call probes an unreachable node while the others use healthy nodes', async (t) => {
  const { registry, services, client, counts } = await open(t, ok)
  const closed = await findClosedPort()
  registerPorts(registry, 'greeter', [closed, services[0]!.port])
  const results = await Promise.allSettled(
    Array.from({ length: 200 }, () => client.call('greeter', 'A.B', {}, { retries: 0 })),
  )
  t.ok(results.every(({ status }) => status === 'fulfilled'))
  t.strictSame(counts, [200])
})
