import t from 'tap'
import { createSealer } from '../../../../services/config/secrets/sealer.ts'
import { makeSecretKey, parseSecretKey } from '../../../../services/config/secrets/secret-key.ts'

const secretKey = parseSecretKey(makeSecretKey(), 'key')
const other = parseSecretKey(makeSecretKey(), 'key')
const id = 'config.Config.Get'
const create = (options: object = {}) =>
  createSealer({ namespace: 'mx', secretKey, keyId: secretKey.id, id, ...options })

t.test('encrypts and decrypts secrets for a path of the namespace', async (t) => {
  const { seal, open } = create()
  const sealed = seal(['a', 'b'], '1')
  t.equal(open(['a', 'b'], sealed), '1')
  t.equal(secretKey.open('mx', 'a.b', sealed), '1')
  t.equal(create({ keyId: undefined }).open(['a', 'b'], sealed), '1')
})

t.test('returns 500 for a secret of another path or a modified secret', async (t) => {
  const sealed = create().seal(['a'], '1')
  for (const [sealer, names, text] of [
    [create(), ['b'], sealed],
    [create({ namespace: 'foo' }), ['a'], sealed],
    [create(), ['a'], `${sealed}A`.replace('mx1', 'mx2')],
  ] as const)
    t.throws(() => sealer.open(names, text), {
      id,
      code: 500,
      message:
        /^the secret [ab] of (mx|foo) cannot be decrypted: it was modified or belongs to another path$/,
    })
})

t.test('returns 501 without a key and 503 with another key', async (t) => {
  const sealed = create().seal(['a'], '1')
  const none = { id, code: 501, message: 'secrets cannot be stored: config_secret_key is not set' }
  t.throws(() => create({ secretKey: undefined }).seal(['a'], '1'), none)
  t.throws(() => create({ secretKey: undefined }).open(['a'], sealed), none)
  const invalid = { id, code: 503, message: /now encrypted with another key/ }
  t.throws(() => create({ secretKey: other }).seal(['a'], '1'), invalid)
  t.throws(() => create({ secretKey: other }).open(['a'], sealed), invalid)
})
