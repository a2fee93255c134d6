import t from 'tap'
import { createConsulRegistry } from '../../../../adapters/registry/consul.ts'
import type { RegistryEvent } from '../../../../core/contracts/registry.ts'
import { waitUntil } from '../../../contracts/registry.ts'
import { createCertificate, createCertificateFolder } from '../../../fixtures/certificates.ts'
import { startConsul } from '../../../fixtures/consul.ts'
import {
  GREETER,
  openConsulRegistry,
  SYNC_MS,
  untilNodes,
} from '../../../fixtures/consul-registry.ts'
import { makeService } from '../../../fixtures/services.ts'

t.test('reports an outage with its end when the agent is killed and restarted', async (t) => {
  const agent = await startConsul(t)
  if (agent === undefined) return
  const registry = openConsulRegistry(t, agent)
  await registry.register?.(GREETER, { ttlSeconds: 90 })
  await untilNodes(registry, GREETER.name, ['127.0.0.1:9001'])
  const events: string[] = []
  const onEvent = ({ type }: RegistryEvent): void => void events.push(type)
  const onOutage = (reason: Error | undefined): void => {
    events.push(reason === undefined ? 'back' : `unavailable: ${reason.message}`)
  }
  registry.watch?.(onEvent, { service: GREETER.name, onOutage })
  await registry.getService(GREETER.name)
  await agent.kill()
  await waitUntil(() => events.length === 1)
  t.match(events[0], /unavailable: Consul at 127\.0\.0\.1:\d+ is unreachable: .*(ECONN|hang up)/)
  await t.rejects(async () => registry.getService(GREETER.name), /is unreachable.*ECONNREFUSED/)
  await t.rejects(async () => registry.getService('other'), /is unreachable.*ECONNREFUSED/)
  const lateService: (Error | undefined)[] = []
  registry.watch?.(onEvent, {
    service: GREETER.name,
    onOutage: (reason) => lateService.push(reason),
  })
  await waitUntil(() => lateService.length === 1)
  t.match(lateService[0]?.message, /is unreachable/, 'new watchers are notified, too')
  await agent.start()
  await waitUntil(() => events.includes('back'), SYNC_MS)
  await untilNodes(registry, GREETER.name, ['127.0.0.1:9001'])
  t.equal(lateService.at(-1), undefined)
})

t.test('registers again with heartbeats at an agent that restarted empty', async (t) => {
  const agent = await startConsul(t)
  if (agent === undefined) return
  const registry = openConsulRegistry(t, agent)
  const all: string[] = []
  const one: string[] = []
  registry.watch?.(({ type }) => all.push(type))
  registry.watch?.(({ type }) => one.push(type), { service: GREETER.name })
  for (let i = 0; i < 5; i++)
    await registry.register?.(makeService(`other-${i}`, ['127.0.0.1:1']), { ttlSeconds: 90 })
  await registry.register?.(GREETER, { ttlSeconds: 90 })
  await waitUntil(() => one.length === 1 && all.length === 6)
  await agent.start({ empty: true })
  await waitUntil(() => one.at(-1) === 'delete' && all.at(-1) === 'delete', SYNC_MS)
  await registry.register?.(GREETER, { ttlSeconds: 90 })
  await waitUntil(() => one.at(-1) === 'create' && all.at(-1) === 'create')
  t.same(one, ['create', 'delete', 'create'])
})

t.test('names the missing permission on an ACL denial', async (t) => {
  const agent = await startConsul(t, { acl: true })
  if (agent === undefined) return
  const registry = openConsulRegistry(t, agent)
  await registry.register?.(GREETER, { ttlSeconds: 90 })
  await untilNodes(registry, GREETER.name, ['127.0.0.1:9001'])

  const { token: _, ...anonymous } = agent
  const withoutToken = openConsulRegistry(t, { ...anonymous, token: undefined })
  const rejected = /Permission denied.*the token needs service:write "go.mx.api.greeter"/
  await t.rejects(async () => withoutToken.register?.(GREETER, { ttlSeconds: 90 }), rejected)
  await t.rejects(async () => withoutToken.deregister?.(GREETER), rejected)

  const secret = 'c0ffee00-0000-4000-8000-000000000001'
  const unknown = openConsulRegistry(t, agent, { token: secret })
  await t.rejects(async () => unknown.getService(GREETER.name), {
    message: /^Consul at 127\.0\.0\.1:\d+ rejected the token \(ACL not found\)$/,
  })
  const reasons: (Error | undefined)[] = []
  unknown.watch?.(() => {}, { onOutage: (reason) => reasons.push(reason) })
  await waitUntil(() => reasons.length === 1)
  t.match(reasons[0]?.message, /ACL not found/)

  await agent.call('PUT', '/acl/policy', {
    Name: 'reader',
    Rules: 'service_prefix "" { policy = "read" } node_prefix "" { policy = "read" }',
  })
  await agent.call('PUT', '/acl/token', { SecretID: secret, Policies: [{ Name: 'reader' }] })
  await waitUntil(() => reasons.length === 2)
  t.equal(reasons[1], undefined, 'the outage ends when the token is valid')
  await untilNodes(unknown, GREETER.name, ['127.0.0.1:9001'])
  const text = JSON.stringify([reasons.map(String), Object.values(reasons[0] ?? {})])
  t.notOk(text.includes(secret))
})

t.test("verifies the agent's certificate with TLS", async (t) => {
  const certificate = createCertificate(['localhost', '127.0.0.1'])
  const agent = await startConsul(t, { certificate })
  if (agent === undefined) return
  const folder = createCertificateFolder(t)
  const { certFile: caFile } = folder.write('ca', certificate)
  const registry = openConsulRegistry(t, agent, { secure: true, caFile })
  await registry.register?.(GREETER, { ttlSeconds: 90 })
  await untilNodes(registry, GREETER.name, ['127.0.0.1:9001'])
  const secure = openConsulRegistry(t, agent, { secure: true })
  await t.rejects(async () => secure.getService('a'), /is unreachable: .*self-signed/)
  t.throws(
    () => createConsulRegistry({ secure: true, caFile: `${folder.path}/none` }),
    /cannot read the ca file for Consul: ENOENT/,
  )
})
