import { parseGoDuration } from '../../lib/time/go-duration.ts'
import { notFound } from '../errors.ts'
import { createRestore } from '../schema/exact-integers.ts'
import { compileSchema, type Decoded, type Schema } from '../schema/schema.ts'

/**
 * A configuration value (specification: Library-level operations).
 *
 * The accessors never throw: they convert the value if possible, and otherwise return the fallback.
 * `scan` is strict.
 */
export interface ConfigValue {
  /** Requested path. */
  readonly path: string
  /** Reason why the read failed; undefined if it succeeded. */
  readonly error: Error | undefined
  /** True if there is a value, including `null`. */
  exists(): boolean
  /**
   * The parsed JSON; integers beyond 2^53 are exact only in {@link bytes}. Undefined without a value. Must not be
   * modified.
   */
  json<T = unknown>(): T | undefined
  /** A string; numbers and booleans in their JSON form. @param fallback @default '' */
  string(fallback?: string): string
  /**
   * An integer; fractions are truncated and numeric strings are parsed. Returns the fallback for values beyond 2^53.
   * @param fallback
   * @default 0
   */
  int(fallback?: number): number
  /** A number; numeric strings are parsed. @param fallback @default 0 */
  float64(fallback?: number): number
  /**
   * A boolean. Also accepts the strings `true`, `t`, `1`, `false`, `f`, `0` in any case, and the numbers 1 and 0.
   * @param fallback @default false
   */
  bool(fallback?: boolean): boolean
  /**
   * Milliseconds of a duration such as `300ms`, `1.5h` or `1h30m`; numbers are milliseconds. @param fallback @default 0
   */
  duration(fallback?: number): number
  /**
   * Elements of a list of strings, numbers and booleans, or of a comma-separated string.
   *
   * @param fallback @default []
   */
  stringSlice(fallback?: readonly string[]): readonly string[]
  /**
   * Members of an object by name; values other than strings are returned as JSON.
   *
   * @param fallback
   * @default {}
   */
  stringMap(fallback?: Readonly<Record<string, string>>): Readonly<Record<string, string>>
  /** Strings as UTF-8, other values as JSON. @param fallback @default none */
  bytes(fallback?: Uint8Array): Uint8Array
  /**
   * Validates and decodes the value with a schema.
   *
   * @throws {SchemaError} naming the path of the first invalid field.
   * @throws {ServiceError} the read error, or 404 if the value does not exist.
   */
  scan<S extends Schema>(schema: S): Promise<Decoded<S>>
}

export interface ConfigSource {
  readonly path: string
  /** JSON text; undefined if there is no value. */
  readonly data?: string
  readonly error?: Error
}

/** JSON numbers, with an optional plus sign. */
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/
const TRUE = /^(?:1|t|true)$/i
const FALSE = /^(?:0|f|false)$/i

class ReadValue implements ConfigValue {
  readonly path: string
  readonly #json: unknown
  readonly error: Error | undefined
  readonly #data: string | undefined

  constructor({ path, data, error }: ConfigSource) {
    this.path = path
    this.error = error
    this.#data = data
    this.#json = data === undefined ? undefined : JSON.parse(data)
  }

  exists(): boolean {
    return this.#data !== undefined
  }

  json<T>(): T | undefined {
    return this.#json as T | undefined
  }

  string(fallback = ''): string {
    return toText(this.#json) ?? fallback
  }

  int(fallback = 0): number {
    // Adding 0 turns -0 into 0.
    const integer = Math.trunc(toNumber(this.#json) ?? Number.NaN) + 0
    return Number.isSafeInteger(integer) ? integer : fallback
  }

  float64(fallback = 0): number {
    return toNumber(this.#json) ?? fallback
  }

  bool(fallback = false): boolean {
    if (typeof this.#json === 'boolean') return this.#json
    const text = toText(this.#json)?.trim() ?? ''
    return TRUE.test(text) || (FALSE.test(text) ? false : fallback)
  }

  duration(fallback = 0): number {
    if (typeof this.#json === 'string') return parseGoDuration(this.#json.trim()) ?? fallback
    return toNumber(this.#json) ?? fallback
  }

  stringSlice(fallback: readonly string[] = []): readonly string[] {
    if (Array.isArray(this.#json)) {
      const texts = this.#json.map(toText)
      return texts.every((text) => text !== undefined) ? texts : fallback
    }
    const text = toText(this.#json)
    if (text === undefined) return fallback
    return text.trim() === '' ? [] : text.split(',').map((part) => part.trim())
  }

  stringMap(fallback: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
    const json = this.#json
    if (typeof json !== 'object' || json === null || Array.isArray(json)) return fallback
    return Object.fromEntries(
      Object.entries(json).map(([name, value]) => [name, toText(value) ?? JSON.stringify(value)]),
    )
  }

  bytes(fallback: Uint8Array = new Uint8Array(0)): Uint8Array {
    if (this.#data === undefined) return fallback
    return Buffer.from(typeof this.#json === 'string' ? this.#json : this.#data)
  }

  async scan<S extends Schema>(schema: S): Promise<Decoded<S>> {
    if (this.error !== undefined) throw this.error
    if (this.#data === undefined) throw notFound('config', `not found: ${this.path}`)
    // Parsed again, because decoding may change its input.
    const root = this.path || 'config'
    const compiled = compileSchema(schema, root)
    const value = createRestore(compiled, root)(JSON.parse(this.#data), this.#data)
    return (await compiled.decode(value)) as Decoded<S>
  }
}

/** @throws {SyntaxError} for invalid JSON. */
export function toConfigValue(source: ConfigSource): ConfigValue {
  return new ReadValue(source)
}

function toText(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
}

function toNumber(value: unknown): number | undefined {
  if (typeof value === 'string' && !NUMBER.test(value.trim())) return undefined
  const number = typeof value === 'string' || typeof value === 'number' ? Number(value) : undefined
  return Number.isFinite(number) ? number : undefined
}
