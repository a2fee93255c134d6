import t from 'tap'
import { keepPrivate } from '../../../core/auth/cache-headers.ts'
import { HeaderList } from '../../../core/http/headers.ts'

function toKept(...fields: string[]): Record<string, string> {
  const headers = new HeaderList(fields)
  keepPrivate(headers)
  return Object.fromEntries(
    headers.flat.flatMap((name, i) =>
      i % 2 === 0 ? [[name, headers.getAll(name).join(' | ')]] : [],
    ),
  )
}

t.test('cache-control excludes shared caches', async (t) => {
  const rows: [string, string][] = [
    ['', 'private'],
    ['public, max-age=60', 'max-age=60, private'],
    ['PUBLIC', 'private'],
    ['s-maxage=60, max-age=5', 'max-age=5, private'],
    ['private="set-cookie, x-a", max-age=5', 'max-age=5, private'],
    ['no-cache="a, b"', 'no-cache="a, b", private'],
    ['max-age=60, must-revalidate', 'max-age=60, must-revalidate, private'],
    ['no-store', 'no-store'],
    ['public, no-store', 'no-store'],
    ['private', 'private'],
  ]
  for (const [input, expected] of rows)
    t.equal(
      toKept(...(input === '' ? [] : ['cache-control', input]))['cache-control'],
      expected,
      input,
    )
})

t.test('cdn-cache-control and surrogate-control are removed', async (t) => {
  const retained = toKept('cdn-cache-control', 'max-age=60', 'surrogate-control', 'max-age=60')
  t.strictSame(retained, { 'cache-control': 'private', vary: 'authorization' })
})

t.test('vary contains authorization or cookie once', async (t) => {
  t.equal(toKept('vary', 'Accept, Cookie')['vary'], 'Accept, Cookie | authorization')
  t.equal(toKept('vary', 'cookie, Authorization')['vary'], 'cookie, Authorization')
  t.equal(toKept('vary', '*')['vary'], '*')
})
