/**
 * Writes `cli/commands.gen.ts` from the declarations in `cli/commands/<group>/`: the program lists its commands without loading them.
 * `--check` writes nothing and fails when the list is stale.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Command } from '../cli/command.ts'
import { listParts } from './gen-index.ts'
import { ROOT } from './root.ts'

const FOLDER = 'cli/commands'
const LIST = 'cli/commands.gen.ts'

/** Source of the list. @param commands by path, such as `calls/stream` */
export function formatList(commands: ReadonlyMap<string, Command>): string {
  return `// Written by \`npm run gen\`, not by hand.
import type { CommandEntry } from './command.ts'

export const COMMANDS: readonly CommandEntry[] = [
${[...commands].map(formatEntry).join('')}]
`
}

function formatEntry([path, command]: readonly [string, Command]): string {
  const { name, description, sharesServiceName, phrases } = command
  const first = new Set(phrases.map((phrase) => phrase.split(' ')[0]!))
  const words = [...first].map((word) => `'${word}'`).join(', ')
  return `  {
    name: '${name}',
    description: '${description}',
${sharesServiceName ? `    subcommands: [${words}],\n` : ''}    load: async () => (await import('./commands/${path}.ts')).default,
  },
`
}

/** Writes the list, or with `check` only reads it. @returns true if it was stale */
export async function generate(check: boolean): Promise<boolean> {
  const commands = new Map<string, Command>()
  for (const path of await listParts(join(ROOT, FOLDER), true))
    commands.set(path, (await import(join(ROOT, FOLDER, `${path}.ts`))).default)
  const source = formatList(commands)
  const path = join(ROOT, LIST)
  if ((await readFile(path, 'utf8').catch(() => '')) === source) return false
  if (!check) await writeFile(path, source)
  return true
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const check = process.argv.includes('--check')
  const isStale = await generate(check)
  if (isStale) console.log(check ? `${LIST} is stale: run \`npm run gen\`` : `${LIST} written`)
  if (isStale && check) process.exitCode = 1
}
