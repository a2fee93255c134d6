import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { Type } from '../../../core/schema.ts'
import { Client } from '../../../sdk/client/client.ts'
import { createContext, metadata } from '../../../sdk/context.ts'
import { ServiceError } from '../../../sdk/errors.ts'
import { endpoint } from '../../../sdk/service/endpoint.ts'
import type { ServiceOptions } from '../../../sdk/service/service.ts'
import { openPlatformRegistry } from '../../fixtures/platform-registry.ts'
import { LOADER, toModule, toNodeArgs } from '../../fixtures/programs.ts'
import { openRawBackend, waitUntil } from '../../fixtures/raw-backend.ts'
import { createTracker } from '../../fixtures/rpc.ts'
import { openPort } from '../../fixtures/rpc-proxy.ts'
import { openRpcService } from '../../fixtures/rpc-service.ts'
import {
  createQuietLog,
  createService,
  openClient,
  openRegistry,
  registerPorts,
} from '../../fixtures/sdk-services.ts'
import { makeNode, makeService } from '../../fixtures/services.ts'

const LISTENERS = ['uws', 'node'] as const

async function open(t: Test, options: Partial<ServiceOptions> = {}) {
  const registry = openRegistry(t)
  const service = createService(t, { registry, ...options }).handle('Helloworld', {
    call: endpoint({
      request: Type.Object({ name: Type.String() }),
      response: Type.Object({ message: Type.String() }),
      handle: ({ name }) => ({ message: `Hello ${name}` }),
    }),
    wait: endpoint({
      handle: (_request, ctx) =>
        new Promise((_resolve, reject) => {
          ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))
        }),
    }),
    seen: endpoint({ handle: (_request, ctx) => Object.fromEntries(pairs(ctx.fields)) }),
  })
  await service.start()
  return { registry, service }
}

function pairs(fields: readonly string[]): [string, string][] {
  return Array.from({ length: fields.length / 2 }, (_, i) => [fields[2 * i]!, fields[2 * i + 1]!])
}

for (const listener of LISTENERS) {
  t.test(`${listener}: a call over a socket returns the response or the error`, async (t) => {
    const { registry } = await open(t, { listener })
    const client = openClient(t, { registry })
    t.strictSame(await client.call('greeter', 'Helloworld.Call', { name: 'John' }), {
      message: 'Hello John',
    })
    await t.rejects(client.call('greeter', 'Helloworld.Call', { name: 5 }), {
      id: 'greeter',
      code: 400,
      message: 'request.name must be a string, got 5',
    })
  })

  t.test(`${listener}: 20,000 concurrent calls receive their own responses`, async (t) => {
    const { registry } = await open(t, { listener })
    const client = openClient(t, { registry, timeoutMs: 60_000 })
    const { Helloworld } = client.service<{
      Helloworld: { call: ReturnType<typeof endpoint<never, never>> }
    }>('greeter')
    await client.call('greeter', 'Helloworld.Call', { name: 'first' })
    const calls = Array.from({ length: 20_000 }, (_, i) =>
      Helloworld.call({ name: String(i) } as never),
    )
    const replies = (await Promise.all(calls)) as { message: string }[]
    const invalid = replies.findIndex(({ message }, i) => message !== `Hello ${i}`)
    t.equal(invalid, -1)
  })

  t.test(`${listener}: a timeout returns 408 and aborts the signal of the handler`, async (t) => {
    let started = false
    let aborted: unknown
    const registry = openRegistry(t)
    const service = createService(t, { registry, listener }).handle('A', {
      b: endpoint({
        handle: (_request, ctx) =>
          new Promise((resolve) => {
            started = true
            ctx.signal.addEventListener('abort', () => {
              aborted = ctx.signal.reason
              resolve({})
            })
          }),
      }),
    })
    await service.start()
    const client = openClient(t, { registry })
    // On a busy machine the timeout may expire before the call arrives.
    for (let timeoutMs = 100; !started; timeoutMs *= 2)
      await t.rejects(client.call('greeter', 'A.B', {}, { timeoutMs }), { code: 408 })
    await waitUntil(() => aborted !== undefined)
    t.match((aborted as Error).name, /TimeoutError|AbortError/)
  })

  t.test(`${listener}: a connection stays fast with 99,000 pending calls`, async (t) => {
    let pending = 0
    const waiting: (() => void)[] = []
    const registry = openRegistry(t)
    const service = createService(t, { registry, listener }).handle('A', {
      wait: endpoint({
        handle: () =>
          new Promise<object>((resolve) => {
            pending++
            waiting.push(() => resolve({}))
          }),
      }),
      now: endpoint({ handle: () => ({ now: true }) }),
    })
    await service.start()
    const client = openClient(t, { registry, timeoutMs: 100_000 })
    await client.call('greeter', 'A.Now')
    const calls = Array.from({ length: 99_000 }, () => client.call('greeter', 'A.Wait'))
    await waitUntil(() => pending === 99_000)
    const startMs = performance.now()
    for (let i = 0; i < 200; i++) await client.call('greeter', 'A.Now')
    const perCallMs = (performance.now() - startMs) / 200
    t.ok(perCallMs < 50, `${perCallMs} ms per call`)
    for (const release of waiting) release()
    t.equal((await Promise.all(calls)).length, 99_000)
  })
}

