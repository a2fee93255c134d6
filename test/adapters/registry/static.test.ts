import t from 'tap'
import { createStaticRegistry, parseBackend, toService } from '../../../adapters/registry/static.ts'
import type { RegistryEvent } from '../../../core/contracts/registry.ts'
import { testRegistry } from '../../contracts/registry.ts'
import { makeNode, makeService } from '../../fixtures/services.ts'

testRegistry(t, () => {
  const registry = createStaticRegistry([])
  return { registry, replaceServices: registry.replace }
})

t.test('parses a name and its nodes', async (t) => {
  t.same(
    parseBackend('greeter=127.0.0.1:9001;3,127.0.0.1:9002', 'go.mx.api'),
    makeService('go.mx.api.greeter', [
      makeNode('127.0.0.1:9001', { weight: '3' }),
      '127.0.0.1:9002',
    ]),
  )
  t.same(
    parseBackend(' greeter = a:1 , b:2 ; 3 ; pipeline=8 ', ''),
    makeService('greeter', ['a:1', makeNode('b:2', { weight: '3', pipeline: '8' })]),
  )
})

t.test('prefixes a name without a dot with the namespace', async (t) => {
  const getName = (text: string, namespace: string): string => parseBackend(text, namespace).name
  t.equal(getName('greeter=a:1', 'go.mx.api'), 'go.mx.api.greeter')
  t.equal(getName('v1.greeter=a:1', 'go.mx.api'), 'v1.greeter')
  t.equal(getName('greeter=a:1', ''), 'greeter', 'no namespace')
})

t.test('accepts IPv6 addresses and TLS', async (t) => {
  const cases: [string, string, Record<string, string>][] = [
    ['[::1]:9001', '[::1]:9001', {}],
    ['http://a:9001', 'a:9001', { protocol: 'http' }],
    ['https://a:9001', 'a:9001', { protocol: 'https' }],
    ['https://a', 'a:443', { protocol: 'https' }],
    ['http://[::1];2', '[::1]:80', { protocol: 'http', weight: '2' }],
  ]
  for (const [text, address, metadata] of cases) {
    const [node] = parseBackend(`greeter=${text}`, '').nodes
    t.match(node, { address }, text)
    t.same(node?.metadata, metadata, text)
  }
})

t.test('names the invalid part of a backend', async (t) => {
  const cases: [string, RegExp][] = [
    [
      'greeter',
      /^backend must be name=host:port\[;weight\],.* with http, https, mx, mxs, grpc or grpcs, got "greeter"$/,
    ],
    ['greeter=', /got "greeter="$/],
    ['=a:1', /^backend name must consist of letters, .* got ""$/],
    ['a b=a:1', /got "a b"$/],
    [
      'greeter=a',
      /^backend node "a": address must be host:port or \[IPv6\]:port with .*, got "a"$/,
    ],
    ['greeter=a:1,', /^backend node "": address must be/],
    ['greeter=a:1,b:99999', /^backend node "b:99999": .* a port from 1 to 65535, got "b:99999"$/],
    ['greeter=::1:9001', /^backend node "::1:9001": address must be/],
    ['greeter=a:1;0', /^backend node "a:1;0": weight must be a whole number from 1 to 1000/],
    ['greeter=a:1;', /weight must be a whole number .* got ""$/],
    ['greeter=a:1;pipeline=99', /pipeline must be a whole number from 1 to 64, got "99"$/],
    ['greeter=a:1;2;3', /^backend node a:1 accepts ;<weight> and ;pipeline=<n>, got "3"$/],
    ['greeter=a:1;speed=3', /got "speed=3"$/],
    [
      'greeter=ftp://a:1',
      /^backend node "ftp:\/\/a:1": scheme must be http, https, mx, mxs, grpc or grpcs, got "ftp"$/,
    ],
    ['greeter=a:1,HTTP://a:1', /scheme must be .*, got "HTTP"$/],
    ['greeter=https://a:1/path', /: expected scheme:\/\/host:port; .* so remove "\/path"$/],
    ['greeter=http://a/', /so remove "\/"$/],
    [
      'greeter=http://me:se/cret@a:1',
      /^backend node "http:\/\/\[hidden\]@a:1": .* so remove "\[hidden\]@a:1"$/,
    ],
    ['greeter=a:1,a:1', /^backend greeter has the duplicate node a:1$/],
  ]
  for (const [text, message] of cases) {
    t.throws(() => parseBackend(text, 'go.mx.api'), { name: 'RangeError', message }, text)
  }
})

t.test('lists a service without nodes', async (t) => {
  const registry = createStaticRegistry([toService('greeter', [], 'go.mx.api')])
  t.same(await registry.getService('go.mx.api.greeter'), [makeService('go.mx.api.greeter', [])])
})

t.test('merges entries with the same name and version', async (t) => {
  const registry = createStaticRegistry([
    parseBackend('greeter=a:1;1,b:2', ''),
    parseBackend('greeter=a:1;5,c:3', ''),
  ])
  t.same(await registry.getService('greeter'), [
    makeService('greeter', [makeNode('a:1', { weight: '5' }), 'b:2', 'c:3']),
  ])
})

t.test('rejects a list with a malformed entry and keeps the current one', async (t) => {
  const registry = createStaticRegistry([makeService('greeter', ['a:1'])])
  const events: RegistryEvent[] = []
  registry.watch?.((event) => events.push(event))
  t.throws(
    () => registry.replace([makeService('users', ['a:1']), makeService('greeter', ['nowhere'])]),
    { name: 'TypeError', message: /address of node nowhere must be host:port/ },
  )
  t.same(await registry.listServices(), [makeService('greeter', ['a:1'])])
  t.same(events, [])
})
