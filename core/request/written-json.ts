/**
 * JSON that is sent as it was written: JavaScript would write some numbers of it in another way, such as `1.0`, or round them, such as
 * 9007199254740993.
 */
export class WrittenJson {
  /** Valid JSON. */
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** JSON of a value that may hold {@link WrittenJson}. Members that are undefined are left out. */
export function formatWritten(value: unknown): string {
  if (value instanceof WrittenJson) return value.text
  if (Array.isArray(value)) return `[${value.map(formatWritten).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${formatWritten(member)}`).join()}}`
}
