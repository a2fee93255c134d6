import { readFile } from 'node:fs/promises'
import { splitJsonList } from '../../core/request/json/json-text.ts'
import { parseWithRawNumbers, RawJson } from '../../core/request/json/written-json.ts'
import { CliError, EXIT } from '../ui/output.ts'

const STANDARD_INPUT = '-'
const FILE = '@'

/**
 * Bytes of an argument: `-` reads standard input, `@path` reads a file, and any other text is used as is; `@@x` is the
 * text `@x`.
 *
 * @throws {CliError} if the file cannot be read
 */
export async function readBytes(argument: string): Promise<Buffer> {
  if (argument === STANDARD_INPUT) return readStandardInput()
  if (!argument.startsWith(FILE)) return Buffer.from(argument)
  const path = argument.slice(1)
  if (path.startsWith(FILE)) return Buffer.from(path)
  try {
    return await readFile(path)
  } catch (cause) {
    const { message } = cause as Error
    throw new CliError(`${path || FILE} cannot be read: ${message}`, { status: EXIT.usage, cause })
  }
}

/**
 * {@link readBytes} as text, without the final line feed of a file or of standard input.
 *
 * @param label name for errors
 * @throws {CliError} for invalid UTF-8
 */
export async function readText(argument: string, label: string): Promise<string> {
  const bytes = await readBytes(argument)
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    return isTyped(argument) ? text : text.replace(/\r?\n$/, '')
  } catch (cause) {
    throw new CliError(`${label} must be UTF-8`, { status: EXIT.usage, cause })
  }
}

/**
 * Parses JSON. Numbers that JavaScript would round are {@link RawJson}.
 *
 * @param label name for errors
 * @throws {CliError} for invalid JSON, with the position of the first error
 */
export function parseJson(text: string, label: string): unknown {
  try {
    return parseWithRawNumbers(text)
  } catch (cause) {
    throw new CliError(`${label} must be JSON: ${(cause as Error).message}`, {
      status: EXIT.usage,
      cause,
    })
  }
}

/** A request that is sent unchanged. @param label name for errors @throws {CliError} */
export function parseRawJson(text: string, label: string): RawJson {
  parseJson(text, label)
  return new RawJson(text.trim())
}

/** Like {@link parseRawJson}, for a list that contains several requests. */
export function parseRawJsonList(text: string, label: string): RawJson | readonly RawJson[] {
  const rawJson = parseRawJson(text, label)
  return splitJsonList(rawJson.text)?.map((item) => new RawJson(item)) ?? rawJson
}

/** True if the argument is used as text. */
function isTyped(argument: string): boolean {
  const isFile = argument.startsWith(FILE) && !argument.startsWith(FILE + FILE)
  return argument !== STANDARD_INPUT && !isFile
}

async function readStandardInput(): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/**
 * Reads JSON lines from standard input as they arrive, skipping empty lines.
 *
 * @param label name of a line for errors
 * @throws {CliError} for invalid JSON
 */
export async function* readJsonLines(label: string): AsyncGenerator<RawJson, void, undefined> {
  const { createInterface } = await import('node:readline')
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity }))
    if (line.trim() !== '') yield parseRawJson(line, label)
}
