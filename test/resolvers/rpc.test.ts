import fc from 'fast-check'
import t from 'tap'
import type { RequestLine } from '../../core/route.ts'
import rpc from '../../resolvers/rpc.ts'
import { scaleRuns } from '../fixtures/property-runs.ts'

function at(path: string, namespace = 'ns'): RequestLine {
  return { method: 'POST', path, host: 'localhost', namespace }
}

t.test('maps one segment to the Call method of that service', async (t) => {
  t.same(rpc.resolve(at('/foo')), { service: 'ns.foo', endpoint: 'Foo.Call' })
  t.same(rpc.resolve(at('/user-service')), {
    service: 'ns.user-service',
    endpoint: 'UserService.Call',
  })
})

t.test('maps all but the last two of four or more segments to the service', async (t) => {
  const rows: [string, string, string][] = [
    ['/a/b/c/d', 'a.b', 'C.D'],
    ['/a/b/c/d/e', 'a.b.c', 'D.E'],
    ['/v1/a/b/c', 'v1.a', 'B.C'],
    ['/v1/a/b/c/d', 'v1.a.b', 'C.D'],
    ['/v1/foo/bar/baz/cat', 'v1.foo.bar', 'Baz.Cat'],
  ]
  for (const [path, service, endpoint] of rows)
    t.same(rpc.resolve(at(path, '')), { service, endpoint }, path)
})

t.test('recognizes a version in three or more segments', async (t) => {
  const rows: [string, string, string][] = [
    ['/v1', 'v1', 'V1.Call'],
    ['/v1/foo', 'v1', 'V1.Foo'],
    ['/v1/foo/bar', 'v1.foo', 'Foo.Bar'],
    ['/v/foo/bar', 'v', 'Foo.Bar'],
    ['/V1/foo/bar', 'V1', 'Foo.Bar'],
    ['/v1x/foo/bar', 'v1x', 'Foo.Bar'],
  ]
  for (const [path, service, endpoint] of rows)
    t.same(rpc.resolve(at(path, '')), { service, endpoint }, path)
})

t.test('capitalizes each word between dashes of a method segment', async (t) => {
  const rows: [string, string][] = [
    ['/a/baz-xyz/list-all-users', 'BazXyz.ListAllUsers'],
    ['/a/fooBar/listServices', 'FooBar.ListServices'],
    ['/a/foo_bar/x_', 'Foo_bar.X_'],
    ['/a/HTTP/v2', 'HTTP.V2'],
    ['/a/9lives/a--b-', '9lives.AB'],
  ]
  for (const [path, endpoint] of rows) t.equal(rpc.resolve(at(path))?.endpoint, endpoint, path)
})

t.test('maps two segments in the form of gRPC unchanged', async (t) => {
  const rows: [string, string, string][] = [
    ['/helloworld.Greeter/SayHello', 'helloworld', 'Greeter.SayHello'],
    ['/acme.shop.v1.Stock/get', 'acme.shop.v1', 'Stock.get'],
  ]
  for (const [path, service, endpoint] of rows)
    t.same(rpc.resolve(at(path, '')), { service, endpoint }, path)
})

t.test('uses service segments unchanged', async (t) => {
  for (const name of ['user-service', 'Users', 'a.b', 'a_b', '9'])
    t.equal(rpc.resolve(at(`/${name}/handler/method`))?.service, `ns.${name}`)
})

t.test('ignores a trailing slash', async (t) => {
  for (const path of ['/a', '/a/b', '/a/b/c', '/v1/a/b'])
    t.same(rpc.resolve(at(`${path}/`)), rpc.resolve(at(path)), path)
})

t.test('does not resolve paths without service and method', async (t) => {
  const paths = [
    ...['/', '', '*', 'a/b', '//', '//a/b', '/a//b', '/a/b//', '/./a/b', '/a/../b', '/a/..'],
    ...['/%61/b', '/a/%62', '/a%2fb/c', '/a/b%2fc', '/a/b%00', '/%2e%2e/a', '/a/%c3%a9', '/a/é'],
    ...['/a/b.c', '/a/b/c.d', '/a.b/c-d', '/a/b;x=1', '/a/:b', '/a/b:c', '/a/b c', '/a/b\\c'],
    ...['/a.1/b', '/.b/c', '/__proto__/x', '/a/__proto__', '/a/-b', '/-a/b', '/a-/b', '/a/_b'],
    ...[`/${'a'.repeat(254)}/b`, `/a/${'b'.repeat(600)}`, `/a${'/b'.repeat(300)}`],
  ]
  for (const path of paths) t.equal(rpc.resolve(at(path)), undefined, JSON.stringify(path))
})

t.test('resolves only services inside the namespace', async () => {
  const char = fc.constantFrom(...'ab1vV.-_/%25~:;é \\'.split(''))
  fc.assert(
    fc.property(fc.array(char, { maxLength: 20 }), (chars) => {
      const route = rpc.resolve(at(`/${chars.join('')}`))
      if (route === undefined) return true
      return /^ns(\.[\w-]+)+$/.test(route.service) && /^\w+\.\w+$/.test(route.endpoint)
    }),
    { numRuns: scaleRuns(5000) },
  )
})
