import { readFileSync } from 'node:fs'
import t from 'tap'
import { LOCAL_PLUGINS } from '../../platform/profiles/local.ts'
import { SETTINGS, type Setting } from '../../platform/settings.ts'

const text = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8')

/** What stands between two markers. */
function section(name: string): string {
  return new RegExp(`<!-- ${name}\\b[^>]*-->\\n([\\s\\S]*?)<!-- /${name} -->`).exec(text)?.[1] ?? ''
}

function toRow({
  name,
  kind,
  form,
  description,
  live,
  notInFile,
  ...setting
}: Setting<unknown>): string {
  const flag = kind === 'switch' ? `--${name}` : `--${name} <${form}>`
  const standard = setting.default === '' ? (setting.unset ?? '') : `\`${setting.default}\``
  const inFile = notInFile === undefined ? (live ? 'live' : 'restart') : '-'
  const cells = [`\`${flag}\``, description, standard, inFile]
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`
}

t.test('docs/configuration.md lists every setting as it is', async (t) => {
  const rows = Object.values(SETTINGS).map((setting) => toRow(setting as Setting<unknown>))
  const table = `\n| flag | meaning | default | in mx.yaml |\n|---|---|---|---|\n${rows.join('')}\n`
  t.equal(section('settings'), table)
})

t.test('docs/configuration.md lists the default plugins in order', async (t) => {
  const listed = [...section('plugins').matchAll(/^\| `([a-z-]+)` \| \S/gm)].map(([, name]) => name)
  t.same(
    listed,
    LOCAL_PLUGINS.map(({ name }) => name),
  )
})
