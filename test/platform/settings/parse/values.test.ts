import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import t from 'tap'
import { CORES } from '../../../../lib/values/amount.ts'
import {
  ADVERTISED_ADDRESS,
  SERVER_ADDRESSES,
} from '../../../../platform/settings/parse/address.ts'
import { NETWORK_NAME, SERVER_ID } from '../../../../platform/settings/parse/names.ts'
import {
  PASSWORD,
  PRIVATE_KEY,
  SECRET_KEY,
  SECRET_KEY_SOURCE,
  SHARED_TOKEN,
} from '../../../../platform/settings/parse/secret.ts'
import {
  BROKER_URL,
  EVENT_STORE_URL,
  STORE_URL,
} from '../../../../platform/settings/parse/server-urls.ts'
import { makeSecretKey } from '../../../../services/config/secrets/secret-key.ts'

t.test('a store is memory, lmdb or the URL of a PostgreSQL server', async (t) => {
  for (const text of ['memory', 'lmdb', 'postgres://mx:secret@127.0.0.1:5432/mx?schema=a'])
    t.equal(STORE_URL.parse([` ${text} `]), text)
  const invalid: Record<string, RegExp> = {
    memroy: /must be memory, lmdb .*, got "memroy", did you mean memory\?$/,
    'redis://a:pass@b:1': /got "redis:\/\/\[hidden\]@b:1"$/,
    'postgres://a:pass@h:1/': /^cannot be used: invalid PostgreSQL URL, .*: expected one database$/,
    '': /got ""$/,
  }
  for (const [text, message] of Object.entries(invalid))
    t.throws(() => STORE_URL.parse([text]), { name: 'RangeError', message }, text)
})

t.test('a limit of cores is a number or none', async (t) => {
  for (const [text, cores] of [
    [' 0.1 ', 0.1],
    ['2', 2],
    ['0', 0],
    ['none', 0],
  ] as const)
    t.equal(CORES.parse([text]), cores, text)
  for (const text of ['', '-1', '1025', '0.0001', '100m'])
    t.throws(() => CORES.parse([text]), {
      name: 'RangeError',
      message: /^must be a number of cores/,
    })
})

t.test('a network token has at least 16 characters', async (t) => {
  t.equal(SHARED_TOKEN.parse([' ']), '')
  t.equal(SHARED_TOKEN.parse([' 16-characters--- ']), '16-characters---')
  const message = /^must have at least 16 characters, .*, got 15$/
  t.throws(() => SHARED_TOKEN.parse(['15-characters--']), { name: 'RangeError', message })
})

t.test('a broker is memory or the URL of a NATS server', async (t) => {
  for (const text of ['memory', 'nats://127.0.0.1:4222', 'tls://u:p@a:1,b:2?prefix=x'])
    t.equal(BROKER_URL.parse([` ${text} `]), text)
  const invalid: Record<string, RegExp> = {
    memroy: /^must be memory .* or nats:\/\/.*, got "memroy", did you mean memory\?$/,
    'nats://a:pass@h:0': /^cannot be used: (?!.*pass@)/,
  }
  for (const [text, message] of Object.entries(invalid))
    t.throws(() => BROKER_URL.parse([text]), { name: 'RangeError', message }, text)
})

t.test('an event store is memory, lmdb or the URL of a NATS server', async (t) => {
  for (const text of ['memory', 'lmdb', 'nats://127.0.0.1:4222'])
    t.equal(EVENT_STORE_URL.parse([` ${text} `]), text)
  t.throws(() => EVENT_STORE_URL.parse(['jetstream']), {
    name: 'RangeError',
    message: /^must be memory, lmdb \(a file\) or nats:.* \(JetStream\), got "jetstream"$/,
  })
})

t.test('an advertised address is a host with an optional port', async (t) => {
  t.equal(ADVERTISED_ADDRESS.parse([' ']), undefined)
  t.same(ADVERTISED_ADDRESS.parse(['mx.internal']), { host: 'mx.internal', port: undefined })
  t.same(ADVERTISED_ADDRESS.parse(['10.0.0.1:8081']), { host: '10.0.0.1', port: 8081 })
  t.same(ADVERTISED_ADDRESS.parse(['[::1]']), { host: '::1', port: undefined })
  t.same(ADVERTISED_ADDRESS.parse(['[::1]:80']), { host: '::1', port: 80 })
  for (const text of ['::1', 'a b', 'http://a', 'a:0', 'a:70000', ':80'])
    t.throws(() => ADVERTISED_ADDRESS.parse([text]), {
      name: 'RangeError',
      message: /^must be host or host:port/,
    })
})

