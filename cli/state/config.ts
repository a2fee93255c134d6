import { changeStateFile, moveAside, readStateFile, toStatePath } from './state-file.ts'

/** What the CLI remembers (reference 8.5): texts by dotted names, nested in the file. */
export interface CliConfig {
  /** Empty: it is not there. */
  readonly get: (name: string) => string
}

type Tree = { [name: string]: Tree | string }

/**
 * What there is. A file that is damaged is kept beside, so that the next command begins anew.
 *
 * @throws {Error} in one line when it was damaged, so that no command goes to another place than it should.
 */
export function readConfig(): CliConfig {
  const file = toFile()
  return toConfig(parse(readStateFile(file), file))
}

/** @param value empty: forgets what is there. */
export async function writeConfig(name: string, value: string): Promise<void> {
  await changeConfig(() => [[name, value]])
}

/**
 * Changes what is remembered while no other program does.
 *
 * @param change is given what there is, and returns names with what they are to be; empty: it is forgotten.
 */
export async function changeConfig(
  change: (config: CliConfig) => readonly (readonly [name: string, value: string])[],
): Promise<void> {
  const file = toFile()
  await changeStateFile(file, (text) => {
    const tree = parse(text, file)
    for (const [name, value] of change(toConfig(tree))) put(tree, name, value)
    return `${JSON.stringify(tree, undefined, 2)}\n`
  })
}

function toConfig(tree: Tree): CliConfig {
  return {
    get(name) {
      let node: Tree | string | undefined = tree
      for (const part of name.split('.'))
        node = typeof node === 'object' && Object.hasOwn(node, part) ? node[part] : undefined
      return typeof node === 'string' ? node : ''
    },
  }
}

function put(tree: Tree, name: string, value: string): void {
  const parts = name.split('.')
  const last = parts.pop()!
  let node = tree
  for (const part of parts) {
    const next = Object.hasOwn(node, part) ? node[part] : undefined
    const branch: Tree = typeof next === 'object' ? next : {}
    node[part] = branch
    node = branch
  }
  if (value === '') delete node[last]
  else node[last] = value
}

function toFile(): string {
  return toStatePath('config.json')
}

function parse(text: string | undefined, file: string): Tree {
  if (text === undefined || text.trim() === '') return {}
  try {
    const tree: unknown = JSON.parse(text)
    if (typeof tree === 'object' && tree !== null && !Array.isArray(tree)) return tree as Tree
  } catch {
    // Told below.
  }
  throw new Error(`${file} must be a JSON object: ${keepAside(file)}`)
}

/** What became of a damaged file. */
function keepAside(file: string): string {
  try {
    const aside = moveAside(file)
    return `it is kept as ${aside}; commands begin anew, with the environment local. Mend it and move it back`
  } catch {
    return 'mend it, or move it away'
  }
}
