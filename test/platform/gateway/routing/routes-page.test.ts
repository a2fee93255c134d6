import t from 'tap'
import type { Service } from '../../../../core/contracts/registry.ts'
import { toRoutesPage } from '../../../../platform/gateway/routing/routes-page.ts'

const SETTINGS = { handler: 'meta', resolver: '', namespace: '' } as const
const VALUE = { name: '', type: '', values: [] }

const makeService = (name: string, metadata: Record<string, string>[], version = '1'): Service => ({
  ...{ name, version, metadata: {}, nodes: [] },
  endpoints: metadata.map((metadata, i) => ({
    ...{ name: `Admin.M${i}`, request: VALUE, response: VALUE, metadata },
  })),
})

t.test('a page contains all routes of its services and the start of the next page', async (t) => {
  const services = [
    makeService('b', [{ path: '/b' }]),
    makeService('a', [{}]),
    makeService('a', [{}, {}], '2'),
    makeService('c', [{ path: 'wrong' }]),
  ]
  const read = (service: string, limit: number, after: string) => {
    const { routes, next, left_out } = toRoutesPage(services, SETTINGS, { service, limit, after })
    return [routes.map(({ path }) => path).join(' '), next, left_out.length]
  }
  t.strictSame(read('', 1000, ''), [
    '/a/admin/m0 /a/admin/m1 /b /b/admin/m0 /c/admin/m0',
    undefined,
    1,
  ])
  t.strictSame(read('', 1, ''), ['/a/admin/m0 /a/admin/m1', 'a', 0])
  t.strictSame(read('', 1, 'a'), ['/b /b/admin/m0', 'b', 0])
  t.strictSame(read('', 1, 'b'), ['/c/admin/m0', undefined, 1])
  t.strictSame(read('a', 1000, ''), ['/a/admin/m0 /a/admin/m1', undefined, 0])
  t.strictSame(read('unknown', 1000, ''), ['', undefined, 0])
})

t.test('limits the size of a page and of a service', async (t) => {
  const host = Array.from({ length: 64 }, (_, i) => `${'h'.repeat(100)}${i}`).join()
  const path = Array.from({ length: 64 }, (_, i) => `/${i}`).join()
  const huge = Array.from({ length: 4 }, () => ({ host, path }))
  const services = ['a', 'b'].map((name) => makeService(name, huge))
  const page = toRoutesPage(services, SETTINGS, { service: '', limit: 1000, after: '' })
  t.equal(page.next, 'a')
  t.match(page.left_out, [/^service a: \d+ more routes are not listed$/])
  t.ok(JSON.stringify(page).length < 600_000)
})

t.test('limits the number of problems', async (t) => {
  const invalid = Array.from({ length: 150 }, () => ({ path: 'wrong' }))
  const services = [makeService('a', invalid)]
  const { left_out } = toRoutesPage(services, SETTINGS, { service: '', limit: 1, after: '' })
  t.equal(left_out.length, 101)
  t.equal(left_out.at(-1), '50 more problems')
})
