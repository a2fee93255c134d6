import type { NetworkInterfaceInfo } from 'node:os'
import t from 'tap'
import { findWildcardHost } from '../../../core/http/host/wildcard-host.ts'
import { parseHostPort } from '../../../core/upstream/node/parse-node.ts'
import {
  parseListenAddress,
  readListenAddress,
  toReachable,
} from '../../../sdk/service/listen-address.ts'

t.test('parses host and port, IPv6 in brackets, and all interfaces without a host', async (t) => {
  t.strictSame(parseListenAddress('127.0.0.1:0'), { host: '127.0.0.1', port: 0 })
  t.strictSame(parseListenAddress('localhost:9000'), { host: 'localhost', port: 9000 })
  t.strictSame(parseListenAddress('[::1]:65535'), { host: '::1', port: 65_535 })
  t.strictSame(parseListenAddress('0.0.0.0:80'), { host: '0.0.0.0', port: 80 })
  t.strictSame(parseListenAddress(':80'), { host: findWildcardHost(), port: 80 })
  for (const text of [
    '',
    '80',
    'a',
    'a:',
    'a:65536',
    'a:-1',
    '::1:80',
    '[a]:80',
    'a b:80',
    '[1.2.3.4]:1',
  ])
    t.throws(() => parseListenAddress(text), /address must be host:port/, text)
})

t.test('the reachable address replaces a wildcard host', async (t) => {
  t.equal(toReachable({ host: '127.0.0.1', port: 80 }), '127.0.0.1:80')
  t.equal(toReachable({ host: '::1', port: 80 }), '[::1]:80')
  t.equal(toReachable({ host: 'service.internal', port: 80 }), 'service.internal:80')
  for (const host of ['0.0.0.0', '::']) {
    const reachable = parseHostPort(toReachable({ host, port: 80 }))
    t.ok(reachable !== undefined && reachable.host !== host && reachable.port === 80)
  }
})

t.test('a listener on all interfaces is advertised at a reachable address', async (t) => {
  const toInterface = (family: 'IPv4' | 'IPv6', address: string, internal = false) =>
    ({ family, address, internal }) as NetworkInterfaceInfo
  const lo = [toInterface('IPv4', '127.0.0.1', true), toInterface('IPv6', '::1', true)]
  const ipv4 = toInterface('IPv4', '192.0.2.7')
  const ipv6 = toInterface('IPv6', '2001:db8::7')
  const linkLocal = toInterface('IPv6', 'fe80::7')
  const advertise = (host: string, ...eth0: NetworkInterfaceInfo[]) =>
    toReachable({ host, port: 80 }, { lo, eth0 })
  t.equal(advertise('::', linkLocal, ipv6, ipv4), '192.0.2.7:80')
  t.equal(advertise('::', linkLocal, ipv6), '[2001:db8::7]:80', 'an IPv6-only machine')
  t.equal(advertise('::', linkLocal), '127.0.0.1:80')
  t.equal(advertise('0.0.0.0', ipv6), '127.0.0.1:80', 'the listener is IPv4-only')
  t.equal(toReachable({ host: '::', port: 80 }, { lo: lo.slice(1) }), '[::1]:80')
})

t.test('an invalid MX_SERVICE_ADDRESS is rejected with its name, not as a TypeError', async (t) => {
  t.teardown(() => delete process.env['MX_SERVICE_ADDRESS'])
  process.env['MX_SERVICE_ADDRESS'] = 'foo'
  const error = t.throws(() => readListenAddress(undefined), {
    message: /^MX_SERVICE_ADDRESS: address must be host:port, .*, got "foo"$/,
  })
  t.notOk(error instanceof TypeError)
  t.strictSame(readListenAddress('localhost:80'), { host: 'localhost', port: 80 })
  process.env['MX_SERVICE_ADDRESS'] = ''
  t.strictSame(readListenAddress(undefined), { host: '127.0.0.1', port: 0 })
})
