import { readFileSync } from 'node:fs'
import t from 'tap'
import { PROFILES } from '../../platform/profiles.ts'
import { SETTINGS, type Settings } from '../../platform/settings.ts'
import { keysOf } from '../../platform/settings-sources.ts'

const text = readFileSync(new URL('../../docs/server.md', import.meta.url), 'utf8')

t.test('docs/server.md lists what each profile says', async (t) => {
  const profiles = Object.values(PROFILES)
  const isSet = (key: keyof Settings): boolean =>
    profiles.some(({ settings }) => settings[key] !== undefined)
  const rows = keysOf('server')
    .filter(isSet)
    .map((key) => {
      const cells = profiles.map(({ settings }) => settings[key] || 'none')
      return `| \`${SETTINGS[key].name}\` | ${cells.map((cell) => `\`${cell}\``).join(' | ')} |\n`
    })
  const head = `| setting | ${Object.keys(PROFILES)
    .map((name) => `\`${name}\``)
    .join(' | ')} |\n|---|---|---|---|---|\n`
  const table = /<!-- profiles\b[^>]*-->\n([\s\S]*?)<!-- \/profiles -->/.exec(text)?.[1]
  t.equal(table, head + rows.join('').replaceAll('`none`', 'none'))
})
