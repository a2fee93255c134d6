import t from 'tap'
import { createMemoryRegistry } from '../../../adapters/registry/memory.ts'
import type { Registry } from '../../../core/contracts/registry.ts'
import { notImplemented } from '../../../sdk/errors.ts'
import { openPlatformRegistry, toRegistration } from '../../fixtures/platform-registry.ts'

const OUTAGE_REASON = 'Consul at 127.0.0.1:8500 is unreachable: connect ECONNREFUSED'

t.test('errors of a registry are returned with code and reason from every endpoint', async (t) => {
  let failure: Error | undefined
  const fail = (): void => {
    if (failure !== undefined) throw failure
  }
  const createRegistry = (): Registry => {
    const memory = createMemoryRegistry()
    return {
      ...memory,
      async getService(name) {
        fail()
        return memory.getService(name)
      },
      listServices() {
        fail()
        return memory.listServices()
      },
      async register(service, options) {
        fail()
        await memory.register!(service, options)
      },
      deregister(service) {
        fail()
        return memory.deregister!(service)
      },
    }
  }
  const { call } = await openPlatformRegistry(t, { createRegistry })
  const entry = toRegistration('greeter', ['a:1'])
  const requests = {
    GetService: { service: 'registry' },
    ListServices: {},
    Register: entry,
    Deregister: entry,
  }
  const cases: [error: Error, code: number, detail: string][] = [
    [new Error(OUTAGE_REASON), 503, `the registry memory is unavailable: ${OUTAGE_REASON}`],
    [
      Object.assign(new Error('the token needs service:read'), { denied: true }),
      403,
      'the registry memory denied access: the token needs service:read',
    ],
    [new TypeError('node id must be letters'), 400, 'node id must be letters'],
    [notImplemented('a', 'not supported'), 501, 'not supported'],
  ]
  for (const [error, code, message] of cases) {
    failure = error
    for (const [method, request] of Object.entries(requests))
      await t.rejects(call(method, request), { code, message }, `${method}: ${code}`)
  }
  failure = new Error(OUTAGE_REASON)
  await t.rejects(call('GetService', { service: 'a' }), {
    code: 503,
    id: 'registry.Registry.GetService',
  })
  failure = undefined
  t.same(await call('Register', entry), {})
})
