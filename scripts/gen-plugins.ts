/**
 * Writes docs/plugin-options.md from the schemas of the gateway's own plugins. `--check` writes nothing and fails if
 * the page is stale.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { PluginDefinition } from '../core/plugin/define.ts'
import { plugins } from '../plugins/index.gen.ts'
import { ROOT } from './root.ts'

/** Supported subset of JSON Schema. */
interface Schema {
  readonly type?: string
  readonly description?: string
  readonly default?: unknown
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}

const FILE = 'docs/plugin-options.md'
const HEAD = `# Options of built-in plugins

This page is generated from the code by \`npm run gen\`. Set options under \`plugins:\` in \`mx.yaml\`
([default plugins](configuration.md#default-plugins)), or write [custom plugins](plugins.md). An option without a
default may be omitted unless it is required.
`

/** Source of the page. */
export function formatPlugins(
  definitions: Readonly<Record<string, PluginDefinition>> = plugins,
): string {
  const sections = Object.values(definitions).map(formatPlugin)
  return [HEAD, ...sections].join('\n')
}

function formatPlugin({ name, description, options, scopes }: PluginDefinition): string {
  const rows = listOptions(options as Schema)
  const table =
    rows.length === 0
      ? ['No options.']
      : ['| option | type | default | description |', '|---|---|---|---|', ...rows]
  const scope = scopes === undefined ? '' : ` Scope: ${scopes.join(', ')}.`
  return [`## ${name}`, `${description}${scope}`, '', ...table, ''].join('\n')
}

/** Rows of the options. An object or a list is followed by the options of its properties or elements. */
function listOptions(schema: Schema, path = ''): readonly string[] {
  const { properties = {}, required = [] } = schema
  return Object.entries(properties).flatMap(([name, option]) => {
    const fullName = `${path}${name}`
    const isRequired = required.includes(name) && option.default === undefined
    const standard = option.default === undefined ? '' : `\`${JSON.stringify(option.default)}\``
    const cells = [
      `\`${fullName}\``,
      formatType(option),
      isRequired ? 'required' : standard,
      option.description ?? '',
    ]
    const inner = option.items ?? option
    const within = option.items === undefined ? `${fullName}.` : `${fullName}[].`
    return [
      `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`,
      ...listOptions(inner, within),
    ]
  })
}

function formatType({ type, anyOf, items, ...schema }: Schema): string {
  if ('const' in schema) return `\`${JSON.stringify(schema.const)}\``
  if (schema.enum !== undefined)
    return schema.enum.map((value) => `\`${JSON.stringify(value)}\``).join(' or ')
  if (anyOf !== undefined) return anyOf.map(formatType).join(' or ')
  if (items !== undefined) return `list of ${formatType(items)}`
  return type ?? 'any'
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const file = join(ROOT, FILE)
  const updated = formatPlugins()
  const text = await readFile(file, 'utf8').catch(() => '')
  if (updated !== text && process.argv.includes('--check')) {
    console.log(`${FILE} is stale: run \`npm run gen\``)
    process.exitCode = 1
  } else if (updated !== text) {
    await writeFile(file, updated)
    console.log(`${FILE} written`)
  }
}
