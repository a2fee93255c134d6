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

t.test('the default domain exists, and others are created once by name', async (t) => {
  const { domains } = open(t)
  const names = (name: string) => domains.select(name).map((domain) => domain.name)
  t.strictSame([names('mx'), names('a'), names('*')], [['mx'], [], ['mx']])
  const a = domains.open('a', ID)
  t.equal(domains.open('a', ID), a)
  t.strictSame([names('a'), names('*')], [['a'], ['mx', 'a']])
})

t.test('a watcher of all domains receives changes of domains that are created later', async (t) => {
  const { domains, put } = open(t)
  const events: string[] = []
  const watch = (watcher: string, domain: string, service?: string) =>
    domains.watch(domain, service, (event, domainName) =>
      events.push(`${watcher}: ${event.type} ${event.service.name} in ${domainName}`),
    )
  const stops = [
    watch('mx', 'mx'),
    watch('a', 'a'),
    watch('all', '*'),
    watch('all users', '*', 'users'),
  ]
  put('mx')
  t.strictSame(events.splice(0), ['mx: create greeter in mx', 'all: create greeter in mx'])
  put('a')
  t.strictSame(events.splice(0), ['a: create greeter in a', 'all: create greeter in a'])
  put('a', makeService('users', ['a:1']))
  t.strictSame(events.splice(0).sort(), [
    'a: create users in a',
    'all users: create users in a',
    'all: create users in a',
  ])
  for (const stop of stops) stop()
  put('b')
  put('mx', makeService('users', ['a:1']))
  t.strictSame(events, [])
})

t.test(
  'beyond the limit a new domain replaces one without services, whose watchers stay subscribed',
  async (t) => {
    const { domains, closed, put } = open(t, 3)
    put('a')
    put('b')
    const events: string[] = []
    t.teardown(domains.watch('a', undefined, ({ type }) => events.push(type)))
    t.throws(() => domains.open('c', ID), {
      id: ID,
      code: 429,
      message: 'cannot create domain c: limit of 3 domains reached',
    })
    await domains.open('a', ID).registry.deregister?.(GREETER)
    domains.open('c', ID)
    t.strictSame(closed, ['a'], 'the default domain stays open although it is empty')
    await domains.open('b', ID).registry.deregister?.(GREETER)
    put('a')
    t.strictSame(events, ['delete', 'create'])
  },
)

t.test('a registry that fails to close does not prevent a new domain', async (t) => {
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

t.test('readers see domains of other servers up to the limit', async (t) => {
  const others = new Set(['a', 'b', 'c'])
  const { domains } = open(t, 3, others)
  const select = (name: string) => domains.select(name).map((domain) => domain.name)
  t.strictSame(select('b'), ['b'])
  t.strictSame(select('none'), [])
  t.strictSame(select('*'), ['mx', 'b', 'a'])
  t.strictSame(select('c'), [], 'a domain beyond the limit')
  const events: string[] = []
  domains.watch('a', undefined, ({ type }) => events.push(type))
  await domains.open('a', ID).registry.register?.(GREETER)
  t.strictSame(events, ['create'])
})

t.test('close closes the registries of all domains', async (t) => {
  const { domains, closed, put } = open(t)
  put('a')
  await domains.close()
  t.strictSame(closed, ['mx', 'a'])
})
