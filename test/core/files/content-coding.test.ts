import t from 'tap'
import { acceptedCodings } from '../../../core/files/content-coding.ts'

t.test('codings are sorted by the weights of the client, then by preference', async (t) => {
  const rows: [string | undefined, string[]][] = [
    [undefined, []],
    ['', []],
    ['identity', []],
    ['gzip, br', ['br', 'gzip']],
    ['GZIP;q=0.8, br;q=0.5, zstd ; q=0.9', ['zstd', 'gzip', 'br']],
    ['br;q=0, gzip', ['gzip']],
    ['*', ['br', 'zstd', 'gzip']],
    ['*;q=0.1, gzip', ['gzip', 'br', 'zstd']],
    ['*;q=0, gzip', ['gzip']],
    ['gzip;q=0.2, identity;q=0.5', []],
    ['deflate, x-gzip', []],
  ]
  for (const [header, expected] of rows)
    t.strictSame(acceptedCodings(header, ['br', 'zstd', 'gzip']), expected, `${header}`)
})
