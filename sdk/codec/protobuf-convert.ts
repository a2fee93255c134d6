import type { Field, Type } from 'protobufjs'
import {
  enumOf,
  fieldsOf,
  hasZero,
  INT32,
  INT64,
  isWellKnown,
  keyTypeOf,
  type Long,
  messageOf,
} from './protobuf-fields.ts'

/** Converts a field value or an entire message. */
type Convert = (value: unknown) => unknown
type Fields = Record<string, unknown>

/** JSON conversion of the well-known types, implemented by protobufjs. */
export interface WellKnownJson {
  readonly toJson: (type: Type, message: Fields) => unknown
  readonly fromJson: (type: Type, json: unknown) => unknown
}

const DIGITS = /^-?(?:0|[1-9][0-9]{0,19})$/
const FORBIDDEN = '__proto__'

/**
 * Compiles the conversion of a decoded message to JSON values (ProtoJSON mapping): field names as in the file, 64-bit
 * integers as numbers if they are safe, else strings, bytes as Base64, enums by name. Fields without presence have
 * their zero value.
 *
 * The library's `toObject` differs for `null` and 64-bit integers, and its ProtoJSON conversion takes ten times as
 * long.
 */
export function compileReader(type: Type, wellKnown: WellKnownJson): Convert {
  return new ReaderCompiler(wellKnown).message(type)
}

/**
 * Compiles the conversion of JSON values to a message. Everything is validated, because the encoder truncates integers
 * that are too large and drops unknown enum values.
 *
 * @throws {TypeError} naming the invalid field.
 */
export function compileWriter(type: Type, wellKnown: WellKnownJson): Convert {
  return new WriterCompiler(wellKnown).message(type)
}

/** Caches converters by message before they are complete, because messages may be recursive. */
abstract class Compiler {
  protected readonly wellKnown: WellKnownJson
  readonly #messages = new Map<Type, Convert>()

  constructor(wellKnown: WellKnownJson) {
    this.wellKnown = wellKnown
  }

  message(type: Type): Convert {
    const cached = this.#messages.get(type)
    if (cached !== undefined) return cached
    let convert: Convert | undefined
    this.#messages.set(type, (value) => convert!(value))
    convert = isWellKnown(type) ? this.special(type) : this.fields(type)
    this.#messages.set(type, convert)
    return convert
  }

  protected abstract special(type: Type): Convert
  protected abstract fields(type: Type): Convert
}

class ReaderCompiler extends Compiler {
  protected special(type: Type): Convert {
    return (message) => this.wellKnown.toJson(type, message as Fields)
  }

  protected fields(type: Type): Convert {
    const fields = fieldsOf(type).map((field) => ({
      name: field.name,
      hasZero: hasZero(field),
      read: this.#field(field),
    }))
    return (input) => {
      const message = input as Fields
      const value: Fields = {}
      for (const { name, hasZero, read } of fields)
        if (hasZero || Object.hasOwn(message, name)) value[name] = read(message[name])
      return value
    }
  }

  #field(field: Field): Convert {
    const read = this.#value(field)
    if (field.map) {
      const long = INT64.get(keyTypeOf(field))
      return (map) => {
        const value: Fields = {}
        for (const [key, item] of Object.entries(map as Fields)) {
          if (key === FORBIDDEN) throw new TypeError(`${field.name} must not contain ${FORBIDDEN}`)
          value[long === undefined ? key : readLongKey(key, long.min === 0n)] = read(item)
        }
        return value
      }
    }
    return field.repeated ? (list) => (list as unknown[]).map(read) : read
  }

  #value(field: Field): Convert {
    const message = messageOf(field)
    if (message !== undefined) return this.message(message)
    const names = enumOf(field)?.valuesById
    if (names !== undefined) return (number) => names[number as number] ?? number
    if (INT64.has(field.type)) return readLong
    return field.type === 'bytes' ? readBytes : (value) => value
  }
}

function readLong(value: unknown): unknown {
  const number = typeof value === 'number' ? value : (value as Long).toNumber()
  return Number.isSafeInteger(number) ? number : String(value)
}

/** Decimal digits of a 64-bit key, which protobufjs decodes to eight characters, one per byte. An absent key is `0`. */
function readLongKey(key: string, isUnsigned: boolean): string {
  if (key.length !== 8) return key
  const bytes = Buffer.from(key, 'latin1')
  return String(isUnsigned ? bytes.readBigUInt64LE() : bytes.readBigInt64LE())
}

