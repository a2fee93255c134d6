import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import t from 'tap'
import { createMemoryBroker } from '../../../../adapters/broker/memory.ts'
import type { Registry } from '../../../../core/contracts/registry.ts'
import { Type } from '../../../../core/schema.ts'
import type { Client } from '../../../../sdk/client/client.ts'
import { findLocalCaller } from '../../../../sdk/internal/local-services.ts'
import { endpoint } from '../../../../sdk/service/endpoint.ts'
import { Service } from '../../../../sdk/service/service.ts'
import { findClosedPort } from '../../../fixtures/ports.ts'
import { openRawBackend, waitUntil } from '../../../fixtures/raw-backend.ts'
import { RecordedCall } from '../../../fixtures/rpc.ts'
import {
  createQuietLog,
  createService,
  openClient,
  openRegistry,
} from '../../../fixtures/sdk-services.ts'

const call = endpoint({
  description: 'Says hello.',
  request: Type.Object({ name: Type.String() }),
  response: Type.Object({ message: Type.String() }),
  handle: ({ name }) => ({ message: `Hello ${name}` }),
})

t.test('the constructor rejects an invalid name, version or address', async (t) => {
  for (const name of ['', 'a b', '.a', 'a..b', 'x'.repeat(300), undefined as unknown as string])
    t.throws(() => new Service({ name }), /service name must be letters/, String(name))
  t.throws(() => new Service({ name: 'a', version: 'a b' }), /version must be/)
  t.throws(() => new Service({ name: 'a', address: 'nowhere' }), /address must be host:port/)
  const { name, version } = new Service({ name: 'go.mx.api.v1.greeter' })
  t.strictSame([name, version], ['go.mx.api.v1.greeter', 'latest'])
})

/** Whether the address accepts connections. */
function isListening(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(Number(address.split(':')[1]), '127.0.0.1')
    socket.on('error', () => resolve(false))
    socket.on('connect', () => {
      socket.destroy()
      resolve(true)
    })
  })
}

t.test('rejects unknown options, and handlers that are not endpoints', async (t) => {
  const build = (options?: unknown) => new Service(options as { name: string })
  t.throws(() => build(), /new Service: options must be an object, got undefined/)
  t.throws(
    () => build({ name: 'a', adress: ':1' }),
    /unknown option adress, did you mean address\?/,
  )
  const service = build({ name: 'a' })
  t.throws(() => service.handle('X', { a: () => 1 } as never), /X\.A must be created by endpoint/)
  t.throws(() => service.handle('X', undefined as never), /must be an object of endpoints/)
  await t.rejects(service.run({ signal: false } as never), /unknown option signal, did you mean/)
})

t.test('logs a misspelled MX_SERVICE_* variable with a suggestion', async (t) => {
  process.env['MX_SERVICE_ADDRES'] = '127.0.0.1:1'
  t.teardown(() => delete process.env['MX_SERVICE_ADDRES'])
  const service = createService(t)
  await service.start()
  t.match(service.log.records()[0], {
    message: 'unknown variable MX_SERVICE_ADDRES, did you mean MX_SERVICE_ADDRESS?',
    metadata: { level: 'warn' },
  })
})

t.test('does not warn about variables of mx server and mx api', async (t) => {
  process.env['MX_SERVER_ADDRESS'] = '127.0.0.1:1'
  process.env['MX_API_ADDRESS'] = '127.0.0.1:1'
  t.teardown(() => {
    delete process.env['MX_SERVER_ADDRESS']
    delete process.env['MX_API_ADDRESS']
  })
  const service = createService(t)
  await service.start()
  t.notMatch(service.log.records()[0], { message: /unknown variable/ })
})

t.test('registers with all its endpoints except Debug', async (t) => {
  const registry = openRegistry(t)
  const service = createService(t, {
    registry,
    version: '1.2.0',
    metadata: { owner: 'team-a' },
    broker: createMemoryBroker(),
    listener: 'node',
  })
    .handle('Helloworld', { call })
    .handle('Other', { watch: endpoint({ stream: 'server', idempotent: false, handle: () => [] }) })
  const address = await service.start()
  t.match(address, /^127\.0\.0\.1:\d+$/)
  t.equal(service.address, address)
  const [entry, ...others] = await registry.getService('greeter')
  t.strictSame(others, [])
  t.match(entry, { name: 'greeter', version: '1.2.0', metadata: { owner: 'team-a' } })
  t.strictSame(
    entry!.endpoints.map(({ name }) => name),
    ['Helloworld.Call', 'Other.Watch'],
  )
  t.match(entry!.endpoints[0], {
    request: { name: 'CallRequest', values: [{ name: 'name', type: 'string' }] },
    metadata: { description: 'Says hello.', requestSchema: /"name"/ },
  })
  t.match(entry!.endpoints[1]!.metadata, { stream: 'true', idempotent: 'false' })
  t.equal(entry!.nodes.length, 1)
  const [node] = entry!.nodes
  t.match(node!.id, /^greeter-[0-9a-f-]{36}$/)
  t.equal(node!.address, address)
  t.strictSame(node!.metadata, {
    protocol: 'mx',
    transport: 'http',
    server: 'node',
    registry: 'memory',
    broker: 'memory',
  })
  await service.stop()
  t.strictSame(await registry.getService('greeter'), [])
})

