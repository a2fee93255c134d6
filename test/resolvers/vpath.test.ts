import fc from 'fast-check'
import t from 'tap'
import type { RequestLine } from '../../core/route.ts'
import vpath from '../../resolvers/vpath.ts'
import { scaleRuns } from '../fixtures/property-runs.ts'

function at(path: string, namespace = 'ns'): RequestLine {
  return { method: 'GET', path, host: 'localhost', namespace }
}

t.test('resolves like path, with a version segment as part of the name', async (t) => {
  const rows: [string, string][] = [
    ['/a', 'ns.a'],
    ['/a/b', 'ns.a'],
    ['/v1', 'ns.v1'],
    ['/v1/', 'ns.v1'],
    ['/v1/a', 'ns.v1.a'],
    ['/v1/a/', 'ns.v1.a'],
    ['/v1/a/b/c', 'ns.v1.a'],
    ['/v12/a', 'ns.v12.a'],
    ['/v/a', 'ns.v'],
    ['/v1x/a', 'ns.v1x'],
  ]
  for (const [path, service] of rows) {
    t.same(vpath.resolve(at(path)), { service, endpoint: '' }, path)
  }
  t.equal(vpath.resolve(at('/v1/a', ''))?.service, 'v1.a', 'no prefix without a namespace')
})

t.test('does not resolve / and invalid names', async (t) => {
  const paths = [
    '/',
    '//',
    '//a',
    '/..',
    '/%61',
    '/__proto__',
    '/v1//a',
    '/v1/..',
    '/v1/%61',
    '*',
    '',
  ]
  for (const path of paths) t.equal(vpath.resolve(at(path)), undefined, JSON.stringify(path))
})

t.test('returns equal routes for equal keys', async () => {
  const segment = fc.constantFrom('v1', 'v2', 'a', 'b', '', '..', 'v', 'v1a')
  const path = fc.array(segment, { maxLength: 5 }).map((segments) => `/${segments.join('/')}`)
  fc.assert(
    fc.property(path, path, (one, two) => {
      if (vpath.key(at(one)) !== vpath.key(at(two))) return true
      return vpath.resolve(at(one))?.service === vpath.resolve(at(two))?.service
    }),
    { numRuns: scaleRuns(2000) },
  )
})
