import t from 'tap'
import { HeaderList } from '../../../../core/http/headers.ts'
import {
  allowsStaleOnError,
  judge,
  readRequestDirectives,
  requiresValidation,
} from '../../../../plugins/http/cache/request-directives.ts'
import type { ResponsePolicy } from '../../../../plugins/http/cache/response-policy.ts'

const POLICY: ResponsePolicy = {
  ...{ lifetimeMs: 10_000, initialAgeMs: 0, responseMs: 0, mustValidate: false },
  ...{ allowsStale: true, staleWhileRevalidateMs: 5000, staleIfErrorMs: 5000 },
  ...{ isShareable: false, excluded: [] },
}

function read(...fields: string[]) {
  return readRequestDirectives(new HeaderList(fields))
}

t.test('reads Cache-Control, and Pragma without it', (t) => {
  t.equal(read('pragma', 'no-cache').noCache, true)
  t.equal(read('pragma', 'x, No-Cache').noCache, true)
  t.equal(read('pragma', 'no-cache-x').noCache, false)
  t.equal(read('pragma', 'no-cache', 'cache-control', 'max-age=1').noCache, false)
  t.match(read('cache-control', 'max-age=1, min-fresh=2, max-stale=3, no-store'), {
    ...{ maxAgeMs: 1000, minFreshMs: 2000, maxStaleMs: 3000, noStore: true, onlyIfCached: false },
  })
  t.equal(read('cache-control', 'max-stale').maxStaleMs, Number.POSITIVE_INFINITY)
  t.equal(requiresValidation(read('cache-control', 'max-age=0')), true)
  t.equal(requiresValidation(read()), false)
  t.end()
})

t.test('judges whether a stored response may be used', (t) => {
  for (const [cacheControl, nowMs, expected, policy = {}] of [
    ['', 9999, 'fresh'],
    ['', 10_000, 'refresh'],
    ['', 15_000, 'refresh'],
    ['', 15_001, 'validate'],
    ['', 0, 'validate', { mustValidate: true }],
    ['', 10_000, 'validate', { staleWhileRevalidateMs: 0 }],
    ['no-cache', 0, 'validate'],
    ['max-age=5', 5000, 'fresh'],
    ['max-age=5', 5001, 'validate'],
    ['min-fresh=5', 5000, 'fresh'],
    ['min-fresh=5', 5001, 'validate'],
    ['min-fresh=5', 11_000, 'validate'],
    ['max-stale=20', 30_000, 'fresh'],
    ['max-stale=20', 30_001, 'validate'],
    ['max-stale=20', 30_000, 'validate', { allowsStale: false }],
  ] as const) {
    const request = cacheControl === '' ? read() : read('cache-control', cacheControl)
    t.equal(judge({ ...POLICY, ...policy }, request, nowMs), expected, `${cacheControl} ${nowMs}`)
  }
  t.end()
})

t.test('stale responses replace errors within their time', (t) => {
  t.equal(allowsStaleOnError(POLICY, 15_000), true)
  t.equal(allowsStaleOnError(POLICY, 15_001), false)
  t.equal(allowsStaleOnError({ ...POLICY, staleIfErrorMs: 0 }, 1), false)
  t.end()
})
