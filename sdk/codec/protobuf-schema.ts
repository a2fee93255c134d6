import type { Field, Type as Message } from 'protobufjs'
import { type TProperties, type TSchema, type TSchemaOptions, Type } from '../../core/schema.ts'
import { Bytes, Int64, Uint64 } from '../schema/schema-types.ts'
import {
  enumOf,
  fieldsOf,
  hasZero,
  INT32,
  INT64,
  isWellKnown,
  keyTypeOf,
  messageOf,
} from './protobuf-fields.ts'

/** Schemas of the well-known types (ProtoJSON mapping). */
const WELL_KNOWN: Readonly<Record<string, () => TSchema>> = {
  Timestamp: () => Type.String({ format: 'date-time' }),
  Duration: () => Type.String(),
  FieldMask: () => Type.String(),
  Struct: () => Type.Record(Type.String(), Type.Unknown()),
  Value: () => Type.Unknown(),
  ListValue: () => Type.Array(Type.Unknown()),
  Any: () => Type.Record(Type.String(), Type.Unknown()),
  DoubleValue: () => Type.Number(),
  FloatValue: () => Type.Number({ format: 'float' }),
  Int64Value: () => Int64(),
  UInt64Value: () => Uint64(),
  Int32Value: () => toScalar('int32', {}),
  UInt32Value: () => toScalar('uint32', {}),
  BoolValue: () => Type.Boolean(),
  StringValue: () => Type.String(),
  BytesValue: () => Bytes(),
}

/**
 * Creates the TypeBox schema of a protobuf message in JSON, for validation, the registry and handlers.
 *
 * Fields without presence default to their zero value; others are optional. Handlers receive 64-bit integers as
 * bigints, bytes as Uint8Array, and enums by name.
 */
export function toMessageSchema(type: Message): TSchema {
  if (isWellKnown(type)) return WELL_KNOWN[type.name]!()
  const counts = new Map<Message, number>()
  count(type, counts)
  // Inlined only if no message occurs twice; otherwise copies would multiply.
  if ([...counts.values()].every((times) => times === 1)) return toObject(type, undefined)
  const definitions: TProperties = {}
  for (const message of counts.keys())
    definitions[nameOf(message)] = toObject(message, (inner) => Type.Ref(nameOf(inner)))
  return Type.Cyclic(definitions, nameOf(type))
}

/** Counts the references to each message. */
function count(type: Message, counts: Map<Message, number>): void {
  const times = counts.get(type) ?? 0
  counts.set(type, times + 1)
  if (times > 0) return
  for (const field of fieldsOf(type)) {
    const inner = messageOf(field)
    if (inner !== undefined && !isWellKnown(inner)) count(inner, counts)
  }
}

type ToInner = (message: Message) => TSchema

function toObject(type: Message, toInner: ToInner | undefined): TSchema {
  const inner: ToInner = toInner === undefined ? (message) => toObject(message, undefined) : toInner
  const properties: TProperties = {}
  for (const field of fieldsOf(type)) properties[field.name] = toField(field, inner)
  return Type.Object(properties, { title: type.name })
}

function toField(field: Field, toInner: ToInner): TSchema {
  const options = field.comment == null ? {} : { description: field.comment }
  if (field.map) return toMap(field, toItem(field, toInner, {}), { ...options, default: {} })
  if (field.repeated) return Type.Array(toItem(field, toInner, {}), { ...options, default: [] })
  if (!hasZero(field)) return Type.Optional(toItem(field, toInner, options))
  return toItem(field, toInner, { ...options, default: zeroOf(field) })
}

function toMap(field: Field, item: TSchema, options: TSchemaOptions): TSchema {
  const type = keyTypeOf(field)
  if (type === 'string') return Type.Record(Type.String(), item, options)
  const pattern = type === 'bool' ? '^(?:true|false)$' : '^-?(?:0|[1-9][0-9]{0,19})$'
  return Type.Record(Type.String({ pattern }), item, { ...options, additionalProperties: false })
}

function toItem(field: Field, toInner: ToInner, options: TSchemaOptions): TSchema {
  const message = messageOf(field)
  if (message !== undefined)
    return isWellKnown(message) ? WELL_KNOWN[message.name]!() : toInner(message)
  const names = enumOf(field)?.values
  return names === undefined
    ? toScalar(field.type, options)
    : Type.Enum(Object.keys(names) as [string, ...string[]], options)
}

function toScalar(type: string, options: TSchemaOptions): TSchema {
  const bounds = INT32.get(type)
  if (bounds !== undefined)
    return Type.Integer({
      format: bounds.min === 0 ? 'uint32' : 'int32',
      minimum: bounds.min,
      maximum: bounds.max,
      ...options,
    })
  const long = INT64.get(type)
  if (long !== undefined) return long.min === 0n ? Uint64(options) : Int64(options)
  switch (type) {
    case 'bool':
      return Type.Boolean(options)
    case 'bytes':
      return Bytes(options)
    case 'string':
      return Type.String(options)
    default:
      return Type.Number(type === 'float' ? { format: 'float', ...options } : options)
  }
}

function zeroOf(field: Field): unknown {
  const constant = enumOf(field)
  if (constant !== undefined) return constant.valuesById[0] ?? Object.keys(constant.values)[0]
  switch (field.type) {
    case 'bool':
      return false
    case 'string':
    case 'bytes':
      return ''
    default:
      return 0
  }
}

function nameOf(type: Message): string {
  return type.fullName.replace(/^\./, '')
}
