import { Compile, type StaticDecode, type StaticEncode, type TSchema } from '../../core/schema.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import { inspectShort } from '../../lib/text/inspect.ts'
import type { JsonSchema } from './json-schema.ts'
import { describeErrors, formatPath, SchemaError } from './schema-error.ts'
import { compileTransform, type Transform } from './transform.ts'

/** What a Standard Schema answers to a value. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] }

/** One thing wrong with a value. */
export interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** A schema of any library that follows Standard Schema, version 1 (standardschema.dev). */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    /** Checks a value and gives what it stands for. */
    readonly validate: (value: unknown) => Maybe<StandardResult<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

/** Describes messages: a TypeBox type, or a schema of any library that follows Standard Schema. */
export type Schema = TSchema | StandardSchema

/** What programs work with: what a handler gets of a request, and returns of a TypeBox response. */
export type Decoded<S> =
  S extends StandardSchema<infer _, infer Output>
    ? Output
    : S extends TSchema
      ? StaticDecode<S>
      : never

/** What a handler returns: a Standard Schema has still to make its output of it. */
export type Returned<S> =
  S extends StandardSchema<infer Input, infer _>
    ? Input
    : S extends TSchema
      ? StaticDecode<S>
      : never

/** What a request is in JSON: what callers send. Where a number or text may stand, so may a bigint, which becomes one of the two. */
export type WireRequest<S> =
  S extends StandardSchema<infer Input, infer _>
    ? Input
    : S extends TSchema
      ? WithBigints<StaticEncode<S>>
      : never

type WithBigints<T> = [number | string] extends [T]
  ? T | bigint
  : T extends object
    ? { [Name in keyof T]: WithBigints<T[Name]> }
    : T

/** What a response is in JSON: what callers get. */
export type WireResponse<S> =
  S extends StandardSchema<infer _, infer Output>
    ? Output
    : S extends TSchema
      ? StaticEncode<S>
      : never

/** How messages look in protobuf: between bytes and what JSON would say. */
export interface MessageCodec {
  /** Throws when the bytes are no such message. */
  readonly decode: (bytes: Uint8Array) => unknown
  /** Throws when the value is no such message. */
  readonly encode: (value: unknown) => Uint8Array
}

/** A schema whose messages callers may also send and get as protobuf. */
export type ProtobufMessage<S extends Schema> = S & { readonly '~protobuf': MessageCodec }

/** What a {@link ProtobufMessage} is made of. */
interface WithProtobuf {
  readonly '~protobuf': MessageCodec
  readonly schema: Schema
}

/**
 * Gives the messages of a schema a form in protobuf, with the code some library generated for them.
 *
 * Validation, types and description stay those of the schema; the codec goes between bytes and the JSON of the message
 * (ProtoJSON mapping: 64-bit integers as numbers or strings, bytes as base64). For `.proto` files see `loadProto`.
 */
export function protobufMessage<S extends Schema>(
  schema: S,
  codec: MessageCodec,
): ProtobufMessage<S> {
  const message: WithProtobuf = { '~protobuf': codec, schema }
  return message as unknown as ProtobufMessage<S>
}

/** A schema ready for use. */
export interface CompiledSchema {
  /**
   * Makes what a program works with of what came: defaults filled in, checked, codecs decoded. May change `value`.
   * Unknown fields are kept unless the schema refuses them.
   *
   * @throws {SchemaError} naming the path of the first wrong field.
   */
  readonly decode: (value: unknown) => Maybe<unknown>
  /**
   * Makes what JSON can say of what a program returned: codecs encoded, checked. Leaves `value` as it is.
   *
   * @throws {SchemaError} naming the path of the first wrong field.
   */
  readonly encode: (value: unknown) => Maybe<unknown>
  /** What goes over the wire, as JSON Schema; undefined where the library cannot print it. */
  readonly jsonSchema: JsonSchema | undefined
  /** The form in protobuf; undefined: there is none. */
  readonly protobuf: MessageCodec | undefined
}

/** Where there is no schema: everything goes. */
const ANYTHING: CompiledSchema = {
  decode: (value) => value,
  encode: (value) => value,
  jsonSchema: undefined,
  protobuf: undefined,
}

const JSON_SCHEMA = { target: 'draft-2020-12' } as const

/**
 * Prepares a schema, once.
 *
 * @param kind which message of an endpoint it describes, `request` or `response`, or what else; paths in errors begin with it.
 * @throws {TypeError} when it is neither a TypeBox type nor a Standard Schema.
 */
export function compileSchema(schema: Schema | undefined, kind: string): CompiledSchema {
  if (schema === undefined) return ANYTHING
  const { '~protobuf': protobuf, schema: inner } = (schema ?? {}) as Partial<WithProtobuf>
  if (protobuf !== undefined) return { ...compileSchema(inner, kind), protobuf }
  if (isStandard(schema)) return compileStandard(schema, kind)
  if (isTypeBox(schema)) return compileTypeBox(schema, kind)
  throw new TypeError(
    `${kind} must be a TypeBox type, such as Type.Object({ name: Type.String() }), or a Standard Schema, got ${inspectShort(schema)}`,
  )
}

