/** What was typed as a value: JSON, or else a text, as on the command line (docs/config.md). */
export interface TypedValue {
  /** JSON. */
  readonly data: string
  readonly kind: 'text' | 'number' | 'boolean' | 'null' | 'list' | 'object'
}

export function readTyped(text: string): TypedValue {
  try {
    return { data: text, kind: toKind(JSON.parse(text)) }
  } catch {
    return { data: JSON.stringify(text), kind: 'text' }
  }
}

/** What a field for typing holds of a value: a text without its quotes, unless it would be read as something else. */
export function toTyped(data: string): string {
  if (!data.startsWith('"')) return data
  const text: string = JSON.parse(data)
  return readTyped(text).data === data ? text : data
}

function toKind(value: unknown): TypedValue['kind'] {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'list'
  switch (typeof value) {
    case 'string':
      return 'text'
    case 'number':
      return 'number'
    case 'boolean':
      return 'boolean'
    default:
      return 'object'
  }
}
