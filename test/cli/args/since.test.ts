import t from 'tap'
import { parseSince } from '../../../cli/args/since.ts'

t.test('an ISO 8601 time is parsed to milliseconds', async (t) => {
  t.equal(parseSince('2026-01-31T12:00:00Z', '--since'), Date.UTC(2026, 0, 31, 12))
  t.equal(parseSince('1970-01-01', '--since'), 0)
})

t.test('a duration is subtracted from the current time', async (t) => {
  const now = Date.now()
  const since = parseSince('10m', '--since')
  t.ok(since >= now - 600_000 && since <= Date.now() - 600_000)
})

t.test('anything else is rejected with examples of both forms', async (t) => {
  for (const text of ['', 'soon', '10 parsecs', '2026-31-31', 'none', '99999999d'])
    t.throws(() => parseSince(text, '--offset'), {
      message:
        '--offset must be a duration such as 10m or 2h, or a time such as 1970-01-01T00:00:00Z',
      status: 2,
    })
})
