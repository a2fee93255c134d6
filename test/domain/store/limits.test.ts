import t from 'tap'
import {
  isKeyPart,
  isStoreKey,
  isTableName,
  MAX_KEY_BYTES,
  sizeOfMetadata,
} from '../../../domain/store/limits.ts'

t.test('accepts keys of 1 to 1024 bytes of UTF-8 without NUL', (t) => {
  for (const key of [
    'a',
    ' ',
    'a/b',
    '\u0001',
    '__proto__',
    'é'.repeat(512),
    'a'.repeat(MAX_KEY_BYTES),
  ])
    t.ok(isStoreKey(key), key.slice(0, 20))
  const invalid = ['', 'a\0', '\ud83d', '\ude00a', 'é'.repeat(513), 'a'.repeat(MAX_KEY_BYTES + 1)]
  for (const key of [...invalid, 1, null, undefined, {}])
    t.notOk(isStoreKey(key), JSON.stringify(key))
  t.ok(isKeyPart(''))
  t.notOk(isKeyPart('\0'))
  t.end()
})

t.test('accepts databases and tables named like services', (t) => {
  for (const name of ['mx', 'go.mx.api', 'a-b_c.D9', 'x'.repeat(253)]) t.ok(isTableName(name))
  for (const name of ['', '.', 'a/b', '..', '__proto__', 'é', 'a b', 'x'.repeat(254), 1, undefined])
    t.notOk(isTableName(name), JSON.stringify(name))
  t.end()
})

t.test('measures metadata as JSON', (t) => {
  const all: Record<string, string>[] = [{}, { a: 'b' }, { 'é"': '\u0001\u{1f600}', b: '' }]
  for (const metadata of all) {
    const bytes = Buffer.byteLength(JSON.stringify(metadata))
    t.ok(sizeOfMetadata(metadata) >= bytes && sizeOfMetadata(metadata) <= bytes + 1)
  }
  t.equal(sizeOfMetadata({ a: 1 } as unknown as Record<string, string>), Number.POSITIVE_INFINITY)
  t.end()
})
