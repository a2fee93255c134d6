import t, { type Test } from 'tap'
import { createMemoryRegistry } from '../../../adapters/registry/memory.ts'
import type { Registry } from '../../../core/contracts/registry.ts'
import { createDomains } from '../../../services/registry/domains.ts'
import { makeService } from '../../fixtures/services.ts'

const ID = 'registry.Registry.Register'
const GREETER = makeService('greeter', ['a:1'])

function open(t: Test, max?: number, others: ReadonlySet<string> = new Set()) {
  const closed: string[] = []
  const create = (domain: string): Registry => {
    const registry = createMemoryRegistry()
    return {
      ...registry,
      close() {
        closed.push(domain)
        return registry.close?.()
      },
    }
  }
  const domains = createDomains(create, () => others, max)
  t.teardown(domains.close)
  const put = (domain: string, service = GREETER): void => {
    void domains.open(domain, ID).registry.register?.(service)
  }
  return { domains, closed, put }
}

t.test('the default domain is there; others are opened by name, once', async (t) => {
  const { domains } = open(t)
  const names = (name: string) => domains.select(name).map((domain) => domain.name)
  t.strictSame([names('mx'), names('a'), names('*')], [['mx'], [], ['mx']])
  const a = domains.open('a', ID)
  t.equal(domains.open('a', ID), a)
  t.strictSame([names('a'), names('*')], [['a'], ['mx', 'a']])
})

t.test(
  'who watches is told of one domain or of all, those included that are opened later',
  async (t) => {
    const { domains, put } = open(t)
    const told: string[] = []
    const watch = (as: string, domain: string, service?: string) =>
      domains.watch(domain, service, (event, of) =>
        told.push(`${as}: ${event.type} ${event.service.name} in ${of}`),
      )
    const stops = [
      watch('mx', 'mx'),
      watch('a', 'a'),
      watch('all', '*'),
      watch('all users', '*', 'users'),
    ]
    put('mx')
    t.strictSame(told.splice(0), ['mx: create greeter in mx', 'all: create greeter in mx'])
    put('a')
    t.strictSame(told.splice(0), ['a: create greeter in a', 'all: create greeter in a'])
    put('a', makeService('users', ['a:1']))
    t.strictSame(told.splice(0).sort(), [
      'a: create users in a',
      'all users: create users in a',
      'all: create users in a',
    ])
    for (const stop of stops) stop()
    put('b')
    put('mx', makeService('users', ['a:1']))
    t.strictSame(told, [])
  },
)

t.test(
  'there is a bound; a domain without services gives way, and those who watch it stay',
  async (t) => {
    const { domains, closed, put } = open(t, 3)
    put('a')
    put('b')
    const told: string[] = []
    t.teardown(domains.watch('a', undefined, ({ type }) => told.push(type)))
    t.throws(() => domains.open('c', ID), {
      id: ID,
      code: 429,
      message: 'there are 3 domains already, c would be one too many',
    })
    await domains.open('a', ID).registry.deregister?.(GREETER)
    domains.open('c', ID)
    t.strictSame(closed, ['a'], 'not the default domain, though nothing is in it')
    await domains.open('b', ID).registry.deregister?.(GREETER)
    put('a')
    t.strictSame(told, ['delete', 'create'])
  },
)

t.test('a domain that cannot be closed any more is no harm to others', async (t) => {
  const failing: Registry = {
    ...createMemoryRegistry(),
    close: () => Promise.reject(new Error('gone')),
  }
  const create = (name: string): Registry => (name === 'a' ? failing : createMemoryRegistry())
  const domains = createDomains(create, undefined, 2)
  t.teardown(domains.close)
  domains.open('a', ID)
  t.equal(domains.open('b', ID).name, 'b')
})

t.test('domains that others made are there for readers, as long as there is room', async (t) => {
  const others = new Set(['a', 'b', 'c'])
  const { domains } = open(t, 3, others)
  const select = (name: string) => domains.select(name).map((domain) => domain.name)
  t.strictSame(select('b'), ['b'])
  t.strictSame(select('none'), [])
  t.strictSame(select('*'), ['mx', 'b', 'a'])
  t.strictSame(select('c'), [], 'one too many')
  const told: string[] = []
  domains.watch('a', undefined, ({ type }) => told.push(type))
  await domains.open('a', ID).registry.register?.(GREETER)
  t.strictSame(told, ['create'])
})

t.test('all registries are closed with it', async (t) => {
  const { domains, closed, put } = open(t)
  put('a')
  await domains.close()
  t.strictSame(closed, ['mx', 'a'])
})
