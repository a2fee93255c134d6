/** User input, parsed as JSON or else as a string, as on the command line (docs/config.md). */
export interface ParsedInput {
  /** JSON. */
  readonly data: string
  readonly kind: 'string' | 'number' | 'boolean' | 'null' | 'array' | 'object'
}

export function parseInput(text: string): ParsedInput {
  try {
    return { data: text, kind: toKind(JSON.parse(text)) }
  } catch {
    return { data: JSON.stringify(text), kind: 'string' }
  }
}

/** Formats a value for an input. Strings have no quotes, unless they would be parsed as a different value. */
export function formatInput(data: string): string {
  if (!data.startsWith('"')) return data
  const text: string = JSON.parse(data)
  return parseInput(text).data === data ? text : data
}

function toKind(value: unknown): ParsedInput['kind'] {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  switch (typeof value) {
    case 'string':
      return 'string'
    case 'number':
      return 'number'
    case 'boolean':
      return 'boolean'
    default:
      return 'object'
  }
}