t.test('registers with a name of the maximum length', async (t) => {
  const registry = openRegistry(t)
  const name = 'x'.repeat(253)
  await createService(t, { registry, name }).start()
  t.equal((await registry.getService(name)).length, 1)
})

t.test('is called without sockets by clients of the same process', async (t) => {
  const registry = openRegistry(t)
  let release: (() => void) | undefined
  const service = createService(t, { registry }).handle('A', {
    call,
    wait: endpoint({
      handle: () =>
        new Promise<object>((resolve) => {
          release = () => resolve({})
        }),
    }),
  })
  await service.start()
  const [entry] = await registry.getService('greeter')
  const [node] = entry!.nodes
  const caller = findLocalCaller(node!)!
  const send = (name: string): RecordedCall => {
    const sent = new RecordedCall({ service: 'greeter', endpoint: `A.${name}` })
    caller.call(sent)
    return sent
  }
  const waiting = send('Wait')
  const done = send('Call')
  await waitUntil(() => done.events.length === 1)
  t.strictSame(done.events, ['reply "" {"message":"Hello John"}'])
  const stopping = service.stop()
  await waitUntil(() => send('Call').lost !== undefined)
  t.equal(send('Call').lost?.kind, 'unsent', 'the call may be sent to another node')
  t.strictSame(waiting.events, [])
  release!()
  await stopping
  t.strictSame(waiting.events, ['reply "" {}'])
  t.equal(send('Call').lost?.kind, 'connect')
  t.equal(findLocalCaller(node!), undefined)
})

t.test('two services of one name register two nodes', async (t) => {
  const registry = openRegistry(t)
  for (let i = 0; i < 2; i++) await createService(t, { registry }).handle('A', { call }).start()
  const [entry] = await registry.getService('greeter')
  t.equal(entry!.nodes.length, 2)
})

t.test(
  'listens on the address option, MX_SERVICE_ADDRESS or a random loopback port, in this order',
  async (t) => {
    const port = await findClosedPort()
    process.env['MX_SERVICE_ADDRESS'] = `127.0.0.1:${port}`
    t.teardown(() => delete process.env['MX_SERVICE_ADDRESS'])
    t.equal(await createService(t).start(), `127.0.0.1:${port}`)
    t.not(await createService(t, { address: 'localhost:0' }).start(), `127.0.0.1:${port}`)
  },
)

t.test('registers MX_INSTANCE as instance in the metadata of its node', async (t) => {
  process.env['MX_INSTANCE'] = 'c0ffee'
  t.teardown(() => delete process.env['MX_INSTANCE'])
  const registry = openRegistry(t)
  await createService(t, { registry }).start()
  const [entry] = await registry.getService('greeter')
  t.match(entry!.nodes, [{ metadata: { instance: 'c0ffee' } }])
})

t.test('is called by address without a registry', async (t) => {
  const service = createService(t).handle('Helloworld', { call })
  const client = openClient(t, { address: await service.start() })
  t.match(await client.call('greeter', 'Helloworld.Call', { name: 'John' }), {
    message: 'Hello John',
  })
})

t.test(
  'fails to start with a one-line message if the port is in use, and registers nothing',
  async (t) => {
    const { port } = await openRawBackend(t)
    const registry = openRegistry(t)
    const service = createService(t, { registry, address: `127.0.0.1:${port}` })
    await t.rejects(service.start(), {
      message: `cannot listen on 127.0.0.1:${port}: the port is already in use`,
    })
    t.strictSame(await registry.listServices(), [])
    await service.stop()
  },
)

t.test('closes its port if the registration fails', async (t) => {
  const port = await findClosedPort()
  const rejecting: Registry = {
    ...openRegistry(t),
    register() {
      throw new TypeError('registration rejected')
    },
  }
  const address = `127.0.0.1:${port}`
  await t.rejects(createService(t, { registry: rejecting, address }).start(), {
    message: 'cannot register greeter (memory): registration rejected',
  })
  t.equal(await createService(t, { address }).start(), address)
})

