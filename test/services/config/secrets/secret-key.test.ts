import { randomBytes } from 'node:crypto'
import t from 'tap'
import { makeSecretKey, parseSecretKey } from '../../../../services/config/secrets/secret-key.ts'

const KEY_NAME = 'the key'
const key = parseSecretKey(makeSecretKey(), KEY_NAME)

t.test('opens a sealed text at its path', async (t) => {
  for (const text of ['"secret"', '', '{"a":[1]}', 'é \u{1f600}', 'x'.repeat(1_000_000)]) {
    const sealed = key.seal('mx', 'a.b', text)
    t.match(sealed, /^mx1\.[\w-]{12}\.[\w-]+$/)
    t.notOk(text !== '' && sealed.includes(text))
    t.equal(key.open('mx', 'a.b', sealed), text)
  }
})

t.test('does not open at another path or with another key', async (t) => {
  const sealed = key.seal('mx', 'a.b', '"x"')
  t.equal(key.open('mx', 'a.c', sealed), undefined)
  t.equal(key.open('foo', 'a.b', sealed), undefined)
  t.equal(key.open('mx', 'a', sealed), undefined)
  t.equal(parseSecretKey(makeSecretKey(), KEY_NAME).open('mx', 'a.b', sealed), undefined)
})

t.test('does not open a modified text', async (t) => {
  const sealed = key.seal('mx', 'a', '"secret"')
  const body = sealed.lastIndexOf('.') + 1
  let opened = 0
  for (let i = 0; i < sealed.length; i++) {
    // The last character has bits that are not part of a byte.
    if (i === sealed.length - 1) continue
    const other = sealed[i] === 'A' ? 'B' : 'A'
    if (key.open('mx', 'a', sealed.slice(0, i) + other + sealed.slice(i + 1)) !== undefined)
      opened++
  }
  t.equal(opened, 0)
  for (let end = 0; end < sealed.length; end++)
    t.equal(key.open('mx', 'a', sealed.slice(0, end)), undefined)
  t.equal(key.open('mx', 'a', sealed.slice(0, body) + 'A'.repeat(200)), undefined)
})

t.test('encrypts equal texts differently', async (t) => {
  const all = new Set(Array.from({ length: 1000 }, () => key.seal('mx', 'a', '"x"')))
  t.equal(all.size, 1000)
})

t.test(
  'accepts keys of 32 bytes in base64, either alphabet, with or without padding',
  async (t) => {
    const bytes = randomBytes(32)
    bytes[0] = 0xfb
    bytes[1] = 0xff
    const { id } = parseSecretKey(bytes.toString('base64'), KEY_NAME)
    t.equal(parseSecretKey(bytes.toString('base64url'), KEY_NAME).id, id)
    t.equal(parseSecretKey(` ${bytes.toString('base64')}\n`, KEY_NAME).id, id)
    t.not(parseSecretKey(randomBytes(32).toString('base64'), KEY_NAME).id, id)
    t.notOk(bytes.toString('base64').includes(id))
  },
)

t.test('rejects a malformed key without quoting it', async (t) => {
  const expectation =
    'the key must be 32 bytes in base64, as created by `openssl rand -base64 32`, got'
  for (const [text, received] of [
    ['', 'invalid base64'],
    ['hunter2 hunter2', 'invalid base64'],
    ['hunter2', '5 bytes'],
    [randomBytes(16).toString('base64'), '16 bytes'],
    [randomBytes(33).toString('base64'), '33 bytes'],
    [randomBytes(32).toString('hex'), '48 bytes'],
  ] as const)
    t.throws(() => parseSecretKey(text, KEY_NAME), { message: `${expectation} ${received}` })
})
