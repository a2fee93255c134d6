import fc from 'fast-check'
import t from 'tap'
import type { RequestLine } from '../../core/route.ts'
import proxy from '../../resolvers/proxy.ts'
import { scaleRuns } from '../fixtures/property-runs.ts'

function at(path: string, namespace = 'ns'): RequestLine {
  return { method: 'GET', path, host: 'localhost:8080', namespace }
}

function getService(path: string, namespace = 'ns'): string | undefined {
  return proxy.resolve(at(path, namespace))?.service
}

t.test('maps a path to a service (specification: Proxy resolver)', async (t) => {
  const rows: [string, string][] = [
    ['/a', 'ns.a'],
    ['/a/b', 'ns.a'],
    ['/a/:param', 'ns.a'],
  ]
  for (const [path, service] of rows) t.equal(getService(path), service, path)
})

t.test('leaves endpoint and variables empty', async (t) => {
  t.same(proxy.resolve(at('/a/b')), { service: 'ns.a', endpoint: '' })
})

t.test('resolves GET /<a> under <ns>.<a> (specification: Namespace)', async (t) => {
  t.equal(getService('/greeter', 'go.mx.api'), 'go.mx.api.greeter')
  t.equal(getService('/greeter', ''), 'greeter', 'no prefix without a namespace')
})

t.test('includes a leading version segment in the name (specification: Versioning)', async (t) => {
  const rows: [string, string][] = [
    ['/v1/a/b', 'ns.v1.a'],
    ['/v1/a/b/c', 'ns.v1.a'],
    ['/v12/a/b', 'ns.v12.a'],
    // Reference 15.8: only with three segments or more.
    ['/v1', 'ns.v1'],
    ['/v1/a', 'ns.v1'],
    ['/v1/a/', 'ns.v1'],
    ['/v/a/b', 'ns.v'],
    ['/v1x/a/b', 'ns.v1x'],
    ['/version/a/b', 'ns.version'],
    ['/V1/a/b', 'ns.V1'],
  ]
  for (const [path, service] of rows) t.equal(getService(path), service, path)
})

t.test('preserves case, dashes, dots and underscores of names', async (t) => {
  for (const name of ['user-service', 'Users', 'a.b', 'a_b', '9']) {
    t.equal(getService(`/${name}/x`), `ns.${name}`)
  }
})

t.test('does not resolve invalid names', async (t) => {
  const paths = [
    '/',
    '//',
    '//a',
    '/./a',
    '/../a',
    '/%61',
    '/a%2fb',
    '/a b',
    '/a;b',
    '/-a',
    '/__proto__/a',
  ]
  for (const path of [
    ...paths,
    '',
    '*',
    '/v1//b',
    '/v1/../b',
    '/v1/%61/b',
    `/${'a'.repeat(300)}`,
  ]) {
    t.equal(proxy.resolve(at(path)), undefined, JSON.stringify(path))
  }
})

t.test('returns equal routes for equal keys', async () => {
  const segment = fc.constantFrom('v1', 'v2', 'a', 'b', '', '..', 'v', 'v1a')
  const path = fc.array(segment, { maxLength: 5 }).map((segments) => `/${segments.join('/')}`)
  fc.assert(
    fc.property(path, path, (one, two) => {
      if (proxy.key(at(one)) !== proxy.key(at(two))) return true
      return getService(one) === getService(two)
    }),
    { numRuns: scaleRuns(2000) },
  )
})

t.test('uses one key for all paths of a service', async (t) => {
  t.equal(proxy.key(at('/a/b')), proxy.key(at('/a/c/d')))
  t.equal(proxy.key(at('/v1/a/b')), proxy.key(at('/v1/a/c/d')))
  t.not(proxy.key(at('/a/b')), proxy.key(at('/b/a')))
})
