import t, { type Test } from 'tap'
import { createConsulClient } from '../../../../adapters/registry/consul/http/client.ts'
import {
  createRegistrations,
  type Registrations,
} from '../../../../adapters/registry/consul/registrations.ts'
import { waitUntil } from '../../../contracts/registry.ts'
import { type ConsulDouble, startConsulDouble } from '../../../fixtures/consul-double.ts'
import { makeNode, makeService } from '../../../fixtures/services.ts'

const SERVICE = makeService('greeter', ['10.0.0.1:80'])

function open(t: Test, double: ConsulDouble, nowMs?: () => number): Registrations {
  const client = createConsulClient({
    ...double,
    maxWaiting: 4,
    maxCalls: 4,
    maxResponseBytes: 1000,
  })
  t.teardown(client.close)
  return createRegistrations(client, 'mx', undefined, nowMs)
}

function events({ requests }: ConsulDouble): string[] {
  return requests.splice(0).map(({ path, query }) => {
    const [description = ''] = path.replace('/v1/agent/', '').split('/greeter')
    return query.get('enable') === null
      ? description.replace(/[/]service%3A.*/, '')
      : `${description} ${query.get('enable')}`
  })
}

t.test("rejects a server whose responses differ from Consul's", async (t) => {
  const double = await startConsulDouble(t, (_, response) => response.end('welcome'))
  const { register } = open(t, double)
  await t.rejects(register(SERVICE, { ttlSeconds: 90 }), {
    denied: true,
    message: `the server at 127.0.0.1:${double.port} is not Consul: it responded to a registration with "welcome"`,
  })
})

t.test('registers once and then sends heartbeats', async (t) => {
  const double = await startConsulDouble(t, (_, response) => response.end())
  const { register, deregister } = open(t, double)
  await register(SERVICE, { ttlSeconds: 90 })
  const { body } = double.requests[0]!
  t.match(JSON.parse(body), {
    Check: { TTL: '90s', Status: 'passing', DeregisterCriticalServiceAfter: '90s' },
    Weights: { Passing: 1, Warning: 1 },
  })
  t.same(events(double), ['service/register', 'service/maintenance false', 'check/pass'])
  await register(structuredClone(SERVICE), { ttlSeconds: 90 })
  t.same(events(double), ['check/pass'])
  const draining = makeService('greeter', [makeNode('10.0.0.1:80', { state: 'draining' })])
  await register(draining, { ttlSeconds: 90 })
  t.same(events(double), ['check/pass', 'service/maintenance true'])
  await register(draining, { ttlSeconds: 90 })
  t.same(events(double), ['check/pass'])
  await register({ ...SERVICE, metadata: { a: 'b' } }, { ttlSeconds: 90 })
  t.same(events(double), ['service/register', 'service/maintenance false', 'check/pass'])
  await deregister(SERVICE)
  t.same(events(double), ['service/deregister'])
  await register(SERVICE, { ttlSeconds: 1 })
  t.match(JSON.parse(double.requests[0]!.body), {
    Check: { DeregisterCriticalServiceAfter: '60s' },
  })
})

t.test('creates no check without a TTL', async (t) => {
  const double = await startConsulDouble(t, (_, response) => response.end())
  const { register } = open(t, double)
  await register(SERVICE)
  t.notOk('Check' in JSON.parse(double.requests[0]!.body))
  t.same(events(double), ['service/register', 'service/maintenance false'])
  await register(SERVICE)
  t.same(events(double), ['service/maintenance false'])
})

t.test(
  'registers again when an agent lost a node, for every variant of its response',
  async (t) => {
    const cases: [number, string][] = [
      [500, 'CheckID "service:x" does not have associated TTL'],
      [404, 'Unknown check ID "service:x"'],
      [404, 'No service registered with ID "x"'],
    ]
    for (const [status, text] of cases) {
      let isDeregistered = false
      const double = await startConsulDouble(t, ({ path }, response) => {
        if (path.includes('register')) isDeregistered = false
        response.writeHead(isDeregistered ? status : 200).end(isDeregistered ? text : '')
      })
      const { register, deregister } = open(t, double)
      await register(SERVICE, { ttlSeconds: 90 })
      events(double)
      isDeregistered = true
      await register(SERVICE, { ttlSeconds: 90 })
      t.equal(events(double).length, 4, text)
      isDeregistered = true
      await deregister(SERVICE)
    }
  },
)

t.test('keeps the registration when an agent fails', async (t) => {
  let failing = false
  const double = await startConsulDouble(t, (_, response) =>
    response.writeHead(failing ? 500 : 200).end(failing ? 'No cluster leader' : ''),
  )
  const { register, deregister } = open(t, double)
  await register(SERVICE, { ttlSeconds: 90 })
  failing = true
  await t.rejects(register(SERVICE, { ttlSeconds: 90 }), /No cluster leader/)
  await t.rejects(deregister(SERVICE), /No cluster leader/)
  failing = false
  events(double)
  await register(SERVICE, { ttlSeconds: 90 })
  t.equal(events(double).length, 3, 'after an attempt to deregister, everything is sent again')
})

t.test('sends operations of a node in order', async (t) => {
  const pending: (() => void)[] = []
  const double = await startConsulDouble(t, (_, response) => pending.push(() => response.end()))
  const { register, deregister } = open(t, double)
  const all = [register(SERVICE, { ttlSeconds: 90 }), deregister(SERVICE)]
  let done = false
  const end = Promise.all(all).then(() => {
    done = true
  })
  await waitUntil(() => {
    pending.shift()?.()
    return done
  })
  await end
  const received = events(double)
  t.equal(received.length, 4)
  t.equal(received.at(-1), 'service/deregister')
})

t.test('forgets a node without heartbeats after its TTL', async (t) => {
  const double = await startConsulDouble(t, (_, response) => response.end())
  const clock = { ms: 0 }
  const { register } = open(t, double, () => clock.ms)
  await register(SERVICE, { ttlSeconds: 90 })
  clock.ms = 89_000
  await register(SERVICE, { ttlSeconds: 90 })
  clock.ms = 178_000
  events(double)
  await register(SERVICE, { ttlSeconds: 90 })
  t.same(events(double), ['check/pass'], 'each heartbeat restarts the TTL')
  clock.ms = 269_000
  await register(SERVICE, { ttlSeconds: 90 })
  t.same(events(double), ['service/register', 'service/maintenance false', 'check/pass'])
})
