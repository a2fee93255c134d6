import t from 'tap'
import { HeaderList } from '../../../../core/http/headers.ts'
import { readRetryAfterMs } from '../../../../core/upstream/retry/retry-after.ts'
import {
  DEFAULT_RETRY,
  isRepeatable,
  limitAttempt,
} from '../../../../core/upstream/retry/retry-options.ts'

t.test('GET, HEAD, QUERY and requests with Idempotency-Key are repeatable', async (t) => {
  const rows = [
    ['GET', true, true],
    ['HEAD', true, true],
    ['QUERY', true, true],
    ['OPTIONS', false, true],
    ['PUT', false, true],
    ['DELETE', false, true],
    ['POST', false, false],
    ['PATCH', false, false],
  ] as const
  const withKey = new HeaderList(['idempotency-key', '"8e03978e"'])
  for (const [method, isSafe, isIdempotent] of rows) {
    const request = { method, headers: new HeaderList() }
    t.equal(isRepeatable(request, DEFAULT_RETRY), isSafe, method)
    const options = { ...DEFAULT_RETRY, methods: 'idempotent' as const }
    t.equal(isRepeatable(request, options), isIdempotent, method)
    t.ok(isRepeatable({ method, headers: withKey }, DEFAULT_RETRY), `${method} with a key`)
  }
  const empty = new HeaderList(['idempotency-key', ''])
  t.notOk(isRepeatable({ method: 'POST', headers: empty }, DEFAULT_RETRY), 'an empty key')
})

t.test('per_try_timeout only shortens the response timeout', async (t) => {
  const retry = { ...DEFAULT_RETRY, perTryTimeoutMs: 100 }
  t.equal(limitAttempt(undefined, DEFAULT_RETRY), undefined)
  t.strictSame(limitAttempt(undefined, retry), { replyMs: 100, idleMs: undefined })
  t.strictSame(limitAttempt({ replyMs: 50, idleMs: 9 }, retry), { replyMs: 50, idleMs: 9 })
  t.strictSame(limitAttempt({ replyMs: 500 }, retry), { replyMs: 100, idleMs: undefined })
})

t.test('Retry-After is seconds or a date', async (t) => {
  const read = (value: string) => readRetryAfterMs(new HeaderList(['retry-after', value]))
  t.equal(readRetryAfterMs(new HeaderList()), 0)
  t.equal(read('2'), 2000)
  t.equal(read('0'), 0)
  t.equal(read('soon'), 0)
  t.equal(read('Fri, 31 Dec 1999 23:59:59 GMT'), 0)
  const later = read(new Date(Date.now() + 60_000).toUTCString())
  t.ok(later > 50_000 && later <= 60_000, `${later}`)
})