t.test('rejects changes and a second start once it has started', async (t) => {
  const service = createService(t, { broker: createMemoryBroker() }).handle('A', { call })
  t.throws(() => service.handle('A', { call }), /endpoint A\.Call is declared twice/)
  t.throws(() => service.handle('Debug', { call }), /the handler Debug is reserved/)
  t.throws(() => service.handle('a b', { call }), /handler must consist of letters/)
  t.equal(service.address, '')
  await service.start()
  t.throws(() => service.handle('B', { call }), /the service greeter has already started/)
  t.throws(() => service.subscribe('a', () => {}), /has already started/)
  t.throws(() => service.start(), /has already started/)
  const stopped = service.stop()
  t.equal(service.stop(), stopped)
  await stopped
  t.throws(() => service.start(), /has already started/)
  await createService(t).stop()
})

t.test('run with signals: false adds no signal handlers', async (t) => {
  const before = process.listenerCount('SIGTERM')
  const service = createService(t)
  t.match(await service.run({ signals: false }), /^127\.0\.0\.1:\d+$/)
  t.equal(process.listenerCount('SIGTERM'), before)
  const second = createService(t, { address: service.address })
  await t.rejects(second.run({ signals: false }), /the port is already in use/)
})

t.test('stop waits for a start in progress', async (t) => {
  const registry = openRegistry(t)
  const service = createService(t, { registry })
  const started = service.start()
  await service.stop()
  const client = openClient(t, { address: await started })
  await t.rejects(client.call('greeter', 'Debug.Health'), { code: 502 })
  t.strictSame(await registry.listServices(), [])
})

t.test('subscribes to topics while it runs, and requires a broker', async (t) => {
  t.throws(() => createService(t).subscribe('events', () => {}), {
    message: 'subscribing to events requires a broker: new Service({ broker })',
  })
  const broker = createMemoryBroker()
  const messages: unknown[] = []
  const service = createService(t, { broker }).subscribe(
    'events',
    ({ n }, ctx) => void messages.push([n, ctx.service]),
    { queue: 'workers', message: Type.Object({ n: Type.Integer() }) },
  )
  await service.start()
  const publish = (n: number): void => {
    void broker.publish('events', { headers: {}, body: Buffer.from(JSON.stringify({ n })) })
  }
  publish(1)
  await waitUntil(() => messages.length === 1)
  await service.stop()
  publish(2)
  await new Promise(setImmediate)
  t.strictSame(messages, [[1, 'greeter']])
  const invalid = createService(t, { broker }).subscribe('a b', () => {})
  await t.rejects(invalid.start(), { code: 400 })
})

t.test('Debug.Trace includes the outbound calls of the service', async (t) => {
  const registry = openRegistry(t)
  const inner = createService(t, { name: 'inner', registry }).handle('A', { call })
  await inner.start()
  const outer = createService(t, { name: 'outer', registry })
  outer.handle('A', {
    both: endpoint({
      async handle(_request, context) {
        const { A } = outer.client.service<typeof inner>('inner')
        return [
          await A.call({ name: 'in process' }, { context }),
          await remote.call('inner', 'A.Call', { name: 'remote' }, { context }),
        ]
      },
    }),
  })
  const remote = openClient(t, { registry })
  await outer.start()
  const replies = await openClient(t, { registry }).call(
    'outer',
    'A.Both',
    {},
    {
      metadata: { 'x-request-id': 'r-1' },
    },
  )
  t.strictSame(replies, [{ message: 'Hello in process' }, { message: 'Hello remote' }])
  const client = openClient(t, { registry })
  const { spans } = await client.call<{ spans: unknown[] }>('outer', 'Debug.Trace', { id: 'r-1' })
  t.match(spans, [
    { name: 'inner.A.Call', type: 'OUTBOUND', trace: 'r-1' },
    { name: 'outer.A.Both', type: 'INBOUND', trace: 'r-1' },
  ])
})

t.test('logs its start and its stop', async (t) => {
  const { log, lines } = createQuietLog()
  const service = createService(t, { log, listener: 'uws' })
  t.equal(service.log, log)
  const address = await service.start()
  await service.stop()
  t.match(
    lines.map((line) => JSON.parse(line)),
    [
      { service: 'greeter', address, server: 'uws', registry: 'none', msg: 'service ready' },
      { service: 'greeter', msg: 'service stopped' },
    ],
  )
})

t.test('logs its registry without credentials', async (t) => {
  const getRegistry = async (registry: Registry | string): Promise<unknown> => {
    const { log, lines } = createQuietLog()
    await createService(t, { log, registry }).start()
    const line = lines.find((line) => line.includes('service ready'))!
    return JSON.parse(line)['registry']
  }
  const port = await findClosedPort()
  t.equal(await getRegistry(openRegistry(t)), 'memory')
  t.equal(await getRegistry(` mx://127.0.0.1:${port}`), `mx://127.0.0.1:${port}`)
  const consul = `127.0.0.1:${port}?dc=a`
  t.equal(await getRegistry(`consul://secret@${consul}`), `consul://${consul}`)
})

