import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { DEFAULT_PLUGINS } from '../../platform/plugins/defaults.ts'
import { formatSettings } from '../../scripts/gen-flags.ts'
import { ROOT } from '../../scripts/root.ts'

const text = readFileSync(join(ROOT, 'docs/configuration.md'), 'utf8')

/** Text between two markers. */
function section(name: string): string {
  return new RegExp(`<!-- ${name}\\b[^>]*-->\\n([\\s\\S]*?)<!-- /${name} -->`).exec(text)?.[1] ?? ''
}

t.test('the table of settings in docs/configuration.md is up to date', async (t) => {
  t.equal(section('flags'), formatSettings())
})

t.test('docs/configuration.md lists the default plugins in order', async (t) => {
  const documented = [...section('plugins').matchAll(/^\| `([a-z-]+)` \| \S/gm)].map(
    ([, name]) => name,
  )
  t.same(
    documented,
    DEFAULT_PLUGINS.map(({ name }) => name),
  )
})