t.test('client disconnect aborts the handler', async (t) => {
  const registry = openRegistry(t)
  let aborted = ''
  let started = false
  const service = createService(t, { registry }).handle('A', {
    b: endpoint({
      handle: (_request, ctx) => {
        started = true
        return new Promise((resolve) => {
          ctx.signal.addEventListener('abort', () => {
            aborted = (ctx.signal.reason as Error).name
            resolve({})
          })
        })
      },
    }),
  })
  const address = await service.start()
  const source = `
    import { Client } from ${JSON.stringify(toModule(new URL('../../../sdk/client/client.ts', import.meta.url)))}
    new Client({ address: ${JSON.stringify(address)} }).call('greeter', 'A.B')
  `
  const child = spawn(process.execPath, [...LOADER, '--input-type=module', '-e', source], {
    stdio: 'ignore',
  })
  await waitUntil(() => started)
  child.kill('SIGKILL')
  await once(child, 'exit')
  await waitUntil(() => aborted !== '')
  t.equal(aborted, 'AbortError')
})

t.test('a typed error has code, id and detail', async (t) => {
  const { registry } = await open(t)
  for (const inProcess of [false, true]) {
    const client = openClient(t, { registry, inProcess })
    const error: unknown = await client.call('greeter', 'Helloworld.Nope').catch((thrown) => thrown)
    t.ok(error instanceof ServiceError)
    t.strictSame((error as ServiceError).toBody(), {
      Id: 'greeter',
      Code: 404,
      Detail: 'endpoint not found: greeter.Helloworld.Nope',
      Status: 'Not Found',
    })
  }
})

t.test('an address takes precedence over the registry, with either transport', async (t) => {
  const { service } = await open(t)
  const { address } = service
  const call = (client: Client, options = {}) =>
    client.call('any.greeter', 'Helloworld.Call', { name: 'John' }, options)
  t.match(await call(openClient(t, { address })), { message: 'Hello John' })
  t.match(await call(openClient(t, { address: `http://${address}` })), { message: 'Hello John' })
  const client = openClient(t, {})
  t.match(await call(client, { address: `mx://${address}` }), { message: 'Hello John' })
  await t.rejects(call(client), /calling any\.greeter requires a registry, a proxy or an address/)
  await t.rejects(call(client, { address: 'nowhere' }), /address must be host:port/)
  const other = openClient(t, { address: `http://${address}` })
  await t.rejects(other.call('greeter', 'Helloworld.Nope'), { code: 404 })
  const up = other.stream('greeter', 'Helloworld.Call', [{ name: 'John' }])
  await t.rejects(up.reply(), { code: 400 }, 'streams require the WebSocket transport')
})

