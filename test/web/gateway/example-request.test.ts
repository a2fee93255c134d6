import t from 'tap'
import { toExampleRequest } from '../../../web/gateway/example-request.ts'

const ROUTE = { paths: ['/**'], hosts: [], methods: [], conditions: [] }

t.test('the request has path, host, method and conditions of the route', async (t) => {
  t.match(
    toExampleRequest({
      ...{ paths: ['/api/{id}/**', '/b'], hosts: ['*.shop.test'], methods: ['POST', 'PUT'] },
      conditions: [
        ...['header x-beta = 1 = 2', 'header x-a', 'query v begins with a&b', 'query w'],
        ...['client in 10.1.0.0/16, loopback', 'listener in internal, main'],
      ],
    }),
    {
      ...{ method: 'POST', path: '/api/id?v=a%26b&w=', client: '10.1.0.0', listener: 'internal' },
      headers: 'Host: a.shop.test\nx-beta: 1 = 2\nx-a: x',
    },
  )
  t.match(toExampleRequest(ROUTE), { ...{ method: 'GET', path: '/', headers: '' }, client: '' })
})

t.test('a path has the segments of its variables', async (t) => {
  const rows: [string, string][] = [
    ['/{name=shop/*}/x', '/shop/a/x'],
    ['/{rest=**}', '/'],
    ['/{path=a/**}/{id}', '/a/a/id'],
    ['/*/b/**', '/a/b'],
    ['/items/{id}:close', '/items/id:close'],
  ]
  for (const [path, expected] of rows)
    t.equal(toExampleRequest({ ...ROUTE, paths: [path] }).path, expected)
})

t.test('replaces network keywords by addresses', async (t) => {
  const rows: [string, string][] = [
    ['loopback', '127.0.0.1'],
    ['private', '10.0.0.1'],
    ['unix', ''],
    ['2001:db8::/32', '2001:db8::'],
    ['192.0.2.7', '192.0.2.7'],
  ]
  for (const [network, client] of rows)
    t.equal(toExampleRequest({ ...ROUTE, conditions: [`client in ${network}`] }).client, client)
})
