import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from '../../scripts/root.ts'

const PAGES = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'examples/README.md',
  ...readdirSync(join(ROOT, 'docs')).map((name) => `docs/${name}`),
].filter((path) => path.endsWith('.md'))
const MAX_COLUMNS = 120
const MAX_LINES = 250
/** A reference that grows with every option. */
const GENERATED = 'docs/plugin-options.md'

t.test('pages have at most 250 lines, and prose wraps at 120 columns', async (t) => {
  t.ok(PAGES.length > 30)
  for (const page of PAGES) {
    const text = readFileSync(join(ROOT, page), 'utf8')
    const lines = text.trimEnd().split('\n')
    t.ok(lines.length <= MAX_LINES || page === GENERATED, `${page} has ${lines.length} lines`)
    const prose = text.replaceAll(/^```[\s\S]*?^```/gm, '').split('\n')
    // Tables, images and comments cannot be wrapped.
    const long = prose.filter((line) => line.length > MAX_COLUMNS && !/^(?:\||!\[|<!--)/.test(line))
    t.same(long, [], page)
  }
})
