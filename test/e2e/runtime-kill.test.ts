import { type AddressInfo, createServer } from 'node:net'
import t from 'tap'
import { becomes } from '../fixtures/becomes.ts'
import { openDeployer, toAnswering } from '../fixtures/deployer.ts'
import { openClient } from '../fixtures/sdk-services.ts'
import { startServerProcess } from '../fixtures/server-process.ts'

t.test('a server that was killed finds its services again, each once', async (t) => {
  const server = await startServerProcess(t)
  const deployer = openDeployer(t, openClient(t, { proxy: server.proxy, token: server.token }))
  await deployer.create('greeter', toAnswering('one'), { env: ['A=1'] })
  await deployer.create('broken', { 'mx.yaml': 'build: exit 1\ncommand: node a.js' })
  t.match(await deployer.settled('greeter'), { status: 4 })
  t.match(await deployer.settled('broken'), { status: 7 })
  await server.kill()
  const next = await startServerProcess(t, [], { home: server.home })
  const again = openDeployer(t, openClient(t, { proxy: next.proxy, token: next.token }))
  t.match(await again.settled('greeter'), { status: 4 })
  // What is stored says running until the runtime has looked.
  await becomes(t, async () => (await fetch(`${next.gateway}/greeter/call`)).status, 200)
  const ask = async (path: string) => (await fetch(`${next.gateway}/greeter/${path}`)).json()
  t.same(await ask('call'), { answer: 'one' })
  t.same(await ask('env?name=A'), { value: '1' })
  t.match(
    (await again.read()).map(({ name, status }) => [name, status]),
    [
      ['broken', 7],
      ['greeter', 4],
    ],
  )
  const { services } = await again.client.call<{ services: { nodes: unknown[] }[] }>(
    'registry',
    'Registry.GetService',
    { service: 'greeter' },
  )
  t.equal(services[0]!.nodes.length, 1)
})

t.test(
  'responds with 503 instead of 404 for a service that has not started again after a server restart',
  async (t) => {
    // It starts to listen once this port is open.
    const gate = createServer()
    const open = (port = 0) =>
      new Promise<void>((done) => void gate.listen(port, '127.0.0.1', done))
    await open()
    t.teardown(() => gate.close())
    const { port } = gate.address() as AddressInfo
    const program = `
const wait = () => {
  const socket = require('node:net').connect(${port}, '127.0.0.1')
  socket.on('error', () => setTimeout(wait, 20)).on('connect', () => {
    socket.destroy()
    require('node:http').createServer((q, r) => r.end('up')).listen(process.env.PORT, '127.0.0.1')
  })
}
wait()`
    const files = { 'main.cjs': program, 'mx.yaml': 'command: node main.cjs\nprotocol: http\n' }
    const server = await startServerProcess(t)
    const deployer = openDeployer(t, openClient(t, { proxy: server.proxy, token: server.token }))
    await deployer.create('slow', files)
    await deployer.create('broken', { 'mx.yaml': 'build: exit 1\ncommand: node a.js' })
    t.match(await deployer.settled('slow'), { status: 4 })
    t.match(await deployer.settled('broken'), { status: 7 })
    await new Promise((done) => gate.close(done))
    await server.kill()
    const next = await startServerProcess(t, [], { home: server.home })
    const get = (path: string) => fetch(`${next.gateway}${path}`)
    for (const name of ['slow', 'broken']) {
      const reply = await get(`/${name}/`)
      t.equal(reply.status, 503, name)
      t.equal(reply.headers.get('retry-after'), '1')
    }
    const client = openClient(t, { proxy: next.proxy, token: next.token })
    await t.rejects(client.call('slow', 'A.B', {}), { code: 503 }, 'through the RPC proxy')
    t.equal((await get('/nothing/')).status, 404)
    await open(port)
    await becomes(t, async () => (await get('/slow/')).status, 200)
    await openDeployer(t, client).call('Delete', 'broken')
    await becomes(t, async () => (await get('/broken/')).status, 404)
  },
)
