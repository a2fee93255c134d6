import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Test } from 'tap'
import type { Registry, RegistryEvent, Service } from '../../core/contracts/registry.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import { makeNode, makeService } from '../fixtures/services.ts'

/** A registry to test. */
export interface RegistrySubject {
  readonly registry: Registry
  /** Replaces the services of the registry. */
  readonly replaceServices: (services: readonly Service[]) => Maybe<void>
  /** Disconnects the registry and reconnects it with exactly these services; absent if it cannot disconnect. */
  readonly restart?: (services: readonly Service[]) => Maybe<void>
  /** Whether lists and watches of all services include nodes. @default true */
  readonly listsNodes?: boolean
}

const GREETER = makeService('go.mx.api.greeter', ['127.0.0.1:9001', '127.0.0.1:9002'])
const GREETER_NEXT = makeService('go.mx.api.greeter', ['127.0.0.1:9003'], 'next')
const USERS = makeService('go.mx.api.users', [makeNode('[::1]:9004', { weight: '3' })])

/** A registry, and its services as listed. */
interface OpenSubject extends RegistrySubject {
  readonly listed: (services: readonly Service[]) => readonly Service[]
}

/** Contract of registries; optional capabilities are tested if present. */
export function testRegistry(t: Test, create: () => Maybe<RegistrySubject>): void {
  const open = async (t: Test): Promise<OpenSubject> => {
    const subject = await create()
    t.teardown(() => subject.registry.close?.())
    const withoutNodes = (service: Service): Service => ({ ...service, nodes: [] })
    return {
      ...subject,
      listed: (services) => (subject.listsNodes === false ? services.map(withoutNodes) : services),
    }
  }

  t.test('contract: returns no versions of an unknown service', async (t) => {
    const { registry, replaceServices } = await open(t)
    t.same(await registry.getService('go.mx.api.greeter'), [])
    t.same(await registry.listServices(), [])
    await replaceServices([GREETER])
    for (const name of ['greeter', 'go.mx.api', '', '__proto__', 'constructor', 'toString']) {
      t.same(await registry.getService(name), [], JSON.stringify(name))
    }
  })

  t.test('contract: returns a service with all versions, nodes and metadata', async (t) => {
    const { registry, replaceServices, listed } = await open(t)
    await replaceServices([GREETER, GREETER_NEXT, USERS])
    t.same(sorted(await registry.getService(GREETER.name)), [GREETER, GREETER_NEXT])
    t.same(sorted(await registry.getService(USERS.name)), [USERS])
    t.same(sorted(await registry.listServices()), listed([GREETER, GREETER_NEXT, USERS]))
  })

  t.test('contract: does not return a removed service', async (t) => {
    const { registry, replaceServices, listed } = await open(t)
    await replaceServices([GREETER, USERS])
    await replaceServices([USERS])
    t.same(await registry.getService(GREETER.name), [])
    t.same(await registry.listServices(), listed([USERS]))
  })

  t.test('contract: a watch reports added, changed and removed services', async (t) => {
    const { registry, replaceServices, listed, listsNodes } = await open(t)
    if (registry.watch === undefined) return t.comment('the registry has no watch')
    const events: RegistryEvent[] = []
    const stop = registry.watch((event) => events.push(event))
    const expectEvent = async (
      type: string,
      service: Service,
      message: string = type,
    ): Promise<void> => {
      await waitUntil(() => events.length > 0)
      t.same(events.shift(), { type, service: listed([service])[0] }, message)
    }
    await replaceServices([GREETER])
    await expectEvent('create', GREETER)
    await replaceServices([GREETER, GREETER_NEXT])
    await expectEvent('create', GREETER_NEXT, 'a new version')
    const withoutSecondNode = makeService(GREETER.name, ['127.0.0.1:9001'])
    await replaceServices([withoutSecondNode, GREETER_NEXT])
    if (listsNodes !== false) await expectEvent('update', withoutSecondNode, 'one node fewer')
    await replaceServices([withoutSecondNode])
    await expectEvent('delete', { ...GREETER_NEXT, nodes: [] })
    stop()
    await replaceServices([])
    await replaceServices([USERS])
    t.same(events, [], 'nothing after the watch was stopped')
  })

  t.test('contract: a watch of one service reports only that service', async (t) => {
    const { registry, replaceServices } = await open(t)
    if (registry.watch === undefined) return t.comment('the registry has no watch')
    const events: RegistryEvent[] = []
    const stop = registry.watch((event) => events.push(event), { service: GREETER.name })
    const next = async (): Promise<RegistryEvent> => {
      await waitUntil(() => events.length > 0)
      return events.shift()!
    }
    await replaceServices([USERS])
    const withoutSecondNode = makeService(GREETER.name, ['127.0.0.1:9001'])
    await replaceServices([USERS, withoutSecondNode])
    t.same(await next(), { type: 'create', service: withoutSecondNode })
    await replaceServices([GREETER])
    t.same(await next(), { type: 'update', service: GREETER }, 'a node was added')
    await replaceServices([GREETER, GREETER_NEXT])
    t.same(await next(), { type: 'create', service: GREETER_NEXT }, 'nodes of all its versions')
    await replaceServices([withoutSecondNode, GREETER_NEXT])
    t.same(await next(), { type: 'update', service: withoutSecondNode }, 'a node was removed')
    const withOtherWeight = makeService(GREETER.name, [makeNode('127.0.0.1:9001', { weight: '2' })])
    await replaceServices([withOtherWeight, GREETER_NEXT])
    t.same(await next(), { type: 'update', service: withOtherWeight }, 'a node changed')
    await replaceServices([])
    await waitUntil(() => events.length >= 2)
    const deletion = [await next(), await next()].map(({ type, service }) => [type, service.name])
    t.same(deletion, Array(2).fill(['delete', GREETER.name]))
    stop()
    stop()
    await replaceServices([GREETER])
    t.same(events, [], 'nothing after the watch was stopped')
  })

  t.test('contract: a watch reports nothing without changes', async (t) => {
    const { registry, replaceServices, listed } = await open(t)
    if (registry.watch === undefined) return t.comment('the registry has no watch')
    await replaceServices([GREETER])
    const events: RegistryEvent[] = []
    t.teardown(registry.watch((event) => events.push(event)))
    await replaceServices([structuredClone(GREETER)])
    await replaceServices([GREETER, USERS])
    await waitUntil(() => events.length > 0)
    t.same(events, [{ type: 'create', service: listed([USERS])[0] }])
  })

  t.test(
    'contract: a watch reports services that vanished during an outage before its end',
    async (t) => {
      const { registry, replaceServices, restart } = await open(t)
      if (registry.watch === undefined || restart === undefined)
        return t.comment('the registry is never unavailable')
      await replaceServices([GREETER, GREETER_NEXT, USERS])
      const watch = (service?: string): string[] => {
        const events: string[] = []
        const stop = registry.watch!(
          ({ type, service: { name, version } }) => events.push(`${type} ${name} ${version}`),
          {
            ...(service !== undefined && { service }),
            onOutage: (reason) => events.push(reason === undefined ? 'back' : 'unavailable'),
          },
        )
        t.teardown(stop)
        return events
      }
      const ofAll = watch()
      const ofGreeter = watch(GREETER.name)
      await registry.listServices()
      await registry.getService(GREETER.name)
      const withoutSecondNode = makeService(GREETER.name, ['127.0.0.1:9001'])
      await restart([withoutSecondNode])
      await waitUntil(() => ofAll.includes('back') && ofGreeter.includes('back'))
      const deletion = [`delete ${GREETER.name} next`, `update ${GREETER.name} latest`]
      for (const reported of [ofAll, ofGreeter]) {
        t.equal(reported[0], 'unavailable')
        t.equal(reported.indexOf('back'), reported.length - 1, 'no later event')
      }
      t.same(new Set(ofGreeter.slice(1, -1)), new Set(deletion))
      t.ok(ofAll.includes(`delete ${USERS.name} latest`))
      await replaceServices([])
      await waitUntil(() => ofGreeter.at(-1) === `delete ${GREETER.name} latest`)
      t.same(ofGreeter.slice(-2), ['back', `delete ${GREETER.name} latest`], 'the watch continues')
    },
  )

  t.test('contract: calls every listener even if another one throws', async (t) => {
    const { registry, replaceServices } = await open(t)
    if (registry.watch === undefined) return t.comment('the registry has no watch')
    const warnings = t.capture(process, 'emitWarning', () => {})
    const reported: string[] = []
    t.teardown(
      registry.watch(() => {
        throw new Error('a faulty listener')
      }),
    )
    const listener = ({ type }: RegistryEvent): void => {
      reported.push(type)
    }
    const stopOne = registry.watch(listener)
    t.teardown(registry.watch(listener))
    await replaceServices([GREETER])
    await waitUntil(() => reported.length === 2)
    stopOne()
    stopOne()
    await replaceServices([])
    await waitUntil(() => reported.length === 3)
    t.same(reported, ['create', 'create', 'delete'])
    t.equal(warnings().length, 2, 'and the error is reported')
  })

  t.test('contract: register adds nodes to a version and deregister removes them', async (t) => {
    const { registry } = await open(t)
    if (registry.register === undefined || registry.deregister === undefined) {
      return t.comment('the registry is read-only')
    }
    const [one, two] = ['127.0.0.1:9001', '127.0.0.1:9002'].map((address) =>
      makeService(GREETER.name, [address]),
    ) as [Service, Service]
    const waitForServices = async (
      expected: readonly Service[],
      message = 'found',
    ): Promise<void> => {
      const sendRequest = (): Maybe<readonly Service[]> => registry.getService(GREETER.name)
      await waitUntil(async () => isDeepStrictEqual(await sendRequest(), expected)).catch(() => {})
      t.same(await sendRequest(), expected, message)
    }
    await registry.register(one)
    await registry.register(two)
    await waitForServices([GREETER])
    await registry.deregister(one)
    await waitForServices([two])
    await registry.deregister(two)
    await waitForServices([], 'a version without nodes disappears')
    await registry.deregister(two)
  })

  t.test('contract: rejects a malformed registration with a reason', async (t) => {
    const { registry } = await open(t)
    if (registry.register === undefined) return t.comment('the registry is read-only')
    const invalid: [Service, RegExp][] = [
      [makeService('', ['a:1']), /service name must be .* got ""/],
      [makeService('a/b', ['a:1']), /got "a\/b"/],
      [makeService('__proto__', ['a:1']), /got "__proto__"/],
      [makeService('greeter', ['a:1'], ''), /version must be .* got ""/],
      [makeService('greeter', [{ ...makeNode('a:1'), id: 'a\r\nb' }]), /node id must be/],
      [makeService('greeter', ['nowhere']), /address of node nowhere must be host:port/],
      [makeService('greeter', []), /must be registered with at least one node/],
    ]
    for (const [service, message] of invalid) {
      const attempt = async (): Promise<void> => registry.register?.(service)
      await t.rejects(attempt(), { name: 'TypeError', message })
    }
    t.same(await registry.listServices(), [])
  })
}

/** Waits for events that a remote registry may report with a delay. */
export async function waitUntil(condition: () => Maybe<boolean>, timeoutMs = 5000): Promise<void> {
  const endMs = performance.now() + timeoutMs
  while (!(await condition())) {
    if (performance.now() > endMs) throw new Error(`did not happen within ${timeoutMs} ms`)
    await delay(1)
  }
}

function sorted(services: readonly Service[]): Service[] {
  const toKey = ({ name, version }: Service): string => `${name} ${version}`
  return [...services].sort((a, b) => toKey(a).localeCompare(toKey(b)))
}
