import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import t, { type Test } from 'tap'
import { WebSocket, WebSocketServer } from 'ws'
import type { Endpoint, Service } from '../../../core/contracts/registry.ts'
import { createGreeter } from '../../fixtures/greeter.ts'
import { openGreeterGateway } from '../../fixtures/greeter-gateway.ts'
import { listen } from '../../fixtures/listen.ts'
import { type MxService, openMxService } from '../../fixtures/mx-service.ts'
import { openRpcGateway } from '../../fixtures/rpc-gateway.ts'

const VALUE = { name: '', type: '', values: [] }

/** An HTTP server without the call protocol, and WebSockets that echo. */
async function openBackend(t: Test, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  new WebSocketServer({ server }).on('connection', (socket) => {
    socket.on('message', (data) => socket.send(`backend ${data}`))
  })
  return `127.0.0.1:${await listen(t, server)}`
}

function describe(address: string, endpoints: Record<string, Endpoint['metadata']>): Service {
  return {
    name: 'go.mx.api.site',
    version: 'latest',
    metadata: {},
    endpoints: Object.entries(endpoints).map(([name, metadata]) => ({
      name,
      request: VALUE,
      response: VALUE,
      metadata,
    })),
    nodes: [{ id: address, address, metadata: { protocol: 'http' } }],
  }
}

/** The greeter with declared routes. */
function withRoutes({ entry }: MxService, routes: Record<string, Endpoint['metadata']>): Service {
  return {
    ...entry,
    endpoints: entry.endpoints.map((endpoint) => ({
      ...endpoint,
      metadata: { ...endpoint.metadata, ...routes[endpoint.name] },
    })),
  }
}

t.test('the default handler uses the handler that the endpoint declares', async (t) => {
  const greeter = await openMxService(t, createGreeter(), {
    intercept: (call) => {
      if (call.endpoint !== 'Greeter.Echo') return false
      call.reply('', JSON.stringify({ statusCode: 201, body: 'page' }))
      return true
    },
  })
  const address = await openBackend(t, (request, response) =>
    response.end(`backend ${request.url}`),
  )
  const { origin, port, broker } = await openRpcGateway(t, [
    withRoutes(greeter, {
      'Greeter.Hello': { path: '/hello/{name}', method: 'GET', handler: 'rpc' },
      'Greeter.Echo': { path: '/pages/**', handler: 'api' },
      'Greeter.Nothing': { path: '/plain', method: 'POST' },
      'Greeter.Wait': { path: '/events/{id}', method: 'POST', handler: 'event' },
    }),
    describe(address, {
      'Site.Proxy': { path: '/files/**', handler: 'proxy' },
      'Site.Http': { path: '/http/**', handler: 'http' },
      'Site.Web': { path: '/socket', handler: 'web' },
    }),
  ])
  t.strictSame(await (await fetch(`${origin}/hello/John`)).json(), { message: 'Hello John' })
  t.strictSame(
    await (await fetch(`${origin}/plain`, { method: 'POST' })).json(),
    {},
    'rpc by default',
  )
  const page = await fetch(`${origin}/pages/a/b?c=1`, { method: 'PUT', body: 'text' })
  t.strictSame([page.status, await page.text()], [201, 'page'])
  t.equal(greeter.calls.at(-1)?.endpoint, 'Greeter.Echo')
  t.match(JSON.parse(greeter.calls.at(-1)!.body), { method: 'PUT', url: '/pages/a/b?c=1' })
  const message = new Promise<unknown>((resolve) => {
    void broker.subscribe('go.mx.api.greeter', ({ body }) =>
      resolve(JSON.parse(Buffer.from(body).toString())),
    )
  })
  const event = await fetch(`${origin}/events/7`, { method: 'POST', body: 'data' })
  t.match(await event.json(), { id: /^[\da-f-]{36}$/ })
  t.match(await message, { name: 'Greeter.Wait', data: 'data' })
  t.equal(await (await fetch(`${origin}/files/a?b=c`)).text(), 'backend /files/a?b=c')
  t.equal(await (await fetch(`${origin}/http/x`)).text(), 'backend /http/x')
  const socket = new WebSocket(`ws://127.0.0.1:${port}/socket`)
  t.teardown(() => socket.terminate())
  await once(socket, 'open')
  socket.send('hi')
  const [data] = await once(socket, 'message')
  t.equal(String(data), 'backend hi')
})

