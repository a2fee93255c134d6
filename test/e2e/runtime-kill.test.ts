import t from 'tap'
import { openDeployer, toAnswering } from '../fixtures/deployer.ts'
import { openClient } from '../fixtures/sdk-services.ts'
import { startServerProcess } from '../fixtures/server-process.ts'

t.test('a server that is killed finds its services again, each once', async (t) => {
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
