import { splitJsonList, splitObject } from '../../../core/request/json/json-text.ts'
import { EACH, type FieldPath, parseFieldPath } from './field-path.ts'

/** Changes to JSON documents by field paths, see {@link parseFieldPath}. */
export interface JsonEdits {
  readonly remove: readonly string[]
  /** New name in the same object, by path. */
  readonly rename: Readonly<Record<string, string>>
  readonly set: Readonly<Record<string, unknown>>
  /** Values for fields that do not exist. */
  readonly add: Readonly<Record<string, unknown>>
}

/**
 * JSON text, or a list or object that was parsed to change it. Text stays as written, so that numbers are exact. Maps
 * have no prototype that a name could change.
 */
type JsonNode = string | JsonNode[] | Members
type Members = Map<string, JsonNode>

interface Edit {
  readonly path: FieldPath
  /** Whether missing objects on the path are created. */
  readonly creates: boolean
  readonly apply: (members: Members, name: string) => void
}

/**
 * Compiles the edits into a function for valid JSON texts: remove, then rename, set and add, in list order. A path that
 * does not lead to an object changes nothing; `set` and `add` create missing objects. If members of an object on a path
 * have the same name, the last one counts.
 *
 * @throws {TypeError} if a path or name is malformed, or a value is not JSON.
 */
export function compileEdits({ remove, rename, set, add }: JsonEdits): (text: string) => string {
  const edits: readonly Edit[] = [
    ...remove.map((path) => toEdit(path, false, (members, name) => members.delete(name))),
    ...Object.entries(rename).map(([path, to]) => {
      const newName = toName(path, to)
      return toEdit(path, false, (members, name) => {
        const value = members.get(name)
        if (value === undefined || name === newName) return
        members.delete(name)
        members.set(newName, value)
      })
    }),
    ...Object.entries(set).map(([path, value]) => {
      const json = toJson(path, value)
      return toEdit(path, true, (members, name) => members.set(name, json))
    }),
    ...Object.entries(add).map(([path, value]) => {
      const json = toJson(path, value)
      return toEdit(path, true, (members, name) => {
        if (!members.has(name)) members.set(name, json)
      })
    }),
  ]
  return (text) => {
    let root: JsonNode = text
    for (const edit of edits) root = visit(root, edit, 0)
    return format(root)
  }
}

function toEdit(path: string, creates: boolean, apply: Edit['apply']): Edit {
  return { path: parseFieldPath(path), creates, apply }
}

function toName(path: string, to: string): string {
  const [name, ...rest] = parseFieldPath(to)
  if (typeof name === 'string' && rest.length === 0) return name
  throw new TypeError(
    `the new name of ${path} must be a name without a path, got ${JSON.stringify(to)}`,
  )
}

function toJson(path: string, value: unknown): string {
  const json = JSON.stringify(value)
  if (json !== undefined) return json
  throw new TypeError(`the value of ${path} must be JSON, got ${String(value)}`)
}

/** Applies an edit below a node; `at` is the next segment of its path. */
function visit(node: JsonNode, edit: Edit, at: number): JsonNode {
  const opened = typeof node === 'string' ? open(node) : node
  const segment = edit.path[at]!
  if (typeof opened === 'string') return node
  if (segment === EACH) {
    for (const [key, child] of opened.entries()) {
      const changed = visit(child, edit, at + 1)
      if (opened instanceof Map) opened.set(key as string, changed)
      else opened[key as number] = changed
    }
  } else if (opened instanceof Map) {
    if (at === edit.path.length - 1) edit.apply(opened, segment)
    else {
      const isCreated = edit.creates && !edit.path.includes(EACH, at)
      const child = opened.get(segment) ?? (isCreated ? new Map() : undefined)
      if (child !== undefined) opened.set(segment, visit(child, edit, at + 1))
    }
  }
  return opened
}

function open(text: string): JsonNode {
  return splitObject(text) ?? splitJsonList(text) ?? text
}

function format(node: JsonNode): string {
  if (typeof node === 'string') return node
  if (Array.isArray(node)) return `[${node.map(format).join()}]`
  const members = [...node].map(([name, value]) => `${JSON.stringify(name)}:${format(value)}`)
  return `{${members.join()}}`
}
