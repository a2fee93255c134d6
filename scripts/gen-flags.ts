/**
 * Writes the table of flags in README.md from the table of settings.
 * `--check` writes nothing and fails when the table is not what it would be.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { SETTINGS } from '../platform/settings.ts'
import { SETTING_KEYS } from '../platform/settings-sources.ts'

const README = fileURLToPath(new URL('../README.md', import.meta.url))
const START = '<!-- flags: written by `npm run gen` -->\n'
const END = '<!-- /flags -->'

/** Every setting as a row: flag, default, meaning. */
export function formatFlags(): string {
  const rows = SETTING_KEYS.map((key) => {
    const { name, form, kind, description, default: standard, unset } = SETTINGS[key]
    const flag = kind === 'switch' ? `--${name}` : `--${name} <${form}>`
    const value = standard === '' ? (unset ?? '') : `\`${standard}\``
    const meaning = `${description}${kind === 'list' ? '; repeatable' : ''}`
    return `| \`${flag}\` | ${value} | ${meaning.replaceAll('|', '\\|')} |`
  })
  return ['| flag | default | |', '|---|---|---|', ...rows, ''].join('\n')
}

/**
 * The text with the table between its marks replaced.
 *
 * @throws {Error} when a mark is missing.
 */
export function replaceFlags(text: string, table: string): string {
  const start = text.indexOf(START)
  const end = text.indexOf(END, start)
  if (start < 0 || end < 0)
    throw new Error(`README.md must hold ${START.trim()} and ${END} behind it`)
  return text.slice(0, start + START.length) + table + text.slice(end)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const text = await readFile(README, 'utf8')
  const wanted = replaceFlags(text, formatFlags())
  if (wanted !== text && process.argv.includes('--check')) {
    console.log('the table of flags in README.md is stale: run `npm run gen`')
    process.exitCode = 1
  } else if (wanted !== text) {
    await writeFile(README, wanted)
    console.log('README.md written')
  }
}
