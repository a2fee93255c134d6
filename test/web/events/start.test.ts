import t from 'tap'
import { NEW, parseStart } from '../../../web/events/start.ts'

t.test('parses a start at new events, the oldest event, a sequence or a time', (t) => {
  const time = '2026-11-22T21:30:05'
  t.strictSame(parseStart(NEW), {})
  t.strictSame(parseStart({ ...NEW, from: 'oldest' }), { sequence: 1 })
  t.strictSame(parseStart({ ...NEW, from: 'sequence', sequence: ' 17 ' }), { sequence: 17 })
  t.strictSame(parseStart({ ...NEW, from: 'time', time }), {
    offset_ms: new Date(2026, 10, 22, 21, 30, 5).getTime(),
  })
  t.end()
})

t.test('rejects an invalid sequence or time', (t) => {
  for (const sequence of ['', '0', '-1', '1.5', 'x', '1e3', '99999999999999999999'])
    t.throws(() => parseStart({ ...NEW, from: 'sequence', sequence }), {
      message: /^sequence must be a positive integer, got /,
    })
  for (const time of ['', 'x', '1950-01-01T00:00'])
    t.throws(() => parseStart({ ...NEW, from: 'time', time }), { message: /^time must be a date/ })
  t.end()
})
