import { type AddressInfo, createServer } from 'node:net'
import t from 'tap'
import { waitForValue } from '../fixtures/becomes.ts'
import { makeGreeter, openDeployer } from '../fixtures/deployer.ts'
import { openClient } from '../fixtures/sdk-services.ts'
import { startServerProcess } from '../fixtures/server-process.ts'

t.test('restores the services of a killed server, each once', async (t) => {
  const server = await startServerProcess(t)
  const deployer = openDeployer(t, openClient(t, { proxy: server.proxy, token: server.token }))
  await deployer.create('greeter', makeGreeter('one'), { env: ['A=1'] })
  await deployer.create('broken', { 'mx.yaml': 'build: exit 1\ncommand: node a.js' })
  t.match(await deployer.settled('greeter'), { status: 4 })
  t.match(await deployer.settled('broken'), { status: 7 })
  await server.kill()
  const next = await startServerProcess(t, [], { home: server.home })
  const reopened = openDeployer(t, openClient(t, { proxy: next.proxy, token: next.token }))
  t.match(await reopened.settled('greeter'), { status: 4 })
  // The stored status is running until the runtime has checked.
  await waitForValue(t, async () => (await fetch(`${next.gateway}/greeter/call`)).status, 200)
  const sendRequest = async (path: string) =>
    (await fetch(`${next.gateway}/greeter/${path}`)).json()
  t.same(await sendRequest('call'), { answer: 'one' })
  t.same(await sendRequest('env?name=A'), { value: '1' })
  t.match(
    (await reopened.read()).map(({ name, status }) => [name, status]),
    [
      ['broken', 7],
      ['greeter', 4],
    ],
  )
  const { services } = await reopened.client.call<{ services: { nodes: unknown[] }[] }>(
    'registry',
    'Registry.GetService',
    { service: 'greeter' },
  )
  t.equal(services[0]!.nodes.length, 1)
})

/** Calls `begin` when a port opens. */
const waitFor = (port: number): string => `
const wait = () => {
  const socket = require('node:net').connect(${port}, '127.0.0.1')
  socket.on('error', () => setTimeout(wait, 20)).on('connect', () => {
    socket.destroy()
    begin()
  })
}
wait()`

t.test(
  'rejects requests by name and path with 503 for a service that has not started again after a restart',
  async (t) => {
    // It starts to listen when this port opens.
    const gate = createServer()
    const open = (port = 0) =>
      new Promise<void>((done) => void gate.listen(port, '127.0.0.1', done))
    await open()
    t.teardown(() => gate.close())
    const { port } = gate.address() as AddressInfo
    const program = `
const begin = () => require('node:http').createServer((q, r) => r.end('up')).listen(process.env.PORT, '127.0.0.1')
${waitFor(port)}`
    const files = { 'main.cjs': program, 'mx.yaml': 'command: node main.cjs\nprotocol: http\n' }
    const declaring = `
import { connect } from 'node:net'
import { endpoint, Service } from 'mx-gateway'
const begin = () =>
  new Service({ name: 'orders' })
    .handle('Orders', { list: endpoint({ http: { method: 'GET', path: '/v1/orders/{id}' }, handle: () => ({}) }) })
    .run()
const require = () => ({ connect })
${waitFor(port)}`
    const server = await startServerProcess(t)
    const deployer = openDeployer(t, openClient(t, { proxy: server.proxy, token: server.token }))
    await deployer.create('slow', files)
    await deployer.create('orders', { 'main.mjs': declaring })
    await deployer.create('broken', { 'mx.yaml': 'build: exit 1\ncommand: node a.js' })
    t.match(await deployer.settled('slow'), { status: 4 })
    t.match(await deployer.settled('orders'), { status: 4 })
    t.match(await deployer.settled('broken'), { status: 7 })
    t.equal((await fetch(`${server.gateway}/v1/orders/1`)).status, 200)
    await new Promise((done) => gate.close(done))
    server.child.kill('SIGTERM')
    t.equal(await server.ended, 0)
    const next = await startServerProcess(t, [], { home: server.home })
    const get = (path: string) => fetch(`${next.gateway}${path}`)
    for (const path of ['/slow/', '/orders/orders/list', '/v1/orders/1', '/broken/']) {
      const reply = await get(path)
      t.equal(reply.status, 503, path)
      t.equal(reply.headers.get('retry-after'), '1')
    }
    const client = openClient(t, { proxy: next.proxy, token: next.token })
    await t.rejects(client.call('slow', 'A.B', {}), { code: 503 }, 'through the RPC proxy')
    t.equal((await get('/nothing/')).status, 404)
    await open(port)
    await waitForValue(t, async () => (await get('/slow/')).status, 200)
    await waitForValue(t, async () => (await get('/v1/orders/1')).status, 200)
    await openDeployer(t, client).call('Delete', 'broken')
    await waitForValue(t, async () => (await get('/broken/')).status, 404)
  },
)