t.test(
  'a secret key is 32 bytes in base64, file or memory, and errors do not contain it',
  async (t) => {
    const key = makeSecretKey()
    for (const text of ['', 'file', 'memory', key])
      t.equal(SECRET_KEY_SOURCE.parse([` ${text} `]), text)
    t.equal(SECRET_KEY.parse([key]), key)
    for (const { parse } of [SECRET_KEY_SOURCE, SECRET_KEY])
      t.throws(() => parse(['c2VjcmV0']), {
        name: 'RangeError',
        message: /^must be 32 bytes in base64, .* got 6 bytes$/,
      })
    t.throws(() => SECRET_KEY.parse(['file']), /^must be 32 bytes in base64/)
  },
)

t.test('a signing key is Ed25519 in PEM, plain or in base64, and errors do not contain it', (t) => {
  const toPem = (pair: { privateKey: KeyObject }): string =>
    pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString().trim()
  const pem = toPem(generateKeyPairSync('ed25519'))
  t.equal(PRIVATE_KEY.parse(['']), '')
  t.equal(PRIVATE_KEY.parse([` ${pem}\n`]), pem)
  t.equal(PRIVATE_KEY.parse([pem.replaceAll('\n', '\\n')]), pem, 'with escaped line breaks')
  t.equal(PRIVATE_KEY.parse([Buffer.from(pem).toString('base64')]), pem)
  const other = toPem(generateKeyPairSync('x25519'))
  const invalid = {
    name: 'RangeError',
    message: /^must be an Ed25519 key in PEM format, .* got a key of type x25519$/,
  }
  t.throws(() => PRIVATE_KEY.parse([other]), invalid)
  for (const text of ['c2VjcmV0', '-----BEGIN hush-----'])
    t.throws(() => PRIVATE_KEY.parse([text]), {
      message:
        'must be an Ed25519 key in PEM format, for example from `openssl genpkey -algorithm ed25519`, got no private key',
    })
  t.end()
})

t.test('a password has at most 1024 characters', (t) => {
  t.equal(PASSWORD.parse([' correct horse ']), 'correct horse')
  t.throws(() => PASSWORD.parse(['x'.repeat(1025)]), {
    ...{ name: 'RangeError', message: 'must be at most 1024 characters, got 1025' },
  })
  t.end()
})

t.test('parses addresses of servers, the network name and the server id', async (t) => {
  t.same(SERVER_ADDRESSES.parse(['a:1', 'mxs://[::1]:2']), ['mx://a:1', 'mxs://[::1]:2'])
  t.throws(() => SERVER_ADDRESSES.parse(['a:1', 'b']), /^must be host:port, .* got "b"$/)
  const many = Array.from({ length: 1000 }, () => 'a:1')
  t.throws(() => SERVER_ADDRESSES.parse(many), /^must be at most \d+ servers, got 1000$/)
  t.equal(NETWORK_NAME.parse([' mx ']), 'mx')
  t.throws(
    () => NETWORK_NAME.parse(['a b']),
    /^must be 1 to 253 visible ASCII characters, got "a b"$/,
  )
  t.same(
    ['', ' a.b '].map((text) => SERVER_ID.parse([text])),
    ['', 'a.b'],
  )
  t.throws(() => SERVER_ID.parse(['-a']), /^must be 1 to 100 letters, .* got "-a"$/)
})

t.test('errors about addresses redact userinfo', async (t) => {
  for (const { parse } of [ADVERTISED_ADDRESS, SERVER_ADDRESSES])
    for (const text of ['mxs://hush@h:1/x', 'u:hush@h', 'mx:/hush@h:1'])
      t.throws(() => parse([text]), { message: /got "(mxs:\/\/)?\[hidden\]@h/ }, text)
})
