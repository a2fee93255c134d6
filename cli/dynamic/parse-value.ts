import { RawJson } from '../../core/request/json/written-json.ts'
import { type IntegerType, parseInteger, parseNumber } from '../../sdk/schema/parse-number.ts'
import { parseJson, readBytes } from '../args/input.ts'
import { CliError, EXIT } from '../ui/output.ts'

const BOOLEANS: Readonly<Record<string, boolean>> = {
  ...{ '': true, true: true, t: true, '1': true },
  ...{ false: false, f: false, '0': false },
}
const LIST = /^\[\](.+)$/
const MAP = /^map\[[^\]]*\](.+)$/

type Parse = (text: string, flag: string) => unknown

/**
 * Parses the values of a flag by the type of its field (reference 8.3, 15.6):
 *
 * | type | text |
 * |---|---|
 * | string | unchanged |
 * | bool | `true`, `t`, `1` or empty; `false`, `f`, `0` |
 * | int32, int64, uint32, uint64 | decimal, `0x`, `0o`, `0b`; sent as a number, even beyond 2^53 |
 * | integer | as int64, up to 2^53 - 1 |
 * | float, double | decimal, with an optional exponent |
 * | bytes | text; `@path`: a file; `-`: standard input |
 * | []T | several flags, or one with commas, or a JSON list |
 * | map[string]T | `key=value`, several times, or a JSON object |
 * | a message | a JSON object |
 * | anything else | JSON, else text |
 *
 * @param texts at least one
 * @throws {CliError} naming the accepted forms
 */
export async function parseValue(
  type: string,
  texts: readonly string[],
  flag: string,
): Promise<unknown> {
  const item = LIST.exec(type)?.[1]
  if (item !== undefined) return parseList(item, texts, flag)
  const value = MAP.exec(type)?.[1]
  if (value !== undefined) return parseMap(value, texts, flag)
  if (texts.length > 1) throw usage(`${flag} is a single ${type}, got ${texts.length} values`)
  return parseOne(type, texts[0]!, flag)
}

async function parseList(
  type: string,
  texts: readonly string[],
  flag: string,
): Promise<readonly unknown[]> {
  const [first] = texts
  if (texts.length > 1) return Promise.all(texts.map((text) => parseOne(type, text, flag)))
  if (first === '') return []
  if (first!.startsWith('[')) {
    const list = parseJson(first!, flag)
    if (Array.isArray(list)) return list
  }
  // Objects and file paths may contain commas.
  const isSingle = type === 'bytes' || first!.startsWith('{')
  const parts = isSingle ? [first!] : first!.split(',')
  return Promise.all(parts.map((text) => parseOne(type, text, flag)))
}

async function parseMap(type: string, texts: readonly string[], flag: string): Promise<object> {
  const entries: [string, unknown][] = []
  for (const text of texts) {
    if (text === '') continue
    if (text.startsWith('{')) {
      entries.push(...Object.entries(parseJson(text, flag) as object))
      continue
    }
    const at = text.indexOf('=')
    if (at < 1) throw usage(`${flag} must be key=value or a JSON object, got ${quote(text)}`)
    entries.push([text.slice(0, at), await parseOne(type, text.slice(at + 1), flag)])
  }
  return Object.fromEntries(entries)
}

async function parseOne(type: string, text: string, flag: string): Promise<unknown> {
  if (type === 'bytes') return (await readBytes(text)).toString('base64')
  return (PARSERS[type] ?? parseAny)(text, flag)
}

const PARSERS: Readonly<Record<string, Parse>> = {
  string: (text) => text,
  bool: parseBoolean,
  boolean: parseBoolean,
  integer: integer('integer'),
  int: integer('int64'),
  int32: integer('int32'),
  int64: integer('int64'),
  uint: integer('uint64'),
  uint32: integer('uint32'),
  uint64: integer('uint64'),
  float: number,
  float32: number,
  float64: number,
  double: number,
  object: parseObject,
}

function parseBoolean(text: string, flag: string): boolean {
  const value = BOOLEANS[text.toLowerCase()]
  if (value !== undefined) return value
  throw usage(`${flag} must be true or false, got ${quote(text)}`)
}

function integer(type: IntegerType): Parse {
  return (text, flag) => {
    const value = withFlag(flag, () => parseInteger(text, type))
    return typeof value === 'string' ? new RawJson(value) : value
  }
}

function number(text: string, flag: string): number {
  return withFlag(flag, () => parseNumber(text))
}

function withFlag<T>(flag: string, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    throw usage(`${flag} ${(error as RangeError).message}`)
  }
}

function parseObject(text: string, flag: string): unknown {
  const value = parseJson(text, flag)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw usage(`${flag} must be a JSON object, got ${quote(text)}`)
}

function parseAny(text: string): unknown {
  try {
    return parseJson(text, '')
  } catch {
    return text
  }
}

function quote(text: string): string {
  return JSON.stringify(text.slice(0, 100))
}

function usage(message: string): CliError {
  return new CliError(message, { status: EXIT.usage })
}
