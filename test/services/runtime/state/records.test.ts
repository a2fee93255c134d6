import t from 'tap'
import { encodeRecord } from '../../../../domain/store/json-record.ts'
import {
  formatObject,
  parseServiceRecord,
  toNamespacePrefix,
  toObjectKey,
} from '../../../../services/runtime/state/records.ts'
import { makeRecord } from '../parts.ts'

const toStored = (value: Buffer) => ({ key: 'k', value, metadata: {}, expiresMs: 0, version: 1 })

t.test('uses the keys of reference 7.3', async (t) => {
  const key = { namespace: 'mx', name: 'shop', version: 'latest' }
  t.equal(toObjectKey(key), 'service:mx:shop:latest')
  t.ok(toObjectKey(key).startsWith(toNamespacePrefix('mx')))
  t.notOk(toObjectKey({ ...key, namespace: 'mxx' }).startsWith(toNamespacePrefix('mx')))
  t.equal(formatObject(key), 'shop@latest')
})

t.test('reads a record as written and rejects an invalid one', async (t) => {
  const record = makeRecord()
  t.same(parseServiceRecord(toStored(encodeRecord(record))), record)
  for (const value of [encodeRecord({ name: 'a' }), Buffer.from('{"format":2}')])
    t.throws(() => parseServiceRecord(toStored(value)), { code: 500 })
})
