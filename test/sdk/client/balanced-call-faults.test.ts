// Failures before a call is sent, without a caller to catch them, must not end the process.
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import type { Registry, Service } from '../../../core/contracts/registry.ts'
import type { Tracer } from '../../../core/contracts/tracer.ts'
import { Client } from '../../../sdk/client/client.ts'
import { Traces } from '../../../sdk/tracing/traces.ts'
import { tick } from '../../fixtures/raw-backend.ts'
import { openRpcService } from '../../fixtures/rpc-service.ts'
import { openClient, toNode } from '../../fixtures/sdk-services.ts'
import { makeService } from '../../fixtures/services.ts'
import { collectUnhandled } from '../../fixtures/unhandled.ts'

/** A registry with this lookup. */
function toRegistry(getService: (name: string) => Promise<readonly Service[]>): Registry {
  return { name: 'double', getService, listServices: () => [] }
}

const AUTH = { id: 'greeter', secret: 'secret' }

t.test('a failed lookup during a login causes no unhandled rejection', async (t) => {
  const unhandled = collectUnhandled(t)
  let logIn: (services: readonly Service[]) => void = () => {}
  const registry = toRegistry((name) => {
    if (name === 'greeter') return Promise.reject(new Error('unavailable'))
    return new Promise((resolve) => {
      logIn = resolve
    })
  })
  const client = new Client({ registry, auth: AUTH })
  t.teardown(() => client.close())
  const response = t.rejects(client.call('greeter', 'A.B'))
  // Unhandled rejections are emitted between two ticks.
  await tick()
  await tick()
  logIn([])
  await response
  t.strictSame(unhandled, [])
})

t.test('a failed lookup after a failed login causes no unhandled rejection', async (t) => {
  const unhandled = collectUnhandled(t)
  let failLookup: (error: Error) => void = () => {}
  const registry = toRegistry((name) =>
    name === 'auth'
      ? Promise.resolve([])
      : new Promise((_, reject) => {
          failLookup = reject
        }),
  )
  const client = new Client({ registry, auth: AUTH })
  t.teardown(() => client.close())
  await t.rejects(client.call('greeter', 'A.B'), { code: 404, message: 'service not found: auth' })
  failLookup(new Error('unavailable'))
  await tick()
  await tick()
  t.strictSame(unhandled, [])
})

t.test('a call is rejected if sending it fails after its lookup', async (t) => {
  const unhandled = collectUnhandled(t)
  const { port } = await openRpcService(t, (call) => call.reply('', '{}'))
  const traces = new Traces()
  traces.tracer = {
    start() {
      throw new Error('span failed')
    },
  } as unknown as Tracer
  const registry = toRegistry(async () => {
    await delay(1)
    return [makeService('greeter', [toNode(port)])]
  })
  const client = openClient(t, { registry, traces })
  await t.rejects(client.call('greeter', 'A.B'), { message: 'span failed' })
  await tick()
  t.strictSame(unhandled, [])
})