t.test('a service without endpoints uses the handler of its metadata', async (t) => {
  const address = await openBackend(t, ({ method, url }, response) =>
    response.end(`${method} ${url}`),
  )
  const greeter = await openMxService(t, createGreeter())
  const plain = (handler: string): Service => ({
    ...describe(address, {}),
    name: `go.mx.api.${handler}`,
    metadata: { handler },
  })
  const { origin, port, registry } = await openRpcGateway(t, [
    plain('proxy'),
    plain('http'),
    plain('web'),
    { ...greeter.entry, endpoints: [], metadata: { handler: 'rpc' } },
  ])
  for (const name of ['proxy', 'http']) {
    t.equal(await (await fetch(`${origin}/${name}`)).text(), `GET /${name}`)
    const reply = await fetch(`${origin}/${name}/a/b?c=1`, { method: 'PUT', body: '1' })
    t.equal(await reply.text(), `PUT /${name}/a/b?c=1`)
  }
  const socket = new WebSocket(`ws://127.0.0.1:${port}/web/socket`)
  t.teardown(() => socket.terminate())
  await once(socket, 'open')
  const hello = async () => (await fetch(`${origin}/greeter/hello?name=x`)).json()
  t.strictSame(await hello(), { message: 'Hello x' }, 'rpc')
  await registry.register?.({ ...greeter.entry, metadata: { handler: 'proxy' } })
  t.strictSame(await hello(), { message: 'Hello x' }, 'a service with endpoints is called')
})

t.test('the default handler is rpc if no route matches', async (t) => {
  const greeter = await openMxService(t, createGreeter())
  const { origin } = await openRpcGateway(t, [
    withRoutes(greeter, { 'Greeter.Hello': { path: '/hello/{name}', method: 'GET' } }),
  ])
  t.strictSame(await (await fetch(`${origin}/greeter/hello?name=x`)).json(), { message: 'Hello x' })
  t.equal((await fetch(`${origin}/hello/x/y`)).status, 404)
})

t.test('serves added routes and stops serving removed ones', async (t) => {
  const {
    gateway: { registry },
    origin,
    service: greeter,
  } = await openGreeterGateway(t)
  t.equal((await fetch(`${origin}/hello/x`)).status, 404)
  await registry.register?.(withRoutes(greeter, { 'Greeter.Hello': { path: '/hello/{name}' } }))
  const status = async (): Promise<number> => (await fetch(`${origin}/hello/x`)).status
  while ((await status()) !== 200) await new Promise(setImmediate)
  await registry.deregister?.(greeter.entry)
  while ((await status()) !== 404) await new Promise(setImmediate)
})

t.test('other handlers ignore the handlers that endpoints declare', async (t) => {
  const greeter = await openMxService(t, createGreeter())
  const entry = withRoutes(greeter, {
    'Greeter.Hello': { path: '/greeter/hello', handler: 'event' },
  })
  for (const flags of [['--handler=rpc'], ['--handler=rpc', '--resolver=endpoint']]) {
    const { origin } = await openRpcGateway(t, [entry], { flags })
    t.strictSame(await (await fetch(`${origin}/greeter/hello?name=x`)).json(), {
      message: 'Hello x',
    })
  }
})

t.test('GET / returns the version with every handler', async (t) => {
  for (const handler of ['meta', 'rpc', 'api', 'proxy', 'event', 'web']) {
    const { origin } = await openRpcGateway(t, [], { flags: [`--handler=${handler}`] })
    const reply = await fetch(origin)
    t.strictSame([reply.status, await reply.text()], [200, '{"version": "1.2.3"}'], handler)
  }
})
