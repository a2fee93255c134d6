import fc from 'fast-check'
import t from 'tap'
import {
  formatRecord,
  parseHead,
  parseRecord,
} from '../../../../adapters/store/lmdb/record-bytes.ts'

const record = fc.record({
  value: fc.uint8Array({ maxLength: 50 }),
  metadata: fc.dictionary(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' })),
  expiresMs: fc.oneof(fc.constant(0), fc.maxSafeNat()),
  version: fc.maxSafeNat(),
})

t.test('round-trips a record', async () => {
  fc.assert(
    fc.property(record, fc.uint8Array({ maxLength: 5 }), (input, suffix) => {
      const bytes = formatRecord(input)
      const parsed = parseRecord('a', Buffer.concat([bytes, suffix]), bytes.length)
      return (
        Buffer.compare(parsed.value, input.value) === 0 &&
        JSON.stringify(parsed.metadata) === JSON.stringify(input.metadata) &&
        parsed.expiresMs === input.expiresMs &&
        parsed.version === input.version &&
        parseHead(bytes).version === input.version
      )
    }),
  )
})

t.test('does not retain the bytes', (t) => {
  const bytes = formatRecord({ value: Buffer.from('a'), metadata: {}, expiresMs: 1, version: 2 })
  const { value } = parseRecord('k', bytes, bytes.length)
  bytes.fill(0)
  t.equal(Buffer.from(value).toString(), 'a')
  t.end()
})

t.test('skips value and metadata with keysOnly', (t) => {
  const bytes = formatRecord({
    value: Buffer.from('a'),
    metadata: { b: 'c' },
    expiresMs: 1,
    version: 2,
  })
  const { value, metadata, ...head } = parseRecord('k', bytes, bytes.length, true)
  t.strictSame([value.length, metadata, head], [0, {}, { key: 'k', expiresMs: 1, version: 2 }])
  t.end()
})
