import t from 'tap'
import { decodeRecord, encodeRecord } from '../../../domain/store/json-record.ts'

const toRecord = (value: Uint8Array) => ({
  ...{ key: 'a', value, metadata: {}, expiresMs: 0, version: 1 },
})
const parse = (value: Uint8Array) =>
  decodeRecord<{ id: string }>(toRecord(value), 'auth', ({ id }) => typeof id === 'string')

t.test('what is kept is read as it was', async (t) => {
  t.same(parse(encodeRecord({ id: 'x' })), { id: 'x' })
})

t.test('what somebody else wrote is told apart', async (t) => {
  for (const text of ['', '{', 'null', '[]', '{"id":"x"}', '{"format":2,"id":"x"}', '{"format":1}'])
    t.throws(() => parse(Buffer.from(text)), {
      id: 'auth',
      code: 500,
      message: /record a of table auth/,
    })
})
