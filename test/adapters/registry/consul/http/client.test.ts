import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import {
  type ClientOptions,
  type ConsulClient,
  createConsulClient,
} from '../../../../../adapters/registry/consul/http/client.ts'
import { waitUntil } from '../../../../contracts/registry.ts'
import { sendJson, startConsulDouble } from '../../../../fixtures/consul-double.ts'
import { LOADER, toModule } from '../../../../fixtures/programs.ts'

const TOKEN = 'secret-0123456789'

function open(t: Test, options: Partial<ClientOptions>): ConsulClient {
  const client = createConsulClient({
    maxWaiting: 4,
    maxCalls: 4,
    maxResponseBytes: 1000,
    ...options,
  })
  t.teardown(client.close)
  return client
}

function list(client: ConsulClient, options: object = {}): ReturnType<ConsulClient['request']> {
  return client.request((consul, call) => consul.catalog.service.list(call), {
    needs: 'service:read',
    ...options,
  })
}

t.test('returns the response with its index and sends token and datacenter', async (t) => {
  const double = await startConsulDouble(t, (_, response) =>
    sendJson(response, { web: [] }, { 'x-consul-index': '42' }),
  )
  const { host, port } = double
  const client = open(t, { host, port, token: TOKEN, datacenter: 'eu west' })
  const { index, filtered, chunks } = await list(client)
  t.same([index, filtered, Buffer.concat(chunks).toString()], ['42', false, '{"web":[]}'])
  const [request] = double.requests
  t.equal(request?.headers['x-consul-token'], TOKEN)
  t.equal(request?.query.get('dc'), 'eu west')
  t.notOk([...(request?.query.values() ?? [])].includes(TOKEN))
  for (let i = 0; i < 5; i++) await list(client)
  t.equal(double.countConnections(), 1, 'connections are kept alive')
})

t.test('sends fields that the library does not support', async (t) => {
  const double = await startConsulDouble(t, (_, response) => sendJson(response, {}))
  await open(t, double).request(
    (consul, call) => consul.agent.service.register({ name: 'a', ...call }),
    {
      needs: '',
      extra: { Weights: { Passing: 3 } },
    },
  )
  t.same(JSON.parse(double.requests[0]?.body ?? ''), { Name: 'a', Weights: { Passing: 3 } })
})

t.test('aborts a response beyond the limit', async (t) => {
  let sent = 0
  const double = await startConsulDouble(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const writeChunks = (): void => {
      if (response.destroyed) return
      sent += 65_536
      if (response.write(Buffer.alloc(65_536))) setImmediate(writeChunks)
      else response.once('drain', writeChunks)
    }
    writeChunks()
  })
  await t.rejects(list(open(t, double)), {
    message: 'the Consul response exceeds the limit of 1000 bytes',
  })
  await waitUntil(() => double.countConnections() === 0)
  t.ok(sent < 64 * 2 ** 20, `${sent} bytes`)
})

t.test('fails immediately when a response is incomplete', async (t) => {
  const double = await startConsulDouble(t, (_, response) => {
    response.writeHead(200, { 'content-length': '100' })
    response.write('{')
    setImmediate(() => response.destroy())
  })
  await t.rejects(list(open(t, double)), { message: /closed before the response was complete/ })
})

t.test('does not expose the token in errors', async (t) => {
  const double = await startConsulDouble(t, ({ query }, response) => {
    const status = Number(query.get('dc'))
    if (status === 0) return void response.destroy()
    response.writeHead(status, { 'content-type': 'text/plain' })
    response.end(`rpc error: Permission denied for ${TOKEN}`)
  })
  const agents = new Set<unknown>()
  const collect = (value: unknown): string[] => {
    if (typeof value === 'string') return [value]
    if (typeof value !== 'object' || value === null || agents.has(value)) return []
    agents.add(value)
    return Reflect.ownKeys(value).flatMap((key) => collect(Reflect.get(value, key)))
  }
  for (const datacenter of ['403', '500', '404', '0']) {
    const client = open(t, { ...double, token: TOKEN, datacenter })
    const error = await list(client).then(
      () => undefined,
      (error: unknown) => error,
    )
    t.match(error, { message: /Consul/ })
    t.notOk(
      collect(error).some((text) => text.includes(TOKEN)),
      String(error),
    )
  }
})

t.test('distinguishes denials from outages', async (t) => {
  const responses: Readonly<Record<string, [number, string]>> = {
    a: [403, 'ACL not found'],
    b: [403, 'Permission denied'],
    c: [500, 'No cluster leader'],
    d: [429, 'Your IP is issuing too many concurrent connections'],
  }
  const double = await startConsulDouble(t, ({ query }, response) => {
    const [status, text] = responses[query.get('dc') ?? '']!
    response.writeHead(status, { 'content-type': 'text/plain' }).end(text)
  })
  const sendRequest = (datacenter: string): Promise<unknown> =>
    list(open(t, { ...double, datacenter }))
  await t.rejects(sendRequest('a'), { denied: true, message: /rejected the token/ })
  await t.rejects(sendRequest('b'), { denied: true, message: /the token needs service:read/ })
  await t.rejects(sendRequest('c'), {
    denied: false,
    message: `Consul at 127.0.0.1:${double.port} returned 500: No cluster leader`,
  })
  await t.rejects(sendRequest('d'), {
    denied: false,
    message: /raise its limits.http_max_conns_per_client/,
  })
})

t.test('fails on timeout and immediately on abort', async (t) => {
  const double = await startConsulDouble(t, () => {})
  const client = open(t, double)
  await t.rejects(list(client, { timeoutMs: 20 }), { message: /is unreachable: .*20ms/ })
  const stopper = new AbortController()
  const pending = list(client, { signal: stopper.signal })
  await waitUntil(() => double.requests.length === 2)
  stopper.abort(new Error('stopped'))
  await t.rejects(pending, { message: 'stopped' })
  await waitUntil(() => double.countConnections() === 0)
})

t.test('retries on a new connection when the agent closed an idle one', async (t) => {
  let count = 0
  const double = await startConsulDouble(t, (_, response) => {
    if (++count === 2) response.socket?.resetAndDestroy()
    else sendJson(response, {})
  })
  const client = open(t, double)
  await list(client)
  await list(client)
  t.equal(count, 3)
})

t.test(
  'reports a port that closes every connection, even if nothing else keeps the process alive',
  async (t) => {
    const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
    t.teardown(() => server.close())
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const source = new URL('../../../../../sdk/client/client.ts', import.meta.url)
    const program = `
    const { Client } = await import(${JSON.stringify(toModule(source).href)})
    const client = new Client({ registry: 'consul://127.0.0.1:${port}' })
    await client.call('greeter', 'Greeter.Hello').catch(({ code, message }) => console.log(code, message))
    client.close()`
    const args = [...LOADER, '--input-type=module', '-e', program]
    const { stdout } = await promisify(execFile)(process.execPath, args)
    t.match(stdout, /^503 .*the registry is unavailable\n$/)
  },
)

t.test('rejects calls after close', async (t) => {
  const double = await startConsulDouble(t, () => {})
  const client = open(t, double)
  const pending = list(client)
  await waitUntil(() => double.requests.length === 1)
  client.close()
  await t.rejects(pending, { message: 'the registry is closed' })
})

t.test('connects to an IPv6 address', async (t) => {
  await t.rejects(list(open(t, { host: '::1', port: 1 })), {
    message: /Consul at \[::1\]:1 .*ECONNREFUSED/,
  })
})