t.test('a token is sent to the platform and its services, not to other addresses', async (t) => {
  const { registry, service } = await open(t)
  const stranger = await open(t)
  const readToken = async (client: Client, address?: string) => {
    const options = address === undefined ? {} : { address }
    const response = await client.call('greeter', 'Helloworld.Seen', {}, options)
    return (response as { authorization?: string }).authorization
  }
  const configuredAddress = service.address
  const unknown = stranger.service.address
  const result = openClient(t, { registry, token: 'own' })
  t.equal(await readToken(result), 'Bearer own')
  t.equal(await readToken(result, configuredAddress), 'Bearer own', 'a node of the registry')
  t.equal(await readToken(result, unknown), undefined)
  const tokenClient = openClient(t, { address: configuredAddress, token: 'own' })
  t.equal(await readToken(tokenClient), 'Bearer own', 'the address configured with the token')
  t.equal(await readToken(tokenClient, unknown), undefined)
  const proxied = openClient(t, { proxy: configuredAddress, token: 'own' })
  t.equal(await readToken(proxied, `mx://${configuredAddress}`), 'Bearer own')
  t.equal(await readToken(proxied, unknown), undefined)
})

t.test('credentials from the environment are not sent to an explicit address', async (t) => {
  const { service } = await open(t)
  const before = { ...process.env }
  t.teardown(() => {
    process.env = before
  })
  process.env['MX_REGISTRY'] = 'mx://127.0.0.1:1'
  process.env['MX_AUTH_ID'] = 'greeter'
  process.env['MX_AUTH_SECRET'] = 'secret'
  const client = openClient(t, { address: service.address })
  t.match(await client.call('greeter', 'Helloworld.Seen', {}), { authorization: undefined })
})

t.test('the login goes to the auth service of the registry', async (t) => {
  const auth = createService(t, { name: 'auth' }).handle('Auth', {
    token: endpoint({
      handle: () => ({ token: { access_token: 'found', created: 0, expiry: 900 } }),
    }),
  })
  await auth.start()
  const { address, registry } = await openPlatformRegistry(t)
  const { service } = await open(t)
  for (const { name, address } of [auth, service])
    await registry.register!(makeService(name, [makeNode(address, { protocol: 'mx' })]))
  const client = openClient(t, {
    registry: `mx://${address}`,
    auth: { id: 'greeter', secret: 'secret' },
  })
  t.match(await client.call('greeter', 'Helloworld.Seen', {}), { authorization: 'Bearer found' })
})

t.test('metadata of the context is forwarded over each transport', async (t) => {
  const { registry } = await open(t)
  const client = openClient(t, { registry, namespace: 'shop' })
  const context = metadata.set(createContext({ metadata: { 'x-request-id': 'r-1' } }), 'a', 'b')
  t.strictSame(await client.call('greeter', 'Helloworld.Seen', {}, { context }), {
    'x-request-id': 'r-1',
    a: 'b',
    'mx-namespace': 'shop',
  })
  t.strictSame(
    await client.call('greeter', 'Helloworld.Seen', {}, { namespace: '', metadata: { c: 'd' } }),
    { c: 'd' },
  )
  const plain = openClient(t, { address: `http://${(await open(t)).service.address}` })
  const response = await plain.call('greeter', 'Helloworld.Seen', {}, { context, namespace: 'n' })
  t.match(response, { 'x-request-id': 'r-1', a: 'b', 'mx-namespace': 'n' })
})

t.test('the deadline of a context limits the call, and the remaining time is sent', async (t) => {
  const { dispatch, calls } = createTracker()
  const { port } = await openRpcService(t, dispatch)
  const client = openClient(t, { address: `127.0.0.1:${port}` })
  const call = (options: object) => client.call('greeter', 'A.B', {}, options).catch(() => {})
  const sent = async (options: object): Promise<number> => {
    const controller = new AbortController()
    const before = calls.length
    const done = call({ signal: controller.signal, ...options })
    await waitUntil(() => calls.length > before)
    controller.abort()
    await done
    return calls.at(-1)!.timeoutMs
  }
  const isNear = (ms: number, expected: number) => ms <= expected && ms > expected - 500
  t.ok(isNear(await sent({}), 10_000))
  t.ok(isNear(await sent({ timeoutMs: 2000 }), 2000))
  t.equal(await sent({ timeoutMs: Number.POSITIVE_INFINITY }), 0)
  const context = createContext({ timeoutMs: 3000 })
  t.ok(isNear(await sent({ context }), 3000))
  t.ok(isNear(await sent({ context, timeoutMs: 1000 }), 1000))
  t.ok(isNear(await sent({ context, timeoutMs: 9000 }), 3000))
  t.ok(isNear(await sent({ context, timeoutMs: Number.POSITIVE_INFINITY }), 3000))
  const expired = createContext({ timeoutMs: 1 })
  await new Promise((resolve) => setTimeout(resolve, 5))
  await t.rejects(client.call('greeter', 'A.B', {}, { context: expired }))
})

