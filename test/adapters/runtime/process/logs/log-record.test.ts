import t from 'tap'
import {
  formatRecords,
  parseRecord,
} from '../../../../../adapters/runtime/process/logs/log-record.ts'

const FROM = { timestampMs: 1_700_000_000_000, instance: 'c0ffee', stream: 'stderr' } as const

t.test('round-trips lines', async (t) => {
  const texts = ['one', '', ' two  three ', '1 a o text']
  const records = formatRecords(FROM, texts).split('\n')
  t.equal(records.pop(), '')
  t.strictSame(
    records.map(parseRecord),
    texts.map((text) => ({ ...FROM, text })),
  )
  t.match(parseRecord(formatRecords({ ...FROM, stream: 'stdout' }, ['a']).trim())!, {
    stream: 'stdout',
  })
})

t.test('returns undefined for malformed lines', async (t) => {
  for (const text of ['', ' ', 'a', '1 b', '1 b x text', 'x b o text', ' b o text', '17'])
    t.equal(parseRecord(text), undefined, text)
})
