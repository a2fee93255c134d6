/** A reference in a value of `mx.yaml`. */
export interface Reference {
  readonly kind: 'env' | 'file' | 'secret'
  /** Name of the environment variable, path of the file, or path of the secret. */
  readonly name: string
  /** Used if the environment variable is unset or empty. Only set for `env`. */
  readonly fallback: string | undefined
}

const LITERAL = `$\${ is a literal \${`
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

/**
 * Splits a value into literal text and references: `${NAME}`, `${NAME:-default}`, `${file:path}`
 * and `${secret:path}`. `$${` is a literal `${`; any other `$` is literal.
 *
 * @throws {RangeError} for a malformed reference.
 */
export function parseReferences(text: string): readonly (string | Reference)[] {
  const parts: (string | Reference)[] = []
  let literal = ''
  let from = 0
  for (;;) {
    const at = text.indexOf('${', from)
    if (at === -1) break
    if (text[at - 1] === '$' && at > from) {
      literal += `${text.slice(from, at - 1)}\${`
      from = at + 2
      continue
    }
    const end = text.indexOf('}', at)
    if (end === -1) throw new RangeError(`reference without "}"; ${LITERAL}`)
    literal += text.slice(from, at)
    if (literal !== '') parts.push(literal)
    literal = ''
    parts.push(toReference(text.slice(at + 2, end)))
    from = end + 1
  }
  literal += text.slice(from)
  if (literal !== '') parts.push(literal)
  return parts
}

/** Returns the reference as written, without its default. */
export function formatReference({ kind, name }: Reference): string {
  return kind === 'env' ? `\${${name}}` : `\${${kind}:${name}}`
}

function toReference(text: string): Reference {
  const [, kind, path] = /^(file|secret):(.*)$/s.exec(text) ?? []
  if (kind !== undefined && path !== undefined && path !== '')
    return { kind: kind as 'file' | 'secret', name: path, fallback: undefined }
  const at = text.indexOf(':-')
  const name = at === -1 ? text : text.slice(0, at)
  if (NAME.test(name))
    return { kind: 'env', name, fallback: at === -1 ? undefined : text.slice(at + 2) }
  throw new RangeError(
    `reference ${JSON.stringify(`\${${text}}`)} must be \${NAME}, \${NAME:-default}, \${file:path} or \${secret:path}; ${LITERAL}`,
  )
}