t.test('aborting a call aborts the calls made with its context', async (t) => {
  const registry = openRegistry(t)
  let started = false
  let innerAborted = false
  const inner = createService(t, { name: 'inner', registry }).handle('A', {
    wait: endpoint({
      handle: (_request, ctx) =>
        new Promise((resolve) => {
          started = true
          ctx.signal.addEventListener('abort', () => {
            innerAborted = true
            resolve({})
          })
        }),
    }),
  })
  await inner.start()
  const client = openClient(t, { registry })
  const outer = createService(t, { name: 'outer', registry }).handle('A', {
    call: endpoint({
      handle: (_request, context) => client.call('inner', 'A.Wait', {}, { context }),
    }),
  })
  await outer.start()
  const controller = new AbortController()
  const call = client.call('outer', 'A.Call', {}, { signal: controller.signal })
  await waitUntil(() => started)
  controller.abort()
  await t.rejects(call, { name: 'AbortError' })
  await waitUntil(() => innerAborted)
})

t.test('50 concurrent calls with one signal emit no warning', async (t) => {
  const { registry } = await open(t)
  const client = openClient(t, { registry })
  const warnings: Error[] = []
  const onWarning = (warning: Error): void => void warnings.push(warning)
  process.on('warning', onWarning)
  t.teardown(() => process.off('warning', onWarning))
  const context = createContext({ timeoutMs: 5000 })
  const { signal } = new AbortController()
  for (const options of [{ context }, { signal }, { context, signal }]) {
    const calls = Array.from({ length: 50 }, () =>
      client.call('greeter', 'Helloworld.Call', { name: 'John' }, options),
    )
    await Promise.all(calls)
  }
  await new Promise(setImmediate)
  t.strictSame(warnings, [])
})

t.test('invalid names and options are rejected before any request', async (t) => {
  const client = openClient(t, { address: '127.0.0.1:1' })
  for (const name of ['', 'a b', '..', 'a\r\nb', 'x'.repeat(300)])
    await t.rejects(client.call(name, 'A.B'), /service must be letters/, name)
  for (const name of ['', 'A B', 'A.B\r\n', 'x'.repeat(300)])
    await t.rejects(client.call('greeter', name), /endpoint must be/, name)
  for (const timeoutMs of [0, -1, Number.NaN, '5'])
    await t.rejects(
      client.call('greeter', 'A.B', {}, { timeoutMs: timeoutMs as number }),
      /timeoutMs must be more than 0/,
    )
  await t.rejects(client.call('greeter', 'A.B', {}, { retries: -1 }), /retries must be/)
  await t.rejects(
    client.call('greeter', 'A.B', {}, { metadata: { 'mx-account': '{}' } }),
    TypeError,
  )
  await t.rejects(client.call('greeter', 'A.B', {}, { timeout: 3 } as never), {
    name: 'TypeError',
    message: 'call options: unknown option timeout, did you mean timeoutMs?',
  })
  t.throws(() => new Client({ adress: 'a:1' } as never), /new Client: unknown option adress/)
  t.throws(() => new Client({ address: 'foo' }), /address must be host:port .*, got "foo"/)
  t.throws(() => client.stream('greeter', ''), TypeError)
  t.throws(() => new Client({ timeoutMs: 0 }), TypeError)
  t.throws(() => new Client({ retries: 1.5 }), TypeError)
})

