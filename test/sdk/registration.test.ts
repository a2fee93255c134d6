import t, { type Test } from 'tap'
import { createMemoryRegistry } from '../../adapters/registry/memory.ts'
import type { Registry } from '../../core/contracts/registry.ts'
import { register } from '../../sdk/registration.ts'
import { until } from '../fixtures/raw-backend.ts'
import { createQuietLog } from '../fixtures/sdk-services.ts'
import { makeService } from '../fixtures/services.ts'

const entry = makeService('greeter', ['127.0.0.1:9001'])

/** A memory registry whose clock a test turns. */
function open(t: Test): { registry: Registry; turn: (ms: number) => void } {
  let now = 0
  const registry = createMemoryRegistry({ nowMs: () => now })
  t.teardown(() => registry.close?.())
  return {
    registry,
    turn: (ms) => {
      now += ms
    },
  }
}

const nodesOf = async (registry: Registry): Promise<number> =>
  (await registry.getService('greeter')).flatMap(({ nodes }) => nodes).length

t.test(
  'registered (service node in the registry): no re-registration within the TTL, TTL is 90 seconds',
  async (t) => {
    const { registry, turn } = open(t)
    const { log } = createQuietLog()
    const registration = await register({ registry, entry, log })
    t.equal(await nodesOf(registry), 1)
    turn(89_999)
    t.equal(await nodesOf(registry), 1)
    turn(1)
    t.equal(await nodesOf(registry), 0)
    await registration.end()
  },
)

t.test('re-registration (heartbeat) before TTL: TTL restarts', async (t) => {
  const { registry, turn } = open(t)
  const { log } = createQuietLog()
  let told = 0
  const counting: Registry = {
    ...registry,
    register(service, options) {
      told++
      return registry.register!(service, options)
    },
  }
  const registration = await register({ registry: counting, entry, log, intervalMs: 5 })
  for (let beat = 0; beat < 3; beat++) {
    turn(60_000)
    const before = told
    await until(() => told > before)
    t.equal(await nodesOf(registry), 1)
  }
  await registration.end()
  const last = told
  t.equal(await nodesOf(registry), 0, 'gone at once')
  await new Promise((resolve) => setTimeout(resolve, 20))
  t.equal(told, last, 'and no more signs of life')
  await registration.end()
})

t.test('a start that fails for want of an answer leaves no node registered', async (t) => {
  const { registry } = open(t)
  const { log } = createQuietLog()
  const options = { entry, log, answerMs: 20 }
  // As the port of a service does.
  const alive = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(alive))
  const failure = { message: 'cannot register greeter (memory): no answer within 20 ms' }
  const mute: Registry = {
    ...registry,
    async register(service) {
      await registry.register!(service)
      await new Promise(() => {})
    },
  }
  await t.rejects(register({ ...options, registry: mute }), failure)
  t.equal(await nodesOf(registry), 0, 'it was done, though not answered')

  const late: (() => void)[] = []
  const slow: Registry = {
    ...registry,
    register: (service) =>
      new Promise((resolve) => late.push(() => resolve(registry.register!(service)))),
    deregister: async (service) => {
      await registry.deregister!(service)
      await new Promise(() => {})
    },
  }
  await t.rejects(register({ ...options, registry: slow }), failure)
  for (const answer of late) {
    answer()
    t.equal(await nodesOf(registry), 1)
    await until(() => (registry.getService('greeter') as readonly unknown[]).length === 0)
  }
  t.equal(late.length, 3, 'it was done once nobody waited any more')
})

t.test('a registry that is away for a while is told again, sooner', async (t) => {
  const { registry } = open(t)
  const { log, lines } = createQuietLog()
  let away = false
  const flaky: Registry = {
    ...registry,
    async register(service, options) {
      if (away) throw new Error('gone fishing')
      await registry.register!(service, options)
    },
  }
  const registration = await register({
    registry: flaky,
    entry,
    log,
    intervalMs: 5,
    retryMs: 1,
  })
  away = true
  await until(() => lines.length > 1)
  t.match(lines[0], /could not register/)
  t.match(lines[0], /gone fishing/)
  await registry.deregister!(entry)
  let back = false
  registry.watch!(({ type }) => {
    back ||= type === 'create'
  })
  away = false
  await until(() => back)
  await registration.end()
  t.equal(await nodesOf(registry), 0)
})