for (const listener of ['uws', 'node'] as const) {
  t.test(`${listener}: stop() loses no call`, async (t) => {
    const registry = openRegistry(t)
    const start = async (): Promise<Service<object>> => {
      const service = createService(t, { registry, listener }).handle('A', {
        now: endpoint({ idempotent: false, handle: (request) => ({ request }) }),
        soon: endpoint({
          idempotent: false,
          async handle(request) {
            await new Promise((resolve) => setTimeout(resolve, 10))
            return { request }
          },
        }),
      })
      await service.start()
      return service
    }
    let services = [await start(), await start()]
    const fast = openClient(t, { registry, retries: 0 })
    let failures: unknown[] = []
    let created = 0
    let stopping = true
    const load = async (client: Client, id: number): Promise<void> => {
      for (let i = 0; stopping; i++) {
        const request = { id, i }
        try {
          const reply = await client.call('greeter', i % 2 === 0 ? 'A.Now' : 'A.Soon', request)
          if (JSON.stringify(reply) !== JSON.stringify({ request })) failures.push(reply)
        } catch (error) {
          failures.push(error)
        }
        created++
      }
    }
    const loads = Array.from({ length: 50 }, (_, id) => load(fast, id))
    for (let round = 0; round < 4; round++) {
      const before = created
      await waitUntil(() => created > before + 200)
      const next = await start()
      await services[0]!.stop()
      services = [services[1]!, next]
    }
    stopping = false
    await Promise.all(loads)
    t.ok(created > 800, `${created} calls`)
    t.strictSame(failures.slice(0, 3), [])
    failures = []
  })

  t.test(`${listener}: HTTP calls in flight finish with Connection: close`, async (t) => {
    let started = 0
    let release: () => void = () => {}
    const service = createService(t, { listener }).handle('A', {
      wait: endpoint({
        handle: () => {
          started++
          return new Promise<object>((resolve) => {
            release = () => resolve({ late: true })
          })
        },
      }),
    })
    const address = await service.start()
    const reply = fetch(`http://${address}`, {
      method: 'POST',
      headers: { 'mx-service': 'greeter', 'mx-endpoint': 'A.Wait' },
    })
    await waitUntil(() => started === 1)
    const stopped = service.stop()
    while (await isListening(address));
    release()
    const { headers, status } = await reply
    t.strictSame([status, headers.get('connection')], [200, 'close'])
    await stopped
  })

  t.test(
    `${listener}: a call that exceeds the timeout of stop() is aborted with 503 and logged`,
    async (t) => {
      const { log, lines } = createQuietLog()
      let aborted = false
      let started = 0
      const service = createService(t, { listener, log }).handle('A', {
        wait: endpoint({
          handle: (_request, ctx) => {
            started++
            return new Promise(() => {
              ctx.signal.addEventListener('abort', () => {
                aborted = true
              })
            })
          },
        }),
      })
      const client = openClient(t, { address: await service.start(), retries: 0 })
      const pending = client.call('greeter', 'A.Wait')
      await waitUntil(() => started === 1)
      const startMs = performance.now()
      const stopped = service.stop({ timeoutMs: 50 })
      await t.rejects(pending, { code: 503 })
      await stopped
      t.ok(performance.now() - startMs < 8000)
      t.ok(aborted)
      t.match(lines.join(''), /calls exceeded the shutdown timeout/)
    },
  )

  t.test(
    `${listener}: a stream of 200 000 messages with a slow reader stays bounded`,
    async (t) => {
      const registry = openRegistry(t)
      let created = 0
      const text = randomBytes(50).toString('hex')
      const service = createService(t, { registry, listener }).handle('A', {
        down: endpoint({
          response: Type.Object({ n: Type.Integer(), text: Type.String() }),
          stream: 'server',
          *handle() {
            for (; created < 200_000; created++) yield { n: created, text }
          },
        }),
      })
      await service.start()
      const client = openClient(t, { registry })
      const stream = client.stream<unknown, { n: number }>('greeter', 'A.Down', {})
      let read = 0
      let ahead = 0
      let invalid = 0
      let maximum = 0
      for await (const { n } of stream) {
        if (n !== read++) invalid++
        if (read % 1000 === 0) {
          await new Promise(setImmediate)
          ahead = Math.max(ahead, created - read)
          maximum = Math.max(maximum, process.memoryUsage().arrayBuffers)
        }
      }
      t.equal(read, 200_000)
      t.equal(invalid, 0)
      t.ok(ahead < 10_000, `the service was at most ${ahead} messages ahead`)
      t.ok(maximum < 64 * 1024 * 1024, `${maximum} bytes of buffers at most`)
    },
  )
}
