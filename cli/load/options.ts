import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { parseDuration } from '../../lib/text/units.ts'
import { explainFlag } from '../args/args.ts'
import { createRequest, type Target } from './request.ts'

/** What `mx bench` was asked to do. */
export interface BenchOptions {
  readonly target: Target
  readonly connections: number
  readonly durationMs: number
  readonly rate: number | undefined
  readonly timeoutMs: number
  readonly output: 'text' | 'json'
}

const FLAGS = {
  address: { type: 'string' },
  connections: { type: 'string' },
  duration: { type: 'string' },
  rate: { type: 'string' },
  body: { type: 'string' },
  header: { type: 'string', multiple: true },
  timeout: { type: 'string' },
  output: { type: 'string', short: 'o' },
} as const
const BODY_MAX_BYTES = 64 * 1024 * 1024
const DAY_MS = 86_400_000

/**
 * Reads the words and flags behind `mx bench`, exactly as typed: the general parser of the command
 * line would turn a body of `007` into the number 7.
 *
 * @throws {RangeError} naming the flag that is wrong, and what would be right.
 */
export function parseBenchOptions(args: readonly string[]): BenchOptions {
  const { values, positionals } = readArgs(args)
  const output = values.output ?? 'text'
  if (output !== 'text' && output !== 'json')
    throw new RangeError(`--output must be text or json, got ${JSON.stringify(output)}`)
  return {
    target: createRequest({
      words: positionals,
      address: values.address ?? '127.0.0.1:8080',
      headers: values.header ?? [],
      body: readBody(values.body),
    }),
    connections: toNumber('--connections', values.connections ?? '64', 1, 10_000, true),
    durationMs: toMilliseconds('--duration', values.duration ?? '10s'),
    rate:
      values.rate === undefined
        ? undefined
        : toNumber('--rate', values.rate, 0.01, 1_000_000, false),
    timeoutMs: toMilliseconds('--timeout', values.timeout ?? '10s'),
    output,
  }
}

function readArgs(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options: FLAGS })
  } catch (error) {
    const types = Object.fromEntries(Object.keys(FLAGS).map((name) => [name, 'string'] as const))
    throw new RangeError(explainFlag(error, types).replace(/\.$/, ''), { cause: error })
  }
}

function toNumber(flag: string, text: string, min: number, max: number, whole: boolean): number {
  const value = Number(text)
  if (
    text.trim() === '' ||
    !(value >= min && value <= max) ||
    (whole && !Number.isInteger(value))
  ) {
    throw new RangeError(
      `${flag} must be a ${whole ? 'whole ' : ''}number from ${min} to ${max}, got ${JSON.stringify(text)}`,
    )
  }
  return value
}

function toMilliseconds(flag: string, text: string): number {
  const hint = `${flag} must be a time with its unit, such as 500ms, 10s or 2m, at most 1d, got ${JSON.stringify(text)}`
  // A bare number would be milliseconds elsewhere; here people mean seconds, so neither is guessed.
  if (!/[a-z]$/i.test(text)) throw new RangeError(hint)
  let value: number
  try {
    value = parseDuration(text)
  } catch (error) {
    throw new RangeError(hint, { cause: error })
  }
  if (!(value >= 1 && value <= DAY_MS)) throw new RangeError(hint)
  return value
}

function readBody(text: string | undefined): Buffer {
  if (text === undefined) return Buffer.alloc(0)
  if (!text.startsWith('@')) return Buffer.from(text, 'utf8')
  let body: Buffer
  try {
    body = readFileSync(text.slice(1))
  } catch (error) {
    throw new RangeError(`--body: ${error instanceof Error ? error.message : error}`, {
      cause: error,
    })
  }
  if (body.length > BODY_MAX_BYTES)
    throw new RangeError(
      `--body must not be longer than ${BODY_MAX_BYTES} bytes, got ${body.length}`,
    )
  return body
}
