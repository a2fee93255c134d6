import t from 'tap'
import { toStoreRecord, toWire } from '../../../sdk/store/store-record.ts'

t.test('a value is encoded from bytes, text or JSON', (t) => {
  const bytes = new Uint8Array([0, 1, 255, 3]).subarray(1, 3)
  t.equal(toWire('a', bytes).value, 'Af8=')
  t.equal(toWire('a', bytes.slice().buffer).value, 'Af8=')
  t.equal(toWire('a', 'é').value, Buffer.from('é').toString('base64'))
  t.equal(toWire('a', { b: [1, null] }).value, Buffer.from('{"b":[1,null]}').toString('base64'))
  t.equal(toWire('a', 5).value, Buffer.from('5').toString('base64'))
  for (const value of [undefined, () => {}, Symbol('a')])
    t.throws(() => toWire('a', value), { name: 'TypeError', message: /^value must be bytes, text/ })
  t.end()
})

t.test('metadata values are typed fields, and a string has the type string', (t) => {
  t.strictSame(toWire('a', '', 5, { b: 'c', d: { type: 'int64', value: '1' } }), {
    key: 'a',
    value: '',
    expiry: 5,
    metadata: { b: { type: 'string', value: 'c' }, d: { type: 'int64', value: '1' } },
  })
  t.end()
})

t.test('a record returns its value as bytes, text and JSON', (t) => {
  const wire = { key: 'a', expiry: 5, metadata: {}, version: 3 }
  const record = toStoreRecord({ ...wire, value: Buffer.from('{"b":1}').toString('base64') })
  t.match(record, { key: 'a', expirySeconds: 5, metadata: {}, version: 3 })
  t.equal(Buffer.from(record.value).toString(), '{"b":1}')
  t.equal(record.text(), '{"b":1}')
  t.strictSame(record.json(), { b: 1 })
  t.throws(() => toStoreRecord({ ...wire, value: '' }).json(), SyntaxError)
  t.end()
})
