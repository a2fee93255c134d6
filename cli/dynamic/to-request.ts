import { CliError, EXIT } from '../ui/output.ts'
import { type Field, toFlag } from './fields.ts'
import { parseValue } from './parse-value.ts'

type Tree = Record<string, unknown>

/**
 * The request out of what was given: the whole of it, and over it single fields.
 *
 * @param command in errors.
 * @throws {CliError} for a value that does not fit, and for fields that must be there and are not.
 */
export async function toRequest(
  whole: unknown,
  given: ReadonlyMap<Field, readonly string[]>,
  fields: readonly Field[],
  command: string,
): Promise<unknown> {
  const request = toTree(whole, 'the request given as --json')
  // A message before its fields.
  const ordered = [...given].sort(([a], [b]) => a.path.length - b.path.length)
  for (const [field, texts] of ordered)
    put(request, field, await parseValue(toType(field), texts, toFlag(field)))
  const missing = fields.flatMap((field) => findMissing(field, request))
  if (missing.length > 0)
    throw new CliError(
      `${missing.map(describe).join(', ')} ${missing.length === 1 ? 'is' : 'are'} missing. See 'mx ${command} --help'`,
      { status: EXIT.usage },
    )
  return request
}

/** A message of which the fields are known is JSON, whatever its name. */
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

function toTree(value: unknown, what: string): Tree {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Tree
  throw new CliError(`${what} must be a JSON object where fields are flags`, {
    status: EXIT.usage,
  })
}

/** What must be there of a field: the field itself, or of a message what is in it. */
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
