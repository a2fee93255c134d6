import t from 'tap'
import { checkRoute as check, type HttpRoute } from '../../../sdk/service/http-route.ts'

const checkRoute = (route: HttpRoute): void => check('Items.Get', route)

t.test('accepts routes that gateways support', async (t) => {
  for (const path of [
    '/',
    '/items',
    '/items/{id}',
    '/items/{item.id}:cancel',
    '/v1/{name=shelves/*/books/**}',
    '^/users/[^/]+$',
    '/a,/b/{c}',
    ['/a', '/b'],
  ])
    t.doesNotThrow(() => checkRoute({ method: 'GET', path }), String(path))
  t.doesNotThrow(() =>
    checkRoute({ method: ['get', 'POST, PUT'], path: '/a', host: 'a.example', handler: 'api' }),
  )
})

t.test('an unsupported route is rejected at the declaration with the reason', async (t) => {
  for (const [route, message] of [
    ['/x', /http: options must be an object, got "\/x"/],
    [{ methd: 'GET', path: '/x' }, /http: unknown option methd, did you mean method\?/],
    [{ path: '/x' }, /http.method must be a string or a list of strings, got undefined/],
    [{ method: 'GET' }, /http.path must be a string or a list of strings, got undefined/],
    [{ method: [], path: '/x' }, /http.method must be a string/],
    [{ method: 'G T', path: '/x' }, /http.method must be an HTTP method, got "G T"/],
    [{ method: ['GET', 'GTE'], path: '/x' }, /must be an HTTP method, got "GTE"/],
    [{ method: 'GET', path: 'no-slash' }, /must be a template such as .*, got "no-slash"/],
    [{ method: 'GET', path: '/x/{id' }, /got "\/x\/\{id"/],
    [{ method: 'GET', path: ['/x', '/y/{}'] }, /got "\/y\/\{\}"/],
    [{ method: 'GET', path: '/x/**/y/**' }, /got "\/x\/\*\*\/y\/\*\*": \*\* is only allowed once/],
    [{ method: 'GET', path: '/x/../y' }, /segment ".." cannot match any path/],
    [
      { method: 'GET', path: '^/x/(a|b)$' },
      /a regular expression may only contain literal segments/,
    ],
    [{ method: 'GET', path: '/x', host: 5 }, /http.host must be a string/],
    [{ method: 'GET', path: '/x', handler: 'rcp' }, /http.handler must be rpc, .* got "rcp"/],
  ] as const)
    t.throws(() => checkRoute(route as never), { name: 'TypeError', message })
})

t.test('a long path is validated in linear time', async (t) => {
  const started = performance.now()
  t.throws(() => checkRoute({ method: 'GET', path: `/${'{a=b'.repeat(100_000)}` }), TypeError)
  t.throws(() => checkRoute({ method: 'GET', path: `/${'a'.repeat(400_000)}{` }), TypeError)
  t.ok(performance.now() - started < 2000)
})
