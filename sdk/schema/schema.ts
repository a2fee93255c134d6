import { Compile, type StaticDecode, type StaticEncode, type TSchema } from '../../core/schema.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import { inspectShort } from '../../lib/text/inspect.ts'
import type { JsonSchema } from './json-schema.ts'
import { describeErrors, formatKeyPath, SchemaError } from './schema-error.ts'
import { compileTransform, type Transform } from './transform.ts'

/** Validation result of a Standard Schema. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] }

/** A validation error. */
export interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** A schema of any library that implements Standard Schema, version 1 (standardschema.dev). */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    /** Validates and decodes a value. */
    readonly validate: (value: unknown) => Maybe<StandardResult<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

/** Schema of messages: a TypeBox type, or a Standard Schema of any library. */
export type Schema = TSchema | StandardSchema

/** Type of decoded values: the request in the handler, and the handler's result for a TypeBox response. */
export type Decoded<S> =
  S extends StandardSchema<infer _, infer Output>
    ? Output
    : S extends TSchema
      ? StaticDecode<S>
      : never

/** Result type of a handler. With a Standard Schema, the result is transformed afterwards. */
export type Returned<S> =
  S extends StandardSchema<infer Input, infer _>
    ? Input
    : S extends TSchema
      ? StaticDecode<S>
      : never

/**
 * JSON type of a request, as sent by callers. Numbers and strings may also be bigints, which are
 * converted.
 */
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

/** JSON type of a response, as received by callers. */
export type WireResponse<S> =
  S extends StandardSchema<infer _, infer Output>
    ? Output
    : S extends TSchema
      ? StaticEncode<S>
      : never

/** Protobuf codec of messages: converts between bytes and JSON values. */
export interface MessageCodec {
  /** Throws for invalid bytes. */
  readonly decode: (bytes: Uint8Array) => unknown
  /** Throws for an invalid value. */
  readonly encode: (value: unknown) => Uint8Array
}

/** A schema whose messages may also be sent as protobuf. */
export type ProtobufMessage<S extends Schema> = S & { readonly '~protobuf': MessageCodec }

interface WithProtobuf {
  readonly '~protobuf': MessageCodec
  readonly schema: Schema
}

/**
 * Adds a protobuf codec, such as generated code, to a schema.
 *
 * The schema provides validation, types and description; the codec converts between bytes and the JSON of the message
 * (ProtoJSON mapping: 64-bit integers as numbers or strings, bytes as Base64). For `.proto` files, see `loadProto`.
 */
export function protobufMessage<S extends Schema>(
  schema: S,
  codec: MessageCodec,
): ProtobufMessage<S> {
  const message: WithProtobuf = { '~protobuf': codec, schema }
  return message as unknown as ProtobufMessage<S>
}

/** A compiled schema. */
export interface CompiledSchema {
  /**
   * Decodes a received value: fills in defaults, validates, runs codecs. May modify `value`. Unknown fields are
   * preserved unless the schema forbids them.
   *
   * @throws {SchemaError} naming the path of the first invalid field.
   */
  readonly decode: (value: unknown) => Maybe<unknown>
  /**
   * Encodes a value from code as JSON: runs codecs, then validates. Does not modify `value`.
   *
   * @throws {SchemaError} naming the path of the first invalid field.
   */
  readonly encode: (value: unknown) => Maybe<unknown>
  /** JSON Schema of the wire format; undefined if the library does not provide it. */
  readonly jsonSchema: JsonSchema | undefined
  /** Protobuf codec; undefined if none. */
  readonly protobuf: MessageCodec | undefined
}

/** Accepts any value; used without a schema. */
const ANYTHING: CompiledSchema = {
  decode: (value) => value,
  encode: (value) => value,
  jsonSchema: undefined,
  protobuf: undefined,
}

const JSON_SCHEMA = { target: 'draft-2020-12' } as const

/**
 * Compiles a schema.
 *
 * @param kind name of the message, such as `request` or `response`, which starts the paths in errors.
 * @throws {TypeError} if it is neither a TypeBox type nor a Standard Schema.
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

/** Checks for the library's markers. Without this check, any object would be a schema that accepts everything. */
function isTypeBox(schema: unknown): schema is TSchema {
  return typeof schema === 'object' && schema !== null && ('~kind' in schema || '~unsafe' in schema)
}

function compileTypeBox(schema: TSchema, kind: string): CompiledSchema {
  const json = schema as JsonSchema
  let compiled: ReturnType<typeof Compile> | undefined
  // Compiled lazily, because compiling the schemas of the built-in services would take a tenth of the server's startup
  // time.
  const toValidator = () => {
    compiled ??= Compile(schema)
    return compiled
  }
  const fill = compileTransform(json, 'default')
  const unpack = compileTransform(json, 'decode')
  const pack = compileTransform(json, 'encode')
  const toNumbers = compileTransform(json, 'integer')
  const reject = (value: unknown) =>
    new SchemaError(describeErrors(kind, json, value, toValidator().Errors(value)))
  return {
    decode(value) {
      let filled = fill === undefined ? value : fill(value)
      if (!toValidator().Check(filled)) {
        // Callers see an integer as an int64 and may send it as a string.
        if (toNumbers !== undefined) filled = toNumbers(filled)
        if (toNumbers === undefined || !toValidator().Check(filled)) throw reject(filled)
      }
      return unpack === undefined ? filled : runCodecs(unpack, filled, kind)
    },
    encode(value) {
      const packed = pack === undefined ? value : pack(value)
      if (!toValidator().Check(packed)) throw reject(packed)
      return packed
    },
    jsonSchema: printTypeBox(schema, kind),
    protobuf: undefined,
  }
}

/** A codec may reject a value that passed validation, such as February 30. */
function runCodecs(unpack: Transform, value: unknown, kind: string): unknown {
  try {
    return unpack(value)
  } catch (cause) {
    throw new SchemaError(`${kind} does not match its schema: a codec rejected a value`, { cause })
  }
}

/** The schema as seen by callers: fields with a default are optional. */
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
    const { message = 'does not match its schema', path = [] } = result.issues[0] ?? {}
    const keys = path.map((key) => (typeof key === 'object' ? key.key : key))
    throw new SchemaError(`${formatKeyPath(kind, keys)}: ${message}`)
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

/** Sources of a JSON Schema: the Standard JSON Schema extension, or a method of the library. */
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
    // Libraries throw for types without a JSON Schema, such as dates. These types have no description.
    return undefined
  }
}
