import t from 'tap'
import { parseConsulUrl } from '../../../../../adapters/registry/consul/http/url.ts'

const LOCAL = { host: '127.0.0.1', port: 8500, secure: false }

t.test('parses the address and options', async (t) => {
  t.same(parseConsulUrl('consul://', {}), LOCAL)
  t.same(parseConsulUrl('consul://consul.example', {}), { ...LOCAL, host: 'consul.example' })
  t.same(parseConsulUrl('consul://[::1]:99/', {}), { host: '::1', port: 99, secure: false })
  t.same(parseConsulUrl('consuls://t%40k@h?dc=eu&domain=shop&ca=/c.pem&cert=/x&key=/y', {}), {
    host: 'h',
    port: 8501,
    secure: true,
    token: 't@k',
    datacenter: 'eu',
    domain: 'shop',
    caFile: '/c.pem',
    certFile: '/x',
    keyFile: '/y',
  })
})

t.test("reads defaults from Consul's variables", async (t) => {
  const env = {
    CONSUL_HTTP_ADDR: 'https://consul.example',
    CONSUL_HTTP_TOKEN: 'abc',
    CONSUL_CACERT: '/ca.pem',
    CONSUL_CLIENT_CERT: '/cert.pem',
    CONSUL_CLIENT_KEY: '/key.pem',
  }
  const tls = { caFile: '/ca.pem', certFile: '/cert.pem', keyFile: '/key.pem' }
  t.same(parseConsulUrl('consul://', env), {
    host: 'consul.example',
    port: 443,
    secure: true,
    token: 'abc',
    ...tls,
  })
  t.match(parseConsulUrl('consul://mine@other:1', env), { host: 'other', port: 1, token: 'mine' })
  const addresses: [string, object][] = [
    ['10.0.0.1:8500', { host: '10.0.0.1', port: 8500, secure: false }],
    ['http://10.0.0.1', { host: '10.0.0.1', port: 80, secure: false }],
    ['[::1]:8500', { host: '::1', port: 8500 }],
    [':8600', { host: '127.0.0.1', port: 8600 }],
    ['', LOCAL],
  ]
  for (const [CONSUL_HTTP_ADDR, expected] of addresses)
    t.match(parseConsulUrl('consul://', { CONSUL_HTTP_ADDR }), expected, CONSUL_HTTP_ADDR)
  for (const [text, port] of [
    ['true', 8501],
    ['T', 8501],
    ['1', 8501],
    ['false', 8500],
    ['0', 8500],
    ['', 8500],
  ] as const)
    t.match(parseConsulUrl('consul://', { CONSUL_HTTP_SSL: text }), { port, secure: port === 8501 })
})

t.test("divides Consul's connection limit among workers", async (t) => {
  t.equal(parseConsulUrl('consul://h?max_waiting=6000', {}).maxWaiting, 6000)
  const shared = (MX_WORKER_COUNT: string, text = 'consul://h'): number | undefined =>
    parseConsulUrl(text, { MX_WORKER_COUNT }).maxWaiting
  t.equal(shared('1'), undefined)
  t.equal(shared('2'), 78)
  t.equal(shared('4'), 30)
  t.equal(shared('64'), 8)
  t.equal(shared('4', 'consul://h?max_waiting=500'), 500, 'unless max_waiting is set')
})

t.test('names the invalid part and redacts tokens', async (t) => {
  const invalid: [string, RegExp][] = [
    ['http://h', /the Consul address must be consul:\/\//],
    ['consul://h:99999', /the Consul port must be 1 to 65535, got 99999/],
    ['consul://h:0', /the Consul port must be 1 to 65535, got 0/],
    ['consul://secret@h?max_waiting=0', /max_waiting= must be 1 to 100000, got "0"/],
    ['consul://secret@h?max_waiting=1e3', /max_waiting= must be 1 to 100000/],
    ['consul://a b', /the Consul address must be consul:\/\//],
    ['consul://secret@h:99999', /in "consul:\/\/\[hidden\]@h:99999"/],
    ['consul://secret:x@h', /must not contain a colon/],
    ['consul://secret@h/path', /a Consul URL has no path/],
    ['consul://secret@h#x', /a Consul URL has no fragment/],
    ['consul://secret@h?dcc=eu', /unknown parameter "dcc" of consul:\/\/: did you mean dc\?/],
    [
      'consul://secret@h?zzzzz=eu',
      /unknown parameter "zzzzz" of consul:\/\/: expected dc, domain, max_waiting, ca, cert, key/,
    ],
    ['consul://secret@h?dc=', /\?dc= must have a value/],
    ['consul://secret@h?ca=/x', /certificates require consuls/],
    [
      'consul://secret@h?domain=a%20b',
      /\?domain= must be letters, digits and inner dots, dashes or underscores, got "a b"/,
    ],
    ['consul://secret%0d@h', /must be visible ASCII/],
    ['consul://%zz@h', /percent-encoded|the Consul address must be/],
  ]
  for (const [text, message] of invalid) {
    t.throws(() => parseConsulUrl(text, {}), { name: 'RangeError', message }, text)
    try {
      parseConsulUrl(text, {})
    } catch (error) {
      t.notMatch(String(error), /secret/)
    }
  }
  for (const CONSUL_HTTP_ADDR of ['unix:///x.sock', 'a b', 'h:0', 'h:70000', 'tok@h:1']) {
    t.throws(() => parseConsulUrl('consul://', { CONSUL_HTTP_ADDR }), /CONSUL_HTTP_ADDR must be/)
  }
  for (const CONSUL_HTTP_SSL of ['yes', 'on', 'ture']) {
    const message = `CONSUL_HTTP_SSL must be true or false, got "${CONSUL_HTTP_SSL}"`
    t.throws(() => parseConsulUrl('consul://h', { CONSUL_HTTP_SSL }), { message })
    t.equal(
      parseConsulUrl('consuls://h', { CONSUL_HTTP_SSL }).secure,
      true,
      'TLS is set by the variable',
    )
  }
})
