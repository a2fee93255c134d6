import { randomUUID } from 'node:crypto'
import { parseLocated, replaceNumbers } from './exact-json.ts'

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

/** Begins texts that stand for numbers, while they are parsed; nobody can know it. */
const NUMBER_MARK = `number-${randomUUID()}:`

/**
 * JSON as people write it, whose numbers are written again as they were: those that JavaScript would change are {@link WrittenJson}.
 *
 * @throws {SyntaxError} with the place of the first fault.
 */
export function parseWrittenJson(text: string): unknown {
  const value = parseLocated(text)
  const marked = replaceNumbers(text, (number) =>
    JSON.stringify(Number(number)) === number ? number : `"${NUMBER_MARK}${number}"`,
  )
  if (marked === text) return value
  return JSON.parse(marked, (_name, part) =>
    typeof part === 'string' && part.startsWith(NUMBER_MARK)
      ? new WrittenJson(part.slice(NUMBER_MARK.length))
      : part,
  )
}