function readBytes(value: unknown): unknown {
  const { buffer, byteOffset, byteLength } = value as Uint8Array
  // protobufjs returns an empty array for an absent field.
  return buffer === undefined ? '' : Buffer.from(buffer, byteOffset, byteLength).toString('base64')
}

class WriterCompiler extends Compiler {
  protected special(type: Type): Convert {
    return (json) => this.wellKnown.fromJson(type, json)
  }

  protected fields(type: Type): Convert {
    const fields = fieldsOf(type).map((field) => ({ name: field.name, write: this.#field(field) }))
    return (input) => {
      if (typeof input !== 'object' || input === null)
        throw new TypeError(`${type.name} must be an object, got ${typeof input}`)
      const message: Fields = {}
      for (const { name, write } of fields) {
        const value = (input as Fields)[name]
        if (value !== undefined && value !== null) message[name] = write(value)
      }
      return message
    }
  }

  #field(field: Field): Convert {
    const write = this.#value(field)
    if (field.map) {
      const isKey = createKeyCheck(keyTypeOf(field))
      return (map) =>
        Object.fromEntries(
          Object.entries(map as Fields).map(([key, item]) => {
            if (!isKey(key)) throw invalid(field, `a map of ${keyTypeOf(field)}`, key)
            return [key, write(item)]
          }),
        )
    }
    if (!field.repeated) return write
    return (list) => {
      if (!Array.isArray(list)) throw invalid(field, 'a list', list)
      return list.map(write)
    }
  }

  #value(field: Field): Convert {
    const message = messageOf(field)
    if (message !== undefined) return this.message(message)
    const numbers = enumOf(field)?.values
    if (numbers !== undefined)
      return (value) => {
        const number =
          typeof value === 'string' && Object.hasOwn(numbers, value) ? numbers[value] : value
        if (!Number.isInteger(number)) throw invalid(field, `one of ${Object.keys(numbers)}`, value)
        return number
      }
    return createScalarWriter(field)
  }
}

function createScalarWriter(field: Field): Convert {
  const { type } = field
  const bounds = INT32.get(type)
  if (bounds !== undefined)
    return (value) => {
      const number = typeof value === 'string' && DIGITS.test(value) ? Number(value) : value
      if (
        Number.isInteger(number) &&
        (number as number) >= bounds.min &&
        (number as number) <= bounds.max
      )
        return number
      throw invalid(field, type, value)
    }
  const long = INT64.get(type)
  if (long !== undefined) return (value) => writeLong(field, long, value)
  switch (type) {
    case 'bytes':
      return (value) => {
        if (value instanceof Uint8Array) return value
        if (typeof value !== 'string') throw invalid(field, 'bytes', value)
        return Buffer.from(value, 'base64')
      }
    case 'string':
    case 'bool': {
      const expected = type === 'bool' ? 'boolean' : 'string'
      return (value) => {
        if (typeof value !== expected) throw invalid(field, type, value)
        return value
      }
    }
    default:
      return (value) => {
        if (typeof value !== 'number') throw invalid(field, type, value)
        return value
      }
  }
}

/** Creates a check for map keys; the encoder would truncate invalid keys or turn them into zero. */
function createKeyCheck(type: string): (key: string) => boolean {
  const bounds = INT32.get(type) ?? INT64.get(type)
  if (bounds === undefined) return type === 'bool' ? isBoolean : () => true
  const { min, max } = bounds
  return (key) => DIGITS.test(key) && BigInt(key) >= min && BigInt(key) <= max
}

function isBoolean(key: string): boolean {
  return key === 'true' || key === 'false'
}

/**
 * Returns a safe integer unchanged and others as two 32-bit halves, which the encoder accepts without a Long library.
 */
function writeLong(
  field: Field,
  { min, max }: { readonly min: bigint; readonly max: bigint },
  value: unknown,
): unknown {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= min) return value
  if (typeof value === 'bigint' || (typeof value === 'string' && DIGITS.test(value))) {
    const exact = BigInt(value)
    if (exact >= min && exact <= max) {
      const low = Number(BigInt.asIntN(32, exact))
      const high = Number(BigInt.asIntN(32, exact >> 32n))
      return { low, high, unsigned: min === 0n }
    }
  }
  throw invalid(field, field.type, value)
}

function invalid(field: Field, expected: string, value: unknown): TypeError {
  return new TypeError(`${field.name} must be ${expected}, got ${String(value).slice(0, 80)}`)
}
