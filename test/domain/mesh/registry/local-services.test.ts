import t, { type Test } from 'tap'
import { createMemoryRegistry } from '../../../../adapters/registry/memory.ts'
import type { Registry, Service } from '../../../../core/contracts/registry.ts'
import { createLocalServices } from '../../../../domain/mesh/registry/local-services.ts'
import { waitUntil } from '../../../fixtures/raw-backend.ts'
import { makeService } from '../../../fixtures/services.ts'

function open(t: Test, change: (memory: Registry) => Partial<Registry> = () => ({})) {
  const memory = createMemoryRegistry()
  const events: string[] = []
  const errors: string[] = []
  const local = createLocalServices({
    registry: { ...memory, ...change(memory) },
    onChange: (name, versions) =>
      events.push([name, ...versions.map(({ version }) => version).sort()].join(' ')),
    onError: ({ message }) => errors.push(message),
  })
  t.teardown(() => {
    local.close()
    memory.close?.()
  })
  return { memory, events, errors, local }
}

const A1 = makeService('a', ['h:1'], 'v1')
const A2 = makeService('a', ['h:2'], 'v2')
const B = makeService('b', ['h:3'])

t.test('reports existing services and changes', async (t) => {
  const { memory, events, local } = open(t)
  memory.register(A1)
  await local.start()
  t.strictSame(events.splice(0), ['a v1'])
  memory.register(A2)
  memory.register(B)
  memory.deregister(A1)
  t.strictSame(events.splice(0), ['a v1 v2', 'b latest', 'a v2'])
  memory.deregister(A2)
  t.strictSame(events, ['a'], 'no version is left')
  t.notOk(local.has('a'))
  t.ok(local.has('b'))
})

t.test('applies changes that arrive during the list', async (t) => {
  const lists: ((services: readonly Service[]) => void)[] = []
  const { memory, events, local } = open(t, () => ({
    listServices: () => new Promise<readonly Service[]>((resolve) => lists.push(resolve)),
  }))
  memory.register(A1)
  const started = local.start()
  memory.register(A2)
  memory.deregister(A1)
  memory.register(B)
  memory.deregister(B)
  lists[0]!([A1, B, makeService('c', ['h:4'])])
  await started
  t.strictSame(events.slice(-3).sort(), ['a v2', 'c latest', 'b'].sort())
})

t.test('retries a registry that cannot be read', async (t) => {
  let fails = 2
  const { memory, events, errors, local } = open(t, (memory) => ({
    async listServices() {
      if (fails-- > 0) throw new Error('unavailable')
      return memory.listServices()
    },
  }))
  memory.register(A1)
  await local.start()
  t.strictSame(errors, ['unavailable'])
  await waitUntil(() => events.length > 0)
  t.strictSame([events, errors], [['a v1'], ['unavailable', 'unavailable']])
})

t.test('reports nothing after close', async (t) => {
  const { memory, events, local } = open(t)
  await local.start()
  memory.register(A1)
  local.close()
  memory.register(B)
  t.strictSame(events, ['a v1'])
})
