import { changeStateFile, readStateFile, toStatePath } from './state-file.ts'

/** What the CLI remembers (reference 8.5): texts by dotted names, nested in the file. */
export interface CliConfig {
  /** Empty: it is not there. */
  readonly get: (name: string) => string
}

type Tree = { [name: string]: Tree | string }

/** @throws {Error} in one line when the file is damaged. */
export function readConfig(): CliConfig {
  const file = toFile()
  const tree = parse(readStateFile(file), file)
  return {
    get(name) {
      let node: Tree | string | undefined = tree
      for (const part of name.split('.')) node = typeof node === 'object' ? node[part] : undefined
      return typeof node === 'string' ? node : ''
    },
  }
}

/** @param value empty: forgets what is there. */
export async function writeConfig(name: string, value: string): Promise<void> {
  const file = toFile()
  await changeStateFile(file, (text) => {
    const tree = parse(text, file)
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
    return `${JSON.stringify(tree, undefined, 2)}\n`
  })
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
  throw new Error(`${file} must be a JSON object: mend it, or move it away`)
}
