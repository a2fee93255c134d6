import { type TCodec, type TSchemaOptions, type TUnsafe, Type } from '../../core/schema.ts'
import { isBase64 } from '../../lib/text/base64.ts'

/** 64-bit integers have at most 20 digits, without leading zeros or a plus sign. */
const DIGITS = /^-?(?:0|[1-9][0-9]{0,19})$/

interface Bounds {
  readonly min: bigint
  readonly max: bigint
}

const SIGNED: Bounds = { min: -(2n ** 63n), max: 2n ** 63n - 1n }
const UNSIGNED: Bounds = { min: 0n, max: 2n ** 64n - 1n }

/** A 64-bit integer: a number or a string of digits in JSON, a bigint in code. */
export type TInt64 = TCodec<TUnsafe<number | string>, bigint>

/** Bytes: Base64 in JSON, a Uint8Array in code. */
export type TBytes = TCodec<TUnsafe<string>, Uint8Array>

/**
 * Type for the full range of 64-bit integers, such as external ids and nanoseconds.
 *
 * Callers may send a number, a `bigint` or a string of digits. The handler receives a `bigint`, and returns a `bigint`
 * or a safe integer. Callers receive a number if it is a safe integer, else a string (reference 15.11). For counts and
 * sizes, use `Type.Integer()`: a number on both sides, exact up to 2^53.
 */
export function Int64(options: TSchemaOptions = {}): TInt64 {
  return createInt('int64', SIGNED, options)
}

/** Like {@link Int64}, from 0 to 2^64 - 1. */
export function Uint64(options: TSchemaOptions = {}): TInt64 {
  return createInt('uint64', UNSIGNED, options)
}

/**
 * Type of binary data. In JSON, Base64 with either alphabet and optional padding (proto3 JSON mapping); in the handler,
 * a `Uint8Array`.
 */
export function Bytes(options: TSchemaOptions = {}): TBytes {
  const schema = Type.Unsafe<string>({ type: 'string', contentEncoding: 'base64', ...options })
  const checked = Type.Refine(schema, isBase64, () => 'must be base64')
  return Type.Codec(checked)
    .Decode((text): Uint8Array => Buffer.from(text as string, 'base64'))
    .Encode((bytes) => toBase64(bytes) as string) as unknown as TBytes
}

function createInt(format: string, bounds: Bounds, options: TSchemaOptions): TInt64 {
  const schema = Type.Unsafe<number | string>({ type: ['integer', 'string'], format, ...options })
  const checked = Type.Refine(
    schema,
    (value) => isInt(value, bounds),
    () =>
      `must be ${format === 'uint64' ? 'a' : 'an'} ${format}; values beyond 2^53 must be strings of digits`,
  )
  return Type.Codec(checked)
    .Decode((value) => BigInt(value as number | string))
    .Encode((value) => toWire(value) as number | string) as unknown as TInt64
}

function isInt(value: unknown, { min, max }: Bounds): boolean {
  // A larger number may have been rounded.
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= min
  if (typeof value !== 'string' || !DIGITS.test(value)) return false
  const exact = BigInt(value)
  return exact >= min && exact <= max
}

/** Leaves other values unchanged, because the subsequent validation reports them. */
function toWire(value: unknown): unknown {
  if (typeof value !== 'bigint') return value
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value.toString()
}

function toBase64(value: unknown): unknown {
  if (!(value instanceof Uint8Array)) return value
  const { buffer, byteOffset, byteLength } = value
  const bytes = Buffer.isBuffer(value) ? value : Buffer.from(buffer, byteOffset, byteLength)
  return bytes.toString('base64')
}
