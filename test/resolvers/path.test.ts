import t from 'tap'
import type { RequestLine } from '../../core/route.ts'
import path from '../../resolvers/path.ts'

function at(target: string, namespace = 'ns'): RequestLine {
  return { method: 'GET', path: target, host: 'localhost', namespace }
}

t.test('uses the first segment with the namespace as service name', async (t) => {
  const rows: [string, string][] = [
    ['/a', 'ns.a'],
    ['/a/', 'ns.a'],
    ['/a/b/c', 'ns.a'],
    ['/v1/a/b', 'ns.v1'],
    ['/user-service/x', 'ns.user-service'],
  ]
  for (const [target, service] of rows) {
    t.same(path.resolve(at(target)), { service, endpoint: '' }, target)
  }
  t.equal(path.resolve(at('/a/b', ''))?.service, 'a', 'no prefix without a namespace')
})

t.test('does not resolve / and invalid names', async (t) => {
  for (const target of ['/', '//', '//a', '/..', '/../a', '/%61', '/a b', '/__proto__', '*', '']) {
    t.equal(path.resolve(at(target)), undefined, JSON.stringify(target))
  }
})

t.test('uses one key for all paths of a service', async (t) => {
  t.equal(path.key(at('/a')), path.key(at('/a/b')))
  t.not(path.key(at('/a/b')), path.key(at('/ab')))
})
