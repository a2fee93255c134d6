import t from 'tap'
import { decodeRecord, encodeRecord } from '../../../domain/store/json-record.ts'

const toRecord = (value: Uint8Array) => ({
  ...{ key: 'a', value, metadata: {}, expiresMs: 0, version: 1 },
})
const parse = (value: Uint8Array) =>
  decodeRecord<{ id: string }>(toRecord(value), 'auth', ({ id }) => typeof id === 'string')

t.test('decodes an encoded record', async (t) => {
  t.same(parse(encodeRecord({ id: 'x' })), { id: 'x' })
})

t.test('recognizes records in other formats', async (t) => {
  for (const text of ['', '{', 'null', '[]', '{"id":"x"}', '{"format":2,"id":"x"}', '{"format":1}'])
    t.throws(() => parse(Buffer.from(text)), {
      id: 'auth',
      code: 500,
      message: /record a of table auth/,
    })
})
