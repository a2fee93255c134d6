import t from 'tap'
import { compareNames, findRepeatedNames } from '../../scripts/exported-names.ts'

const SOURCES = new Map([
  ['core/a.ts', 'export function open(): void {}\nexport interface Link {}\n'],
  ['lib/b.ts', 'export const open: number = 1\nconst hidden = 1\n'],
  ['services/auth/c.ts', 'export type Page = 1\nexport class Link {}\n'],
  ['services/store/d.ts', 'export type Page = 2\nexport type Row = 1\n'],
  ['services/store/e.ts', 'export type Row = 2\n'],
])

t.test('reports names exported by two files if one may import the other', async (t) => {
  t.strictSame(
    [...findRepeatedNames(SOURCES)],
    [
      ['open', ['core/a.ts', 'lib/b.ts']],
      ['Link', ['core/a.ts', 'services/auth/c.ts']],
      ['Row', ['services/store/d.ts', 'services/store/e.ts']],
    ],
  )
})

t.test(
  'reports repeated names without an exception, and exceptions for names that are not repeated',
  async (t) => {
    t.strictSame(compareNames(new Map([['open', ['core/a.ts', 'lib/b.ts']]]), ['Page']), [
      'open is exported by core/a.ts and lib/b.ts: rename one',
      'Page is exported once: remove it from scripts/exported-names.json',
    ])
  },
)
