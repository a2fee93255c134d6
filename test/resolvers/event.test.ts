import t from 'tap'
import type { RequestLine } from '../../core/route.ts'
import event from '../../resolvers/event.ts'

function at(path: string, namespace = 'ns'): RequestLine {
  return { method: 'POST', path, host: 'localhost', namespace }
}

t.test('maps a path to topic and event', async (t) => {
  const rows: [string, string, string][] = [
    ['/orders/created', 'ns.orders', 'created'],
    ['/orders/created/', 'ns.orders', 'created'],
    ['/foo/bar/baz', 'ns.foo', 'bar.baz'],
    ['/foo/bar/baz/cat', 'ns.foo', 'bar.baz.cat'],
    ['/user-events/signed_up', 'ns.user-events', 'signed_up'],
  ]
  for (const [path, service, endpoint] of rows)
    t.same(event.resolve(at(path)), { service, endpoint }, path)
})

t.test('maps one segment to event "event"', async (t) => {
  t.same(event.resolve(at('/orders')), { service: 'ns.orders', endpoint: 'event' })
  t.same(event.resolve(at('/orders', '')), { service: 'orders', endpoint: 'event' })
})

t.test('maps /v1/foo/bar to topic <ns>.v1.foo, event bar', async (t) => {
  t.same(event.resolve(at('/v1/foo/bar')), { service: 'ns.v1.foo', endpoint: 'bar' })
  t.same(event.resolve(at('/v1/foo/bar/baz')), { service: 'ns.v1.foo', endpoint: 'bar.baz' })
  t.same(event.resolve(at('/v1/foo')), { service: 'ns.v1', endpoint: 'foo' }, 'two segments')
})

t.test('does not resolve / and invalid names', async (t) => {
  const paths = [
    '/',
    '',
    '*',
    '//',
    '/a//b',
    '/a/../b',
    '/a/%62',
    '/%61',
    '/a/b c',
    '/a/*',
    '/a/b>',
  ]
  for (const path of [...paths, '/__proto__', '/a/__proto__', `/a/${'b'.repeat(600)}`])
    t.equal(event.resolve(at(path)), undefined, JSON.stringify(path))
})

t.test('does not look up topics in the registry', async (t) => {
  t.equal(event.names, 'topics')
})
