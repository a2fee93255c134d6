import t, { type Test } from 'tap'
import { createConsulClient } from '../../../../../adapters/registry/consul/http/client.ts'
import {
  type Announcements,
  createAnnouncements,
  EVENT,
} from '../../../../../adapters/registry/consul/user-events.ts'
import { waitUntil } from '../../../../contracts/registry.ts'
import { startConsul } from '../../../../fixtures/consul.ts'
import { sendJson, startConsulDouble } from '../../../../fixtures/consul-double.ts'

interface Opened extends Announcements {
  readonly received: Set<string>
  readonly warnings: string[]
}

function open(t: Test, address: { readonly host: string; readonly port: number }): Opened {
  const client = createConsulClient({ ...address, maxWaiting: 2, maxResponseBytes: 1_000_000 })
  const received = new Set<string>()
  const warnings: string[] = []
  const announcements = createAnnouncements(client, {
    onMessage: (name) => received.add(name),
    warn: (reason) => warnings.push(reason),
  })
  t.teardown(() => {
    announcements.stop()
    client.close()
  })
  return { ...announcements, received, warnings }
}

t.test('receives announcements from the start of listening', async (t) => {
  const agent = await startConsul(t)
  if (agent === undefined) return
  const sender = open(t, agent)
  await sender.announce('before')
  const listeners = [open(t, agent), open(t, agent)]
  for (const listener of listeners) listener.listen()
  await waitUntil(async () => {
    await sender.announce('go.mx.api.greeter')
    return listeners.every(({ received }) => received.has('go.mx.api.greeter'))
  })
  for (const { received } of listeners) t.same([...received], ['go.mx.api.greeter'])
  t.same(sender.warnings, [])
})

t.test('packs many services into few events', async (t) => {
  const agent = await startConsul(t)
  if (agent === undefined) return
  const { announce, received, listen } = open(t, agent)
  listen()
  await waitUntil(async () => {
    await announce('first')
    return received.has('first')
  })
  const before = (await agent.call('GET', `/event/list?name=${EVENT}`)) as unknown[]
  const names = Array.from({ length: 60 }, (_, i) => `go.mx.api.service-${i}`)
  await Promise.all(names.map(announce))
  await waitUntil(() => received.size === 61)
  const after = (await agent.call('GET', `/event/list?name=${EVENT}`)) as unknown[]
  t.ok(after.length - before.length <= 7, `${after.length - before.length} events`)
})

t.test('warns once when Consul denies announcements', async (t) => {
  const double = await startConsulDouble(t, (_, response) =>
    response.writeHead(403).end('Permission denied'),
  )
  const { announce, listen, warnings } = open(t, double)
  listen()
  await announce('a')
  await announce('b')
  t.match(warnings, [/^changes to services are not announced.*event:write "mx"/])
  t.equal(warnings.length, 1)
  t.equal(double.requests.filter(({ method }) => method === 'PUT').length, 1)
})

t.test('receives all events of another agent', async (t) => {
  const events = (...names: string[]): object[] =>
    names.map((name) => ({ ID: name, Payload: Buffer.from(name).toString('base64') }))
  const responses = [events('old'), events('a b', '../x'), events('c')]
  const double = await startConsulDouble(t, (_, response) => {
    const next = responses.shift()
    if (next !== undefined) sendJson(response, next, { 'x-consul-index': 9 - responses.length })
  })
  const { received, listen } = open(t, double)
  listen()
  await waitUntil(() => received.has('c'))
  t.same([...received], ['a', 'b', 'c'], 'invalid names are ignored')
  t.same(
    double.requests.slice(0, 3).map(({ query }) => query.get('index')),
    [null, '7', '8'],
  )
})
