import t from 'tap'
import {
  formatClock,
  formatDateTime,
  formatTime,
} from '../../../../web/components/time/format-time.ts'

const MS = new Date(2026, 0, 5, 15, 4, 9, 7).getTime()

t.test('formats times with 24 hours and two digits', (t) => {
  t.equal(formatDateTime(MS), '2026-01-05 15:04:09')
  t.equal(formatTime(MS), '15:04:09')
  t.equal(formatClock(MS), '15:04:09.007')
  t.equal(formatTime(new Date(2026, 0, 5).getTime()), '00:00:00')
  t.end()
})
