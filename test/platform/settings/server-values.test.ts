import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import t from 'tap'
import {
  parseAdvertised,
  parseBrokerText,
  parseCores,
  parseEventsText,
  parseKeySource,
  parseNetworkName,
  parseNetworkToken,
  parsePassword,
  parsePreviousKey,
  parsePrivateKey,
  parseServerAddresses,
  parseServerId,
  parseStoreText,
} from '../../../platform/settings/server-values.ts'
import { makeSecretKey } from '../../../services/config/secrets/secret-key.ts'

t.test('a store is memory, lmdb or the URL of a PostgreSQL server', async (t) => {
  for (const text of ['memory', 'lmdb', 'postgres://mx:secret@127.0.0.1:5432/mx?schema=a'])
    t.equal(parseStoreText(` ${text} `), text)
  const wrong: Record<string, RegExp> = {
    memroy: /must be memory, lmdb .*, got "memroy", did you mean memory\?$/,
    'redis://a:pass@b:1': /got "redis:\/\/\[hidden\]@b:1"$/,
    'postgres://a:pass@h:1/': /^cannot be used: PostgreSQL is .*: it must name one database$/,
    '': /got ""$/,
  }
  for (const [text, message] of Object.entries(wrong))
    t.throws(() => parseStoreText(text), { name: 'RangeError', message }, text)
})

t.test('cores are a number, or none', async (t) => {
  for (const [text, cores] of [
    [' 0.1 ', 0.1],
    ['2', 2],
    ['0', 0],
    ['none', 0],
  ] as const)
    t.equal(parseCores(text), cores, text)
  for (const text of ['', '-1', '1025', '0.0001', '100m'])
    t.throws(() => parseCores(text), { name: 'RangeError', message: /^must be a number of cores/ })
})

t.test('a token of the network has at least 16 characters', async (t) => {
  t.equal(parseNetworkToken(' '), '')
  t.equal(parseNetworkToken(' 16-characters--- '), '16-characters---')
  const message = /^must have at least 16 characters, .*, got 15$/
  t.throws(() => parseNetworkToken('15-characters--'), { name: 'RangeError', message })
})

t.test('a broker is memory or the URL of a server of NATS', async (t) => {
  for (const text of ['memory', 'nats://127.0.0.1:4222', 'tls://u:p@a:1,b:2?prefix=x'])
    t.equal(parseBrokerText(` ${text} `), text)
  const wrong: Record<string, RegExp> = {
    memroy: /^must be memory .* or nats:\/\/.*, got "memroy", did you mean memory\?$/,
    'nats://a:pass@h:0': /^cannot be used: (?!.*pass@)/,
  }
  for (const [text, message] of Object.entries(wrong))
    t.throws(() => parseBrokerText(text), { name: 'RangeError', message }, text)
})

t.test('events are kept in memory, in a file, or by a server of NATS', async (t) => {
  for (const text of ['memory', 'lmdb', 'nats://127.0.0.1:4222'])
    t.equal(parseEventsText(` ${text} `), text)
  t.throws(() => parseEventsText('jetstream'), {
    name: 'RangeError',
    message: /^must be memory, lmdb \(a file\) or nats:.* \(JetStream\), got "jetstream"$/,
  })
})

t.test('an advertised address is a host, with or without a port', async (t) => {
  t.equal(parseAdvertised(' '), undefined)
  t.same(parseAdvertised('mx.internal'), { host: 'mx.internal', port: undefined })
  t.same(parseAdvertised('10.0.0.1:8081'), { host: '10.0.0.1', port: 8081 })
  t.same(parseAdvertised('[::1]'), { host: '::1', port: undefined })
  t.same(parseAdvertised('[::1]:80'), { host: '::1', port: 80 })
  for (const text of ['::1', 'a b', 'http://a', 'a:0', 'a:70000', ':80'])
    t.throws(() => parseAdvertised(text), {
      name: 'RangeError',
      message: /^must be host or host:port/,
    })
})

t.test(
  'a key is 32 bytes in base64, a file or of this process; a wrong one is not shown',
  async (t) => {
    const key = makeSecretKey()
    for (const text of ['', 'file', 'memory', key]) t.equal(parseKeySource(` ${text} `), text)
    t.equal(parsePreviousKey(key), key)
    for (const read of [parseKeySource, parsePreviousKey])
      t.throws(() => read('c2VjcmV0'), {
        name: 'RangeError',
        message: /^must be 32 bytes in base64, .* got 6 bytes$/,
      })
    t.throws(() => parsePreviousKey('file'), /^must be 32 bytes in base64/)
  },
)

t.test(
  'a key that signs tokens is Ed25519 in PEM, or that in base64; a wrong one is not shown',
  (t) => {
    const toPem = (pair: { privateKey: KeyObject }): string =>
      pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString().trim()
    const pem = toPem(generateKeyPairSync('ed25519'))
    t.equal(parsePrivateKey(''), '')
    t.equal(parsePrivateKey(` ${pem}\n`), pem)
    t.equal(parsePrivateKey(pem.replaceAll('\n', '\\n')), pem, 'as it stands in one line')
    t.equal(parsePrivateKey(Buffer.from(pem).toString('base64')), pem)
    const other = toPem(generateKeyPairSync('x25519'))
    const wrong = {
      name: 'RangeError',
      message: /^must be an Ed25519 key in PEM, .* got a key of type x25519$/,
    }
    t.throws(() => parsePrivateKey(other), wrong)
    for (const text of ['c2VjcmV0', '-----BEGIN hush-----'])
      t.throws(() => parsePrivateKey(text), {
        message:
          'must be an Ed25519 key in PEM, as `openssl genpkey -algorithm ed25519` makes them, got something that is none',
      })
    t.end()
  },
)

t.test('a password is as long as the service auth takes it', (t) => {
  t.equal(parsePassword(' correct horse '), 'correct horse')
  t.throws(() => parsePassword('x'.repeat(1025)), {
    ...{ name: 'RangeError', message: 'must be at most 1024 characters, got 1025' },
  })
  t.end()
})

t.test('servers, their network and their id are what they can be', async (t) => {
  t.same(parseServerAddresses(['a:1', 'mxs://[::1]:2']), ['mx://a:1', 'mxs://[::1]:2'])
  t.throws(() => parseServerAddresses(['a:1', 'b']), /^must be host:port, .* got "b"$/)
  const many = Array.from({ length: 1000 }, () => 'a:1')
  t.throws(() => parseServerAddresses(many), /^must be at most \d+ servers, got 1000$/)
  t.equal(parseNetworkName(' mx '), 'mx')
  t.throws(() => parseNetworkName('a b'), /^must be 1 to 253 visible ASCII characters, got "a b"$/)
  t.same(['', ' a.b '].map(parseServerId), ['', 'a.b'])
  t.throws(() => parseServerId('-a'), /^must be 1 to 100 letters, .* got "-a"$/)
})

t.test('what may be a secret is not shown by errors', async (t) => {
  for (const parse of [parseAdvertised, (text: string) => parseServerAddresses([text])])
    for (const text of ['mxs://hush@h:1/x', 'u:hush@h', 'mx:/hush@h:1'])
      t.throws(() => parse(text), { message: /got "(mxs:\/\/)?\[hidden\]@h/ }, text)
})
