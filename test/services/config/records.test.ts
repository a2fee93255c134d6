import t from 'tap'
import {
  formatHead,
  formatKeyNote,
  parseHead,
  parseKeyNote,
  toTable,
  toVersionKey,
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

function toRecord(value: Uint8Array, key = 'head') {
  return { key, value, metadata: {}, expiresMs: 0, version: 1 }
}

t.test('a head and a note of the key are read as they were written', async (t) => {
  const { keyId: _, ...plain } = ENTRY
  for (const head of [{ keyId: 'k', versions: [plain, ENTRY] }, { versions: [plain] }])
    t.match(parseHead(toRecord(formatHead(head))), head)
  const note = { keyId: 'k', untidy: true }
  t.match(parseKeyNote(toRecord(formatKeyNote(note))), note)
})

t.test('what is of another form is told', async (t) => {
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
        'record head of table config is not of this version of mx: somebody else wrote it, or a newer mx',
    })
  t.throws(() => parseKeyNote(toRecord(Buffer.from('{"format":1}'), 'key')), {
    message: /^record key of table config/,
  })
})

t.test('keys of versions are in their order; encrypted anew, a version has another', async (t) => {
  const keys = [2, 9, 10, 100, Number.MAX_SAFE_INTEGER].map((version) => toVersionKey({ version }))
  t.strictSame([...keys].sort(), keys)
  t.equal(keys[0], 'versions/0000000000000002')
  t.equal(toVersionKey(ENTRY), 'versions/0000000000000012/k')
})

t.test('a namespace is a database', async (t) => {
  t.strictSame(toTable('foo'), { database: 'foo', table: 'config' })
})