t.test('a closed client rejects calls, and calls in flight complete', async (t) => {
  const { registry } = await open(t)
  const { dispatch, calls } = createTracker()
  const { port, sockets } = await openRpcService(t, dispatch)
  registerPorts(registry, 'slow', [port])
  const client = openClient(t, { registry })
  const call = client.call('slow', 'A.B')
  await waitUntil(() => calls.length === 1)
  client.close()
  await t.rejects(client.call('greeter', 'Helloworld.Call'), /the client is closed/)
  calls[0]!.reply('', '{"late":true}')
  t.strictSame(await call, { late: true })
  await waitUntil(() => sockets[0]!.readyState === sockets[0]!.CLOSED)
})

t.test('closing a client ends its streams with an error', async (t) => {
  const { registry } = await open(t)
  const { dispatch, calls } = createTracker()
  const { port, sockets } = await openRpcService(t, dispatch)
  registerPorts(registry, 'slow', [port])
  const client = openClient(t, { registry })
  const reading = client.stream('slow', 'A.B', {}).next()
  await waitUntil(() => calls.length === 1)
  client.close()
  await t.rejects(reading, { name: 'TypeError', message: 'the client is closed' })
  await waitUntil(() => calls[0]!.isSettled)
  await waitUntil(() => sockets[0]!.readyState === sockets[0]!.CLOSED)
})

t.test('killing one of two services under load fails only calls in flight', async (t) => {
  const registry = openRegistry(t)
  const fixture = new URL('../../fixtures/killable.ts', import.meta.url)
  const child = spawn(process.execPath, toNodeArgs(fixture), {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  const remainingService = createService(t, { registry }).handle('A', {
    where: endpoint({ handle: async () => ({ pid: process.pid }) }),
  })
  await remainingService.start()
  const entry = (await registry.getService('greeter'))[0]!
  void registry.register!({
    ...entry,
    nodes: [{ id: 'killed', address: String(line).trim(), metadata: { protocol: 'mx' } }],
  })
  const client = openClient(t, { registry })
  const pids = new Set<unknown>()
  let created = 0
  let killed = false
  const failures: unknown[] = []
  const load = async (): Promise<void> => {
    for (let i = 0; i < 200; i++) {
      try {
        pids.add(((await client.call('greeter', 'A.Where')) as { pid: number }).pid)
      } catch (error) {
        failures.push((error as Error).message)
      }
      if (++created > 1000 && !killed) killed = child.kill('SIGKILL')
    }
  }
  await Promise.all(Array.from({ length: 20 }, load))
  t.equal(pids.size, 2)
  t.ok(killed)
  t.ok(failures.length <= 20, `${failures.length} of 20 calls in flight failed`)
  t.ok(failures.every((message) => message === 'bad gateway: the service closed the connection'))
  pids.clear()
  for (let i = 0; i < 10; i++)
    pids.add(((await client.call('greeter', 'A.Where')) as { pid: number }).pid)
  t.strictSame([...pids], [process.pid], 'the killed node is skipped')
})

t.test('a log line of a failed handler carries the request id of the caller', async (t) => {
  const { log, lines } = createQuietLog()
  const registry = openRegistry(t)
  const service = createService(t, { registry, log }).handle('A', {
    b: endpoint({
      handle() {
        throw new Error('boom')
      },
    }),
  })
  await service.start()
  const context = createContext()
  const client = openClient(t, { registry })
  await t.rejects(client.call('greeter', 'A.B', {}, { context, retries: 0 }), {
    code: 500,
    message: 'internal error',
  })
  const line = lines.map((text) => JSON.parse(text)).find(({ level }) => level === 50)
  t.equal(line.id, context.id)
})

t.test('an unreachable, invalid or closing proxy returns 502 with the reason', async (t) => {
  const { port: silent } = await openRawBackend(t, {
    onRequest: (connection) => connection.send('HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n'),
  })
  const port = await openPort(t, () => void port.close())
  const cases: [string, RegExp][] = [
    ['127.0.0.1:1', /the RPC proxy refused the connection/],
    [`127.0.0.1:${silent}`, /the RPC proxy does not speak the call protocol/],
    [port.address, /the RPC proxy closed the connection/],
  ]
  for (const [proxy, message] of cases) {
    const client = openClient(t, { proxy, retries: 0 })
    await t.rejects(client.call('greeter', 'A.B'), { id: 'greeter', code: 502, message }, proxy)
  }
})
