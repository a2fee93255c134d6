import type { Enum, Field, MapField, Type } from 'protobufjs'

/** A 64-bit integer as protobufjs decodes it. */
export interface Long {
  toNumber(): number
  toString(): string
}

/** Integer types and their bounds: numbers for 32 bits, bigints for 64. */
export const INT32: ReadonlyMap<string, { readonly min: number; readonly max: number }> = new Map([
  ...['int32', 'sint32', 'sfixed32'].map(
    (type) => [type, { min: -(2 ** 31), max: 2 ** 31 - 1 }] as const,
  ),
  ...['uint32', 'fixed32'].map((type) => [type, { min: 0, max: 2 ** 32 - 1 }] as const),
])

export const INT64: ReadonlyMap<string, { readonly min: bigint; readonly max: bigint }> = new Map([
  ...['int64', 'sint64', 'sfixed64'].map(
    (type) => [type, { min: -(2n ** 63n), max: 2n ** 63n - 1n }] as const,
  ),
  ...['uint64', 'fixed64'].map((type) => [type, { min: 0n, max: 2n ** 64n - 1n }] as const),
])

/** The google.protobuf types with a special JSON form (ProtoJSON mapping). */
const WELL_KNOWN: ReadonlySet<string> = new Set(
  [
    ...['Timestamp', 'Duration', 'FieldMask', 'Struct', 'Value', 'ListValue', 'Any'],
    ...['DoubleValue', 'FloatValue', 'Int64Value', 'UInt64Value', 'Int32Value', 'UInt32Value'],
    ...['BoolValue', 'StringValue', 'BytesValue'],
  ].map((name) => `.google.protobuf.${name}`),
)

/** True for well-known types with a special JSON form, such as timestamps. */
export function isWellKnown(type: Type): boolean {
  return WELL_KNOWN.has(type.fullName)
}

/** Enum type of a field. */
export function enumOf(field: Field): Enum | undefined {
  const { resolvedType } = field
  return resolvedType !== null && 'values' in resolvedType ? resolvedType : undefined
}

/** Message type of a field. */
export function messageOf(field: Field): Type | undefined {
  const { resolvedType } = field
  return resolvedType !== null && 'fields' in resolvedType ? resolvedType : undefined
}

/** Key type of a map: an integer, `bool` or `string`. */
export function keyTypeOf(field: Field): string {
  return (field as unknown as MapField).keyType
}

/** True for fields without presence, which have their zero value if absent. */
export function hasZero(field: Field): boolean {
  // The library's own property ignores message fields.
  return field.repeated || field.map || (!field.hasPresence && messageOf(field) === undefined)
}

/** Fields of a message with resolved types, without extensions. */
export function fieldsOf(type: Type): Field[] {
  return type.fieldsArray
    .map((field) => field.resolve() as Field)
    .filter((field) => field.extend === undefined && field.declaringField == null)
}
