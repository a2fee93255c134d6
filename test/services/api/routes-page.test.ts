import t from 'tap'
import { toRoutesPage } from '../../../services/api/routes-page.ts'

const toRoute = (service: string, path: string) => ({
  ...{ service, path, endpoint: 'A.B', handler: 'rpc', methods: [], hosts: [], declared: false },
})
const ALL = {
  ...{ handler: 'meta', resolver: 'endpoint', namespace: '', left_out: [] },
  routes: [toRoute('a', '/1'), toRoute('a', '/2'), toRoute('b', '/3'), toRoute('c', '/4')],
}

t.test('a page has all routes of its services, and says where the next one begins', async (t) => {
  const paths = (service: string, limit: number, after: string) => {
    const { routes, next } = toRoutesPage(ALL, { service, limit, after })
    return [routes.map(({ path }) => path).join(' '), next]
  }
  t.strictSame(paths('', 1000, ''), ['/1 /2 /3 /4', undefined])
  t.strictSame(paths('', 1, ''), ['/1 /2', 'a'])
  t.strictSame(paths('', 1, 'a'), ['/3', 'b'])
  t.strictSame(paths('', 1, 'b'), ['/4', undefined])
  t.strictSame(paths('a', 1000, ''), ['/1 /2', undefined])
  t.strictSame(paths('nobody', 1000, ''), ['', undefined])
})
