import { changeStateFile, moveAside, readStateFile, toStatePath } from './state-file.ts'

/** Configuration of the CLI (reference 8.5): strings by dotted names, nested in the file. */
export interface CliConfig {
  /** Returns an empty string for a missing name. */
  readonly get: (name: string) => string
}

type Tree = { [name: string]: Tree | string }

/**
 * Reads the configuration. An invalid file is moved aside, so that the next command starts without it.
 *
 * @throws {Error} with a one-line message for an invalid file, so that no command uses the wrong environment
 */
export function readConfig(): CliConfig {
  const file = toFile()
  return toConfig(parse(readStateFile(file), file))
}

/** @param value value; empty to remove the name */
export async function writeConfig(name: string, value: string): Promise<void> {
  await changeConfig(() => [[name, value]])
}

/**
 * Changes the configuration under a lock.
 *
 * @param change returns names and new values; an empty value removes the name
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
    // The error below names the file.
  }
  throw new Error(`${file} must be a JSON object: ${quarantine(file)}`)
}

/** Moves an invalid file aside. Returns a message that describes it. */
function quarantine(file: string): string {
  try {
    const aside = moveAside(file)
    return `moved to ${aside}; commands now use the environment local. Repair it and move it back`
  } catch {
    return 'repair or remove it'
  }
}
