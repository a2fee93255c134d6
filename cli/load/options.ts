import { readFileSync } from 'node:fs'
import { parseDuration } from '../../lib/text/units.ts'
import type { FlagsOf } from '../args/args.ts'
import { createRequest, type Target } from './request.ts'

/** Options of `mx bench`. */
export interface BenchOptions {
  readonly target: Target
  readonly connections: number
  readonly durationMs: number
  readonly rate: number | undefined
  readonly timeoutMs: number
  readonly output: 'text' | 'json'
}

export const BENCH_FLAGS = {
  '--address <host:port>': 'Gateway, for a path without a host (default: 127.0.0.1:8080)',
  '--connections <n>': 'Number of client connections (default: 64)',
  '--duration <duration>': 'Duration of the test, such as 500ms, 10s or 2m (default: 10s)',
  '--rate <n>':
    'Requests per second, independent of responses (default: as fast as responses arrive)',
  '--body <text>': 'Request body, or @file; changes the default method to POST',
  '--header <name: value>...': 'Request header',
  '--timeout <duration>': 'Timeout for connecting and for a response (default: 10s)',
  '-o, --output <format>': 'text or json (default: text)',
}
const BODY_MAX_BYTES = 64 * 1024 * 1024
const DAY_MS = 86_400_000

/**
 * Parses the arguments of `mx bench`. Values remain text, so a body of `007` is not the number 7.
 *
 * @throws {RangeError} naming the invalid flag and its accepted form
 */
export function parseBenchOptions(
  words: readonly string[],
  flags: FlagsOf<typeof BENCH_FLAGS>,
): BenchOptions {
  const { output = 'text' } = flags
  if (output !== 'text' && output !== 'json')
    throw new RangeError(`--output must be text or json, got ${JSON.stringify(output)}`)
  return {
    target: createRequest({
      words,
      address: flags.address ?? '127.0.0.1:8080',
      headers: flags.header ?? [],
      body: readBody(flags.body),
    }),
    connections: toNumber('--connections', flags.connections ?? '64', 1, 10_000, true),
    durationMs: toMilliseconds('--duration', flags.duration ?? '10s'),
    rate:
      flags.rate === undefined ? undefined : toNumber('--rate', flags.rate, 0.01, 1_000_000, false),
    timeoutMs: toMilliseconds('--timeout', flags.timeout ?? '10s'),
    output,
  }
}

function toNumber(
  flag: string,
  text: string,
  min: number,
  max: number,
  mustBeInteger: boolean,
): number {
  const value = Number(text)
  if (
    text.trim() === '' ||
    !(value >= min && value <= max) ||
    (mustBeInteger && !Number.isInteger(value))
  ) {
    throw new RangeError(
      `${flag} must be a ${mustBeInteger ? 'whole ' : ''}number from ${min} to ${max}, got ${JSON.stringify(text)}`,
    )
  }
  return value
}

function toMilliseconds(flag: string, text: string): number {
  let value: number
  try {
    value = parseDuration(text)
  } catch (cause) {
    throw new RangeError(`${flag} ${(cause as Error).message}`, { cause })
  }
  if (value >= 1 && value <= DAY_MS) return value
  throw new RangeError(`${flag} must be a duration from 1ms to 1d, got ${JSON.stringify(text)}`)
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
