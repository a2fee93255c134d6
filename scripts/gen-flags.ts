/**
 * Writes the table of flags in docs/configuration.md from the table of settings. `--check` writes nothing and fails if
 * the table is stale.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PROFILES } from '../platform/profiles.ts'
import type { Setting } from '../platform/settings/setting.ts'
import { SETTINGS, type Settings } from '../platform/settings/settings.ts'
import { SETTING_KEYS } from '../platform/settings/sources.ts'
import { ROOT } from './root.ts'

const FILE = 'docs/configuration.md'
const START = '<!-- flags: written by `npm run gen` -->\n'
const END = '<!-- /flags -->'

/**
 * Table with one row per setting: flag, command if only one accepts it, default, description, allowed values, and
 * whether reloading `mx.yaml` applies it.
 */
export function formatSettings(): string {
  const rows = SETTING_KEYS.map((key) => {
    const { allowed, live, notInFile } = SETTINGS[key]
    const effect = notInFile === undefined ? (live ? 'live' : 'restart') : '-'
    return toRow([...toCells(key), allowed, effect])
  })
  const head = [
    '| flag | only | default | meaning | values | in mx.yaml |',
    '|---|---|---|---|---|---|',
  ]
  return ['', ...head, ...rows, '', ''].join('\n')
}

/** Cells of a setting. */
function toCells(key: keyof Settings): readonly string[] {
  const setting: Setting<unknown> = SETTINGS[key]
  const { name, kind, placeholder, description, only, inServer } = setting
  const flag = kind === 'switch' ? `--${name}` : `--${name} <${placeholder}>`
  const repeated = `${description}${kind === 'list' ? '; repeatable' : ''}`
  const meaning =
    inServer?.description === undefined ? repeated : `${repeated}. Server: ${inServer.description}`
  return [`\`${flag}\``, only ?? '', toDefault(key, setting), meaning]
}

/** Formats a table row. */
function toRow(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
}

/** Default of a setting, including the default of `mx server` in the `local` profile if it differs. */
function toDefault(key: keyof Settings, { only, inServer, ...setting }: Setting<unknown>): string {
  const standard = quote(setting)
  if (only === 'api') return standard
  const profiled = PROFILES.local.settings[key]
  const server = quote({
    ...setting,
    ...inServer,
    ...(profiled !== undefined && { default: profiled }),
  })
  return only === 'server' || server === standard ? server : `${standard}; server: ${server}`
}

function quote({ default: text, unset = '' }: Pick<Setting<unknown>, 'default' | 'unset'>): string {
  return text.trim() === '' ? unset : `\`${text}\``
}

/**
 * Replaces the table between its markers.
 *
 * @throws {Error} if a marker is missing.
 */
export function replaceFlags(text: string, table: string): string {
  const start = text.indexOf(START)
  const end = text.indexOf(END, start)
  if (start < 0 || end < 0) throw new Error(`missing marker ${START.trim()} or ${END}`)
  return text.slice(0, start + START.length) + table + text.slice(end)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const file = join(ROOT, FILE)
  const text = await readFile(file, 'utf8')
  const current = replaceFlags(text, formatSettings())
  if (current !== text && process.argv.includes('--check')) {
    console.log(`the table of flags in ${FILE} is stale: run \`npm run gen\``)
    process.exitCode = 1
  } else if (current !== text) {
    await writeFile(file, current)
    console.log(`${FILE} written`)
  }
}
