import { isExact, quoteNumbers } from '../../core/request/json/exact-json.ts'
import { reindentJson } from '../../core/request/json/reindent-json.ts'
import { formatRawJson, parseWithRawNumbers } from '../../core/request/json/written-json.ts'
import type { Format } from './format.ts'
import { CliError, EXIT } from './output.ts'
import { printStream } from './print-stream.ts'

/** Output format of responses; `raw` is JSON on one line. */
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

/** Prints the response of a call. @param json JSON as sent by the service, so that numbers are not rounded */
export async function printReply(format: ReplyFormat, json: string): Promise<void> {
  const text = await formatReply(format, json)
  // JSON is indented with tabs (reference 8.3).
  process.stdout.write(format === 'json' ? `${reindentJson(text, '\t')}\n` : text)
}

/** Prints responses as they arrive, one document per line, until the stream ends or Ctrl-C is pressed. */
export async function printReplies(
  format: ReplyFormat,
  replies: AsyncIterable<string>,
): Promise<void> {
  await printStream(replies, async (json) => {
    const text = await formatReply(format, json)
    return format === 'yaml' ? `---\n${text}` : text
  })
}

/** Formats a response as YAML, or as JSON on one line: `raw` as sent by the service, else with characters unescaped. */
async function formatReply(format: ReplyFormat, json: string): Promise<string> {
  if (format === 'raw') return `${reindentJson(json, '')}\n`
  if (format === 'json') return `${formatRawJson(parseWithRawNumbers(json))}\n`
  const { parse, stringify } = await import('yaml')
  const isLong = quoteNumbers(json, isExact) !== undefined
  const value: unknown = isLong
    ? parse(json, { intAsBigInt: true, uniqueKeys: false })
    : JSON.parse(json)
  return stringify(value)
}
