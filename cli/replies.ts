import { type Format, formatEach, print } from './format.ts'
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

/** Writes the reply of a call. */
export async function printReply(format: ReplyFormat, reply: unknown): Promise<void> {
  if (format === 'raw') process.stdout.write(await formatEach('json', reply))
  else await print(format, reply, '')
}

/** Writes replies as they come, one document a line; until they end, or Ctrl-C. */
export async function printReplies(
  format: ReplyFormat,
  replies: AsyncIterable<unknown>,
): Promise<void> {
  await printStream(replies, (reply) => formatEach(format === 'raw' ? 'json' : format, reply))
}
