import { isIPv4 } from 'node:net'
import t from 'tap'
import { parseAddress } from '../../core/upstream/parse-node.ts'
import { parseListenAddress, readListenAddress, toReachable } from '../../sdk/listen-address.ts'

t.test('host and port, IPv6 in brackets, no host: all interfaces', async (t) => {
  t.strictSame(parseListenAddress('127.0.0.1:0'), { host: '127.0.0.1', port: 0 })
  t.strictSame(parseListenAddress('localhost:9000'), { host: 'localhost', port: 9000 })
  t.strictSame(parseListenAddress('[::1]:65535'), { host: '::1', port: 65_535 })
  t.strictSame(parseListenAddress(':80'), { host: '0.0.0.0', port: 80 })
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

t.test('where others reach it', async (t) => {
  t.equal(toReachable({ host: '127.0.0.1', port: 80 }), '127.0.0.1:80')
  t.equal(toReachable({ host: '::1', port: 80 }), '[::1]:80')
  t.equal(toReachable({ host: 'service.internal', port: 80 }), 'service.internal:80')
  for (const host of ['0.0.0.0', '::']) {
    const reachable = parseAddress(toReachable({ host, port: 80 }))
    t.ok(reachable !== undefined && reachable.host !== host && reachable.port === 80)
  }
  t.ok(isIPv4(parseAddress(toReachable({ host: '0.0.0.0', port: 80 }))!.host))
})

t.test('a variable that is no address is named, and is no fault of the program', async (t) => {
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