t.test('up to 3 attempts; then the service does not start', async (t) => {
  const { registry } = open(t)
  const { log } = createQuietLog()
  let attempts = 0
  const failing: Registry = {
    ...registry,
    async register(service, options) {
      if (++attempts < 3) throw new Error('not now')
      await registry.register!(service, options)
    },
  }
  const registration = await register({ registry: failing, entry, log })
  t.equal(attempts, 3)
  await registration.end()
  attempts = -10
  await t.rejects(register({ registry: failing, entry, log }), {
    message: 'cannot register greeter (memory): not now',
  })
  t.equal(attempts, -7)
})

t.test('what the registry calls malformed is not tried again', async (t) => {
  const { registry } = open(t)
  const { log } = createQuietLog()
  const wrong = makeService('greeter', ['nowhere'])
  await t.rejects(
    register({ registry, entry: wrong, log }),
    /cannot register greeter \(memory\): address of node/,
  )
})

t.test('a beat under way does not bring back a node that has left', async (t) => {
  const { registry } = open(t)
  const { log } = createQuietLog()
  let release: () => void = () => {}
  let told = 0
  const slow: Registry = {
    ...registry,
    async register(service, options) {
      if (++told > 1)
        await new Promise<void>((resolve) => {
          release = resolve
        })
      await registry.register!(service, options)
    },
  }
  const registration = await register({ registry: slow, entry, log, intervalMs: 1 })
  await until(() => told === 2)
  const ended = registration.end()
  release()
  await ended
  t.equal(await nodesOf(registry), 0)
})

t.test('a registry that cannot be told to forget keeps nobody from stopping', async (t) => {
  const { registry } = open(t)
  const { log, lines } = createQuietLog()
  const registration = await register({
    registry: { ...registry, deregister: () => Promise.reject(new Error('no')) },
    entry,
    log,
  })
  await registration.end()
  t.match(lines, [/could not deregister/])
  const { register: _, ...readOnly } = registry
  await (await register({ registry: readOnly, entry, log })).end()
})

t.test('a node that is about to leave is registered as draining, until it has left', async (t) => {
  const { registry } = open(t)
  const { log, lines } = createQuietLog()
  const told: string[] = []
  t.teardown(
    registry.watch!(({ type, service }) => {
      told.push(`${type} ${service.nodes.map(({ metadata }) => metadata['state'])}`)
    }),
  )
  const registration = await register({ registry, entry, log, intervalMs: 1 })
  await registration.drain()
  const [service] = await registry.getService('greeter')
  t.match(service, { nodes: [{ ...entry.nodes[0], metadata: { state: 'draining' } }] })
  await registration.drain()
  await registration.end()
  t.same(told, ['create ', 'update draining', 'delete '])
  await registration.drain()
  t.equal(await nodesOf(registry), 0, 'and it is not brought back')
  t.same(lines, [])
})

t.test('a registry that does not answer delays the end by its answer timeout only', async (t) => {
  const { registry } = open(t)
  const { log, lines } = createQuietLog()
  const asked: string[] = []
  const hang = (what: string): Promise<void> => {
    asked.push(what)
    return new Promise(() => {})
  }
  let first = true
  const silent: Registry = {
    ...registry,
    register: (service) => {
      if (!first) return hang(`register ${service.nodes[0]!.metadata['state']}`)
      first = false
      return undefined
    },
    deregister: () => hang('deregister'),
  }
  const registration = await register({ registry: silent, entry, log, answerMs: 200 })
  // Its timers alone keep no process alive.
  const alive = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(alive))
  const startMs = performance.now()
  await registration.drain()
  await registration.end()
  t.same(asked, ['register draining', 'deregister'])
  t.match(lines, [/could not tell of draining/, /could not deregister/])
  t.ok(performance.now() - startMs < 390, 'once, not for each of them')
})
