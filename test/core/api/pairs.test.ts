import t from 'tap'
import {
  groupValues,
  isInternal,
  toHeaderValues,
  toPairs,
  toQueryValues,
} from '../../../core/api/pairs.ts'
import { TestExchange } from '../../../sdk/testing.ts'

t.test('values are grouped by name, in their original order', (t) => {
  const values = groupValues(['a', '1', 'b', '', 'a', '2', 'a', '1'], 'a parameter', 'x')
  t.same(Object.entries(values), [
    ['a', ['1', '2', '1']],
    ['b', ['']],
  ])
  t.same(toPairs(values)['a'], { key: 'a', values: ['1', '2', '1'] })
  t.equal(toPairs(values)['toString'], undefined, 'no inherited properties')
  t.end()
})

t.test('rejects the names __proto__, constructor and prototype with 400', (t) => {
  for (const name of ['__proto__', 'constructor', 'prototype']) {
    t.throws(() => groupValues([name, '1'], 'a parameter', 'go.mx.api.users'), {
      code: 400,
      id: 'go.mx.api.users',
      message: `a parameter must not be named "${name}"`,
    })
  }
  t.end()
})

t.test('a query is decoded as application/x-www-form-urlencoded', (t) => {
  const x = new TestExchange({ path: '/a?b=1&c=x+y%26&b=2&d' })
  t.same(Object.entries(toQueryValues(x)), [
    ['b', ['1', '2']],
    ['c', ['x y&']],
    ['d', ['']],
  ])
  t.same(Object.keys(toQueryValues(new TestExchange())), [])
  t.throws(() => toQueryValues(new TestExchange({ path: '/?a=%' })), { code: 400, id: 'go.mx.api' })
  t.end()
})

t.test('header names are in canonical case, with one value per header line', (t) => {
  const x = new TestExchange({
    host: 'api.example.com:8080',
    headers: {
      'content-type': 'text/plain',
      'x-b3-traceid': '1',
      'set-1a-b': '2',
      accept: ['a/b', 'c/d, e/f'],
      'x-name': Buffer.from('Zürich').toString('latin1'),
      'x-latin': 'Z\xfcrich',
    },
  })
  t.same(Object.entries(toHeaderValues(x)), [
    ['Content-Type', ['text/plain']],
    ['X-B3-Traceid', ['1']],
    ['Set-1a-B', ['2']],
    ['Accept', ['a/b', 'c/d, e/f']],
    ['X-Name', ['Zürich']],
    ['X-Latin', ['Zürich']],
    ['Host', ['api.example.com:8080']],
  ])
  t.end()
})

t.test('a Host header set by a plugin replaces the one from the client', (t) => {
  const x = new TestExchange({ host: 'a.example' })
  x.headers.set('host', 'b.example')
  t.same(toHeaderValues(x)['Host'], ['b.example'])
  t.end()
})

t.test('internal mx-* headers are removed, except mx-namespace', (t) => {
  const x = new TestExchange({
    headers: { 'mx-account': '{}', 'mx-namespace': 'staging', 'mx-x': '1', 'x-mx': '2' },
  })
  t.same(Object.keys(toHeaderValues(x)), ['Mx-Namespace', 'X-Mx', 'Host'])
  t.ok(isInternal('mx-topic'))
  t.notOk(isInternal('mx-namespace'))
  t.end()
})
