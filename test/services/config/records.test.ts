import t from 'tap'
import {
  formatHead,
  formatKeyNote,
  parseHead,
  parseKeyNote,
  toKeys,
  toPatchKey,
  toTable,
  toTreeKey,
  type VersionEntry,
} from '../../../services/config/records.ts'

const ENTRY: VersionEntry = {
  version: 12,
  timestamp: 1000,
  account: 'admin',
  action: 'set',
  path: 'a.b',
  secret: true,
  keyId: 'k',
}

function toRecord(value: Uint8Array, key = 'now/head') {
  return { key, value, metadata: {}, expiresMs: 0, version: 1 }
}

t.test('reads head and key record as written', async (t) => {
  const { keyId: _, ...plain } = ENTRY
  for (const head of [{ keyId: 'k', versions: [plain, ENTRY] }, { versions: [plain] }])
    t.match(parseHead(toRecord(formatHead(head))), head)
  const note = { keyId: 'k', untidy: true }
  t.match(parseKeyNote(toRecord(formatKeyNote(note))), note)
})

t.test('rejects a malformed record', async (t) => {
  for (const text of [
    '',
    'null',
    '5',
    '{}',
    '{"format":2,"versions":[1]}',
    '{"format":1,"versions":[]}',
    '\xff',
  ])
    t.throws(() => parseHead(toRecord(Buffer.from(text, 'latin1'))), {
      code: 500,
      message:
        'record now/head of table config has an unknown format: it was written by another program or a newer version of mx',
    })
  t.throws(() => parseKeyNote(toRecord(Buffer.from('{"format":1}'), 'key')), {
    message: /^record key of table config/,
  })
})

t.test('sorts keys of previous versions; re-encryption changes them', async (t) => {
  const keys = [2, 9, 10, 100, Number.MAX_SAFE_INTEGER].map((version) => toPatchKey({ version }))
  t.strictSame([...keys].sort(), keys)
  t.equal(keys[0], 'before/0000000000000002')
  t.equal(toPatchKey(ENTRY), 'before/0000000000000012/k')
})

t.test('stores the last version as the tree', async (t) => {
  const { keyId: _, ...plain } = ENTRY
  t.strictSame(toKeys({ versions: [ENTRY, { ...plain, version: 13 }] }), [
    'before/0000000000000012/k',
    'now/tree',
  ])
  t.strictSame(toKeys({ versions: [ENTRY] }), ['now/tree/k'])
  t.equal(toTreeKey(ENTRY), 'now/tree/k')
  t.strictSame(toKeys({ versions: [] }), [])
})

t.test('uses the database of the namespace', async (t) => {
  t.strictSame(toTable('foo'), { database: 'foo', table: 'config' })
})
