import t from 'tap'
import { listHttpRoutes, variablesOf } from '../../../sdk/service/http-routes.ts'

const listRoutes = (name: string, metadata: Record<string, string> = {}) =>
  listHttpRoutes('shop.items', { name, metadata }).map(({ method, path }) => `${method} ${path}`)

t.test('an endpoint without a route has the default path', (t) => {
  t.same(listRoutes('Orders.ListAll'), ['POST /shop/items/orders/listAll'])
  t.same(listRoutes('ShopItems.Get'), ['POST /shop/items/get'])
  t.equal(listHttpRoutes('a', { name: 'A.B', metadata: {} })[0]?.isDeclared, false)
  t.end()
})

t.test(
  'an endpoint with a route has an entry per method and path, except regular expressions',
  (t) => {
    const route = { path: '/items/{id=*},^/x$,/y', method: 'GET,PUT' }
    t.same(listRoutes('Items.Get', route), [
      ...['GET /items/{id}', 'GET /y', 'PUT /items/{id}', 'PUT /y'],
    ])
    t.same(listRoutes('Items.Get', { path: '/y' }), ['POST /y'])
    t.same(listRoutes('Items.Get', { path: '^/x$' }), ['POST /shop/items/items/get'])
    t.end()
  },
)

t.test('variablesOf returns the variables of a path', (t) => {
  t.same(variablesOf('/items/{id}/{name=*}:cancel'), ['id', 'name'])
  t.end()
})
