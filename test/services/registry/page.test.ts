import t, { type Test } from 'tap'
import { createMemoryRegistry } from '../../../adapters/registry/memory.ts'
import { createDomains, type Domains } from '../../../services/registry/domains.ts'
import { readPage } from '../../../services/registry/page.ts'
import { openPlatformRegistry, type Services } from '../../fixtures/platform-registry.ts'
import { makeService } from '../../fixtures/services.ts'

const ID = 'registry.Registry.ListServices'

function open(t: Test): Domains {
  const domains = createDomains(() => createMemoryRegistry())
  t.teardown(domains.close)
  return domains
}

/** Entries of all pages, and the number of pages. */
async function readAll(domains: Domains, domain: string, limit: number) {
  const listed: string[] = []
  let pages = 0
  for (let after: string | undefined = ''; after !== undefined; pages++) {
    const page = await readPage(domains.select(domain), { limit, after }, () => {}, ID)
    t.ok(page.services.length <= limit)
    listed.push(...page.services.map(({ name, options }) => `${options.domain}:${name}`))
    after = page.next
  }
  return { listed, pages }
}

t.test('pages of any size add up to the complete list without duplicates', async (t) => {
  const domains = open(t)
  const names = Array.from({ length: 10 }, (_, i) => `s${i}`)
  for (const name of names) {
    await domains.open('mx', ID).registry.register?.(makeService(name, ['a:1']))
    if (name > 's4') await domains.open('b', ID).registry.register?.(makeService(name, ['a:1']))
  }
  const mx = names.map((name) => `mx:${name}`)
  const all = names.flatMap((name) => (name > 's4' ? [`b:${name}`, `mx:${name}`] : [`mx:${name}`]))
  for (const [limit, pages] of [
    [1, 10],
    [3, 4],
    [5, 2],
    [10, 1],
    [1000, 1],
  ] as const)
    t.strictSame(await readAll(domains, 'mx', limit), { listed: mx, pages }, `${limit} per page`)
  for (const limit of [1, 2, 4, 15]) {
    const { listed, pages } = await readAll(domains, '*', limit)
    t.strictSame(listed, all, `all domains, ${limit} per page`)
    t.equal(pages, Math.ceil(15 / limit))
  }
})

t.test('the next page continues after its cursor even if the list has changed', async (t) => {
  const domains = open(t)
  const { registry } = domains.open('mx', ID)
  for (const name of ['b', 'd', 'f']) await registry.register?.(makeService(name, ['a:1']))
  const page = (after = '') => readPage(domains.select('mx'), { limit: 2, after }, () => {}, ID)
  const first = await page()
  t.equal(first.next, 'd latest mx')
  await registry.deregister?.(makeService('d', ['a:1']))
  for (const name of ['a', 'e']) await registry.register?.(makeService(name, ['a:1']))
  const rest = await page(first.next)
  t.strictSame([rest.services.map(({ name }) => name), rest.next], [['e', 'f'], undefined])
})

t.test('a page is limited in bytes but contains at least one entry', async (t) => {
  const domains = open(t)
  const { registry } = domains.open('mx', ID)
  const value = { name: '', type: '', values: [] }
  for (let i = 0; i < 20; i++) {
    const metadata = { requestSchema: 'x'.repeat(i === 0 ? 2_000_000 : 250_000) }
    const endpoints = [{ name: 'A.B', request: value, response: value, metadata }]
    await registry.register?.({ ...makeService(`s${i + 10}`, ['a:1']), endpoints })
  }
  const { listed, pages } = await readAll(domains, 'mx', 1000)
  t.equal(listed.length, 20)
  t.equal(pages, 1 + Math.ceil(19 / 2))
})

t.test('rejects an invalid cursor with 400', async (t) => {
  const domains = open(t)
  for (const after of ['x', 'a b', 'a b c d', ' '.repeat(500)])
    await t.rejects(
      readPage(domains.select('mx'), { limit: 1, after }, () => {}, ID),
      {
        id: ID,
        code: 400,
        message: /^request\.after must be a cursor returned as next, got "/,
      },
    )
})

t.test('ListServices returns 10 000 services in 11 pages', async (t) => {
  const { call, registry } = await openPlatformRegistry(t)
  for (let i = 0; i < 10_000; i++)
    await registry.register?.(makeService(`s${i}`, ['127.0.0.1:9001']))
  const names: string[] = []
  let pages = 0
  for (let after: string | undefined = ''; after !== undefined; pages++) {
    const page: Services = await call('ListServices', { after })
    names.push(...page.services.map(({ name }) => name))
    after = page.next
  }
  t.equal(pages, 11, '1000 per page, and the registry itself on the last one')
  t.strictSame(names, [...names].sort())
  t.equal(new Set(names).size, 10_001)
})
