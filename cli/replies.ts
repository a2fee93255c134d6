import { isExact, quoteNumbers } from '../core/request/exact-json.ts'
import { reindentJson } from '../core/request/reindent-json.ts'
import { formatWritten, parseWrittenJson } from '../core/request/written-json.ts'
import type { Format } from './format.ts'
import { CliError, EXIT } from './output.ts'
import { printStream } from './print-stream.ts'

/** How what a service answers is written: JSON is what people see of it, too; raw is that in one line. */
export type ReplyFormat = Exclude<Format, 'text'> | 'raw'

const FORMATS: Readonly<Record<string, ReplyFormat>> = {
  ...{ text: 'json', json: 'json', yaml: 'yaml', raw: 'raw' },
}

/** @throws {CliError} */
export function toReplyFormat(output = 'json'): ReplyFormat {
  const format = FORMATS[output]
  if (format !== undefined) return format
  throw new CliError(`Invalid output: ${output}, must be json, yaml or raw`, {
    status: EXIT.usage,
  })
}

/** Writes the reply of a call. @param json as the service wrote it: numbers stay as they are. */
export async function printReply(format: ReplyFormat, json: string): Promise<void> {
  process.stdout.write(format === 'json' ? formatReadable(json) : await formatLine(format, json))
}

/** Writes replies as they come, one document a line; until they end, or Ctrl-C. */
export async function printReplies(
  format: ReplyFormat,
  replies: AsyncIterable<string>,
): Promise<void> {
  await printStream(replies, async (json) =>
    format === 'yaml' ? `---\n${await formatLine(format, json)}` : formatLine(format, json),
  )
}

/** With a tab per level (reference 8.3), and letters in place of their escapes. */
function formatReadable(json: string): string {
  return `${reindentJson(formatWritten(parseWrittenJson(json)), '\t')}\n`
}

/** JSON in one line, or YAML. */
async function formatLine(format: ReplyFormat, json: string): Promise<string> {
  if (format !== 'yaml') return `${reindentJson(json, '')}\n`
  const { parse, stringify } = await import('yaml')
  const isLong = quoteNumbers(json, isExact) !== undefined
  const value: unknown = isLong
    ? parse(json, { intAsBigInt: true, uniqueKeys: false })
    : JSON.parse(json)
  return stringify(value)
}
