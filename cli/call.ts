import type { CAC } from 'cac'
import { parseDuration } from '../core/units.ts'
import { type CommandLine, readCommandLine } from './command-line.ts'
import { OUTPUT_FLAGS } from './format.ts'
import { parseExactJson, readBytes, readJsonLines } from './input.ts'
import { CliError, EXIT } from './output.ts'
import { printReplies, printReply, toReplyFormat } from './replies.ts'
import { SESSION_FLAGS, type SessionCall, withSession } from './session.ts'

const FLAGS = {
  ...SESSION_FLAGS,
  ...OUTPUT_FLAGS,
  address: 'string',
  metadata: 'strings',
  request_timeout: 'string',
} as const
const STANDARD_INPUT = '-'

/** `mx call`: one request, one reply (reference 8.4). @throws {CliError} */
export async function runCall(cli: CAC): Promise<void> {
  const { words, flags } = readCommandLine(cli, FLAGS)
  const { service, endpoint, request } = toCall('call', words)
  const format = toReplyFormat(flags.output)
  const options = toOptions(flags)
  const body = parseExactJson(String(await readBytes(request)), 'the request')
  await withSession(flags, async (session) =>
    printReply(format, await session.call(service, endpoint, body, options)),
  )
}

/** `mx stream`: prints each reply as it comes (reference 8.4); with `-` each line of standard input is a request. @throws {CliError} */
export async function runStream(cli: CAC): Promise<void> {
  const { words, flags } = readCommandLine(cli, FLAGS)
  const { service, endpoint, request } = toCall('stream', words)
  const format = toReplyFormat(flags.output)
  const options = toOptions(flags)
  const requests =
    request === STANDARD_INPUT
      ? readJsonLines('a line of standard input')
      : parseExactJson(String(await readBytes(request)), 'the request')
  await withSession(flags, ({ stream }) =>
    printReplies(format, stream(service, endpoint, requests, options)),
  )
}

function toCall(command: string, words: readonly string[]) {
  const [service, endpoint, request = '{}', ...more] = words
  if (service === undefined || endpoint === undefined || more.length > 0)
    throw new CliError(
      `${more.length > 0 ? 'Too many' : 'Too few'} arguments, expected SERVICE ENDPOINT [REQUEST]. See 'mx ${command} --help'`,
      { status: EXIT.usage },
    )
  if (!/^[^.]+\.[^.]+$/.test(endpoint))
    throw new CliError(`Method name "${endpoint}" invalid format. Expecting service.endpoint`, {
      status: EXIT.malformed,
    })
  return { service, endpoint, request }
}

function toOptions(flags: CommandLine<typeof FLAGS>['flags']): SessionCall {
  const { address, metadata = [], request_timeout: timeout } = flags
  return {
    ...(address !== undefined && { address }),
    ...(timeout !== undefined && { timeoutMs: toTimeout(timeout) }),
    metadata: Object.fromEntries(metadata.map(toPair)),
  }
}

function toPair(text: string): readonly [string, string] {
  const at = text.indexOf('=')
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)]
  throw new CliError(`--metadata must be name=value, got ${JSON.stringify(text)}`, {
    status: EXIT.usage,
  })
}

/** Milliseconds. @throws {CliError} */
export function toTimeout(text: string): number {
  try {
    const timeoutMs = parseDuration(text)
    if (timeoutMs > 0) return timeoutMs
  } catch {
    // Told below.
  }
  throw new CliError(`--request_timeout must be a duration such as 500ms or 30s, got ${text}`, {
    status: EXIT.usage,
  })
}
