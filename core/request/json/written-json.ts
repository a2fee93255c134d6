import { randomUUID } from 'node:crypto'
import { parseLocated, replaceNumbers } from './exact-json.ts'

/**
 * JSON text that is sent unchanged. JavaScript would reformat some numbers, such as `1.0`, and round others, such as
 * 9007199254740993.
 */
export class RawJson {
  /** Valid JSON. */
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** Formats JSON with {@link RawJson} values. Omits undefined members. */
export function formatRawJson(value: unknown): string {
  if (value instanceof RawJson) return value.text
  if (Array.isArray(value)) return `[${value.map(formatRawJson).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${formatRawJson(member)}`).join()}}`
}

/** Prefix of strings that represent numbers during parsing. It is random, so that no input contains it. */
const NUMBER_MARK = `number-${randomUUID()}:`

/**
 * Parses JSON so that its numbers are formatted as in the input. Numbers that JavaScript would change become
 * {@link RawJson}.
 *
 * @throws {SyntaxError} with the position of the first error.
 */
export function parseWithRawNumbers(text: string): unknown {
  const value = parseLocated(text)
  const marked = replaceNumbers(text, (number) =>
    JSON.stringify(Number(number)) === number ? number : `"${NUMBER_MARK}${number}"`,
  )
  if (marked === text) return value
  return JSON.parse(marked, (_name, part) =>
    typeof part === 'string' && part.startsWith(NUMBER_MARK)
      ? new RawJson(part.slice(NUMBER_MARK.length))
      : part,
  )
}
