import { CliError, EXIT } from '../ui/output.ts'
import { type Field, toFlag } from './fields.ts'
import { parseValue } from './parse-value.ts'

type Tree = Record<string, unknown>

/**
 * Builds a request from `base` and the values of flags, which take precedence.
 *
 * @param command name for errors
 * @throws {CliError} for invalid values and missing required fields
 */
export async function toRequest(
  base: unknown,
  values: ReadonlyMap<Field, readonly string[]>,
  fields: readonly Field[],
  command: string,
): Promise<unknown> {
  const request = toTree(base, 'the request of --json')
  // Messages are set before their fields.
  const ordered = [...values].sort(([a], [b]) => a.path.length - b.path.length)
  for (const [field, texts] of ordered)
    put(request, field, await parseValue(toType(field), texts, toFlag(field)))
  const missing = fields.flatMap((field) => findMissing(field, request))
  if (missing.length > 0)
    throw new CliError(
      `${missing.map(describe).join(', ')} ${missing.length === 1 ? 'is' : 'are'} required. See 'mx ${command} --help'`,
      { status: EXIT.usage },
    )
  return request
}

/** Type used for parsing. A message with known fields is parsed as a JSON object. */
function toType({ type, fields, isSafeInteger }: Field): string {
  if (fields.length > 0) return 'object'
  return isSafeInteger ? type.replace('int64', 'integer') : type
}

function put(request: Tree, { path }: Field, value: unknown): void {
  let node = request
  for (const [i, name] of path.slice(0, -1).entries()) {
    const inner = Object.hasOwn(node, name) ? node[name] : {}
    node[name] = toTree(inner, `--${path.slice(0, i + 1).join('_')}`)
    node = node[name] as Tree
  }
  node[path.at(-1)!] = value
}

function toTree(value: unknown, label: string): Tree {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Tree
  throw new CliError(`${label} must be a JSON object to combine it with field flags`, {
    status: EXIT.usage,
  })
}

/** Missing required fields: the field itself, or the required fields of a message. */
function findMissing(field: Field, node: Tree): readonly Field[] {
  const name = field.path.at(-1)!
  if (Object.hasOwn(node, name)) {
    const inner = node[name]
    const isTree = typeof inner === 'object' && inner !== null
    return isTree ? field.fields.flatMap((each) => findMissing(each, inner as Tree)) : []
  }
  if (!field.isRequired) return []
  const inner = field.fields.flatMap((each) => findMissing(each, {}))
  return inner.length === 0 ? [field] : inner
}

function describe(field: Field): string {
  const { type, description } = field
  return `${toFlag(field)} (${type}${description === '' ? '' : `: ${description.replace(/\.$/, '')}`})`
}
