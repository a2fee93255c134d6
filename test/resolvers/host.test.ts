import t from 'tap'
import type { RequestLine } from '../../core/route.ts'
import host from '../../resolvers/host.ts'

function at(input: string, namespace = 'ns'): RequestLine {
  return { method: 'GET', path: '/a/b', host: input, namespace }
}

t.test('uses the lower-case Host without port as service name', async (t) => {
  const rows: [string, string][] = [
    ['shop.example.com', 'shop.example.com'],
    ['Shop.Example.COM:8080', 'shop.example.com'],
    ['shop.example.com.', 'shop.example.com'],
    ['shop.example.com.:443', 'shop.example.com'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
  ]
  for (const [hostName, service] of rows) {
    t.same(host.resolve(at(hostName)), { service, endpoint: '' }, hostName)
  }
})

t.test('prefixes a name without a dot with the namespace', async (t) => {
  t.equal(host.resolve(at('greeter:8080'))?.service, 'ns.greeter')
  t.equal(host.resolve(at('greeter', ''))?.service, 'greeter', 'no prefix without a namespace')
})

t.test('does not resolve an invalid name', async (t) => {
  const hosts = [
    '',
    ':80',
    '.',
    '..',
    'a..b',
    '[::1]:8080',
    '__proto__',
    'a b',
    'a/b',
    'a@b',
    'a:b',
    'a:123456',
  ]
  for (const hostName of hosts)
    t.equal(host.resolve(at(hostName)), undefined, JSON.stringify(hostName))
})

t.test('depends on the Host only', async (t) => {
  t.equal(host.key(at('a.b')), host.key({ ...at('a.b'), path: '/other', method: 'POST' }))
  t.not(host.key(at('a.b')), host.key(at('a.c')))
})
