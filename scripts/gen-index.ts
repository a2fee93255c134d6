/**
 * Writes `index.gen.ts` of the folders whose parts are loaded by name: file name -> default export.
 * `--check` writes nothing and fails when an index is stale.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ROOT } from './root.ts'

interface Folder {
  readonly path: string
  /** The files are in folders of this folder, which group them. @default false */
  readonly isGrouped?: boolean
  /** Name of the exported table. */
  readonly table: string
  /** Description of the default export of a file, for the comment. */
  readonly exports: string
  /** Type of all entries, and its module. @default each entry has its own type */
  readonly type?: { readonly name: string; readonly from: string }
}

const FOLDERS: readonly Folder[] = [
  {
    path: 'plugins',
    isGrouped: true,
    table: 'plugins',
    exports: 'a declared plugin',
    type: { name: 'PluginDefinition', from: '../core/plugin/define.ts' },
  },
  {
    path: 'resolvers',
    table: 'resolvers',
    exports: 'a resolver or a function that creates one',
    type: { name: 'ResolverPart', from: '../core/route.ts' },
  },
  { path: 'handlers', table: 'handlers', exports: 'a function that creates a handler' },
]

const INDEX = 'index.gen.ts'

/** Lists the TypeScript files in a folder, or in its groups, without extension, sorted by name. */
export async function listParts(folder: string, isGrouped = false): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  if (isGrouped) {
    const groups = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
    const parts = await Promise.all(
      groups.map(async (group) =>
        (await listParts(join(folder, group))).map((part) => `${group}/${part}`),
      ),
    )
    return parts.flat().sort((a, b) => (basename(a) < basename(b) ? -1 : 1))
  }
  return entries
    .filter(({ name }) => /^[a-z0-9-]+\.ts$/.test(name))
    .map(({ name }) => basename(name, '.ts'))
    .sort()
}

/** Source of an index. @param paths of {@link listParts} */
export function formatIndex(folder: Folder, paths: readonly string[]): string {
  const { table, exports, type } = folder
  const parts = paths.map((path) => basename(path))
  const imports = paths
    .toSorted()
    .map((path) => `import ${toIdentifier(basename(path))} from './${path}.ts'`)
  if (type !== undefined) imports.unshift(`import type { ${type.name} } from '${type.from}'`)
  const annotation =
    type !== undefined
      ? `Readonly<Record<string, ${type.name}>>`
      : formatBraces(parts.map((part) => `readonly ${toKey(part)}: typeof ${toIdentifier(part)}`))
  const value = formatBraces(
    parts.map((part) =>
      toKey(part) === toIdentifier(part) ? `${part},` : `${toKey(part)}: ${toIdentifier(part)},`,
    ),
  )
  return `${['// Written by `npm run gen`, not by hand.', ...imports].join('\n')}

/** Files of this folder by name; each exports ${exports}. */
export const ${table}: ${annotation} = ${value}
`
}

function formatBraces(lines: readonly string[]): string {
  return lines.length === 0 ? '{}' : `{\n${lines.map((line) => `  ${line}\n`).join('')}}`
}

/** `access-log` as a variable: `accessLog`; a reserved word gets an underscore. */
function toIdentifier(part: string): string {
  const name = part.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
  return RESERVED.has(name) ? `${name}_` : name
}

/** Valid names of parts that are reserved words of the language. */
const RESERVED: ReadonlySet<string> = new Set(['static', 'default', 'package', 'public', 'switch'])

/** `access-log` as a property name, quoted if necessary. */
function toKey(part: string): string {
  return part.includes('-') ? `'${part}'` : part
}

/** Writes stale indexes, unless `check` is set. @returns the stale indexes */
export async function generate(root: string, check: boolean): Promise<readonly string[]> {
  const stale: string[] = []
  for (const folder of FOLDERS) {
    const path = join(root, folder.path)
    const updated = formatIndex(folder, await listParts(path, folder.isGrouped))
    const file = join(path, INDEX)
    const current = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw error
    })
    if (current === updated) continue
    stale.push(join(folder.path, INDEX))
    if (!check) await writeFile(file, updated)
  }
  return stale
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const check = process.argv.includes('--check')
  const stale = await generate(ROOT, check)
  for (const file of stale)
    console.log(check ? `${file} is stale: run \`npm run gen\`` : `${file} written`)
  if (check && stale.length > 0) process.exitCode = 1
}