function isStandard(schema: Schema): schema is StandardSchema {
  const props = (schema as Partial<StandardSchema> | null)?.['~standard']
  return typeof props?.validate === 'function'
}

/** The marks of the library: without them any object would be a schema, one that checks nothing. */
function isTypeBox(schema: unknown): schema is TSchema {
  return typeof schema === 'object' && schema !== null && ('~kind' in schema || '~unsafe' in schema)
}

function compileTypeBox(schema: TSchema, kind: string): CompiledSchema {
  const json = schema as JsonSchema
  let compiled: ReturnType<typeof Compile> | undefined
  // Not before it is needed: those of the built-in services would take a tenth of the server's start.
  const toValidator = () => {
    compiled ??= Compile(schema)
    return compiled
  }
  const fill = compileTransform(json, 'default')
  const unpack = compileTransform(json, 'decode')
  const pack = compileTransform(json, 'encode')
  const toNumbers = compileTransform(json, 'integer')
  const refuse = (value: unknown) =>
    new SchemaError(describeErrors(kind, json, value, toValidator().Errors(value)))
  return {
    decode(value) {
      let given = fill === undefined ? value : fill(value)
      if (!toValidator().Check(given)) {
        // An integer is an int64 to callers, who may write it as a string.
        if (toNumbers !== undefined) given = toNumbers(given)
        if (toNumbers === undefined || !toValidator().Check(given)) throw refuse(given)
      }
      return unpack === undefined ? given : runCodecs(unpack, given, kind)
    },
    encode(value) {
      const packed = pack === undefined ? value : pack(value)
      if (!toValidator().Check(packed)) throw refuse(packed)
      return packed
    },
    jsonSchema: printTypeBox(schema, kind),
    protobuf: undefined,
  }
}

/** What a codec refuses, although it passed the check, does not fit either: a day that no month has. */
function runCodecs(unpack: Transform, value: unknown, kind: string): unknown {
  try {
    return unpack(value)
  } catch (cause) {
    throw new SchemaError(`${kind} does not fit its schema: a codec refused a value`, { cause })
  }
}

/** As callers see it: they may leave out what has a default. */
function printTypeBox(schema: TSchema, kind: string): JsonSchema {
  if (kind === 'response') return JSON.parse(JSON.stringify(schema)) as JsonSchema
  const text = JSON.stringify(schema, (_name, part: unknown) => {
    const { properties, required } = (part ?? {}) as { properties?: unknown; required?: unknown }
    if (typeof properties !== 'object' || properties === null || !Array.isArray(required))
      return part
    const needed = required.filter(
      (name: string) => !('default' in ((properties as Record<string, object>)[name] ?? {})),
    )
    return { ...(part as object), required: needed.length === 0 ? undefined : needed }
  })
  return JSON.parse(text) as JsonSchema
}

function compileStandard(schema: StandardSchema, kind: string): CompiledSchema {
  const { validate } = schema['~standard']
  const unwrap = (result: StandardResult<unknown>): unknown => {
    if (result.issues === undefined) return result.value
    const { message = 'does not fit its schema', path = [] } = result.issues[0] ?? {}
    const keys = path.map((key) => (typeof key === 'object' ? key.key : key))
    throw new SchemaError(`${formatPath(kind, keys)}: ${message}`)
  }
  const check = (value: unknown): Maybe<unknown> => {
    const result = validate(value)
    return result instanceof Promise ? result.then(unwrap) : unwrap(result)
  }
  return {
    decode: check,
    encode: check,
    jsonSchema: printStandard(schema, kind),
    protobuf: undefined,
  }
}

type Print = (options: { readonly target: string }) => unknown

/** Ways to print JSON Schema: the Standard JSON Schema extension, or a method of the library's own. */
interface Printable {
  readonly '~standard': {
    readonly jsonSchema?: { readonly input?: Print; readonly output?: Print }
  }
  readonly toJSONSchema?: () => unknown
  readonly toJsonSchema?: () => unknown
}

function printStandard(schema: StandardSchema, kind: string): JsonSchema | undefined {
  const printable = schema as Printable
  const { jsonSchema } = printable['~standard']
  try {
    const print = kind === 'request' ? jsonSchema?.input : jsonSchema?.output
    const printed =
      print?.call(jsonSchema, JSON_SCHEMA) ??
      printable.toJSONSchema?.() ??
      printable.toJsonSchema?.()
    return typeof printed === 'object' && printed !== null ? (printed as JsonSchema) : undefined
  } catch {
    // Libraries throw for what JSON Schema cannot say, such as dates; then there is no description.
    return undefined
  }
}
