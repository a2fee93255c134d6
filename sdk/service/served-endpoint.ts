import type { Endpoint } from '../../core/contracts/registry.ts'
import { GatewayError } from '../../core/errors.ts'
import type { RestoreNumbers } from '../../core/request/json/json.ts'
import { ADD_JSON_TYPE, type BodyKind, FORM, toRequestType } from '../../core/request/media-type.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import { type Codec, createProtobufCodec, json } from '../codec/codec.ts'
import type { Context } from '../context.ts'
import { cloneJson, NOT_CLONEABLE } from '../schema/clone-json.ts'
import { describeEndpoint } from '../schema/describe.ts'
import { createRestore } from '../schema/exact-integers.ts'
import { type CompiledSchema, compileSchema } from '../schema/schema.ts'
import { SchemaError } from '../schema/schema-error.ts'
import type { EndpointDefinition, EndpointKind } from './endpoint.ts'

const JSON_TYPES = 'application/json'
const JSON_AND_PROTOBUF = 'application/json, application/protobuf'

/** A compiled endpoint: schemas and codecs. */
export class ServedEndpoint {
  readonly service: string
  /** `<Handler>.<Method>` */
  readonly name: string
  /** `<service>.<Handler>.<Method>` */
  readonly fullName: string
  readonly kind: EndpointKind
  readonly idempotent: boolean
  readonly handle: (request: never, ctx: Context) => unknown
  readonly #definition: EndpointDefinition
  readonly #request: CompiledSchema
  readonly #response: CompiledSchema
  readonly #restore: RestoreNumbers
  readonly #protobuf: { readonly request: Codec; readonly response: Codec } | undefined = undefined

  /** @throws {TypeError} for an invalid schema, or if only one of the two messages has a protobuf codec. */
  constructor(service: string, name: string, definition: EndpointDefinition) {
    this.service = service
    this.name = name
    this.fullName = `${service}.${name}`
    this.kind = definition.kind
    this.idempotent = definition.idempotent !== false
    this.handle = definition.handle
    this.#definition = definition
    this.#request = compileSchema(definition.request, 'request')
    this.#restore = createRestore(this.#request, 'request')
    this.#response = compileSchema(definition.response, 'response')
    const request = this.#request.protobuf
    const response = this.#response.protobuf
    if ((request === undefined) !== (response === undefined))
      throw new TypeError(
        `${name}: request and response must both be protobuf messages, or neither`,
      )
    if (request !== undefined && response !== undefined)
      this.#protobuf = {
        request: createProtobufCodec(request),
        response: createProtobufCodec(response),
      }
  }

  /** Describes the endpoint for the registry. */
  describe(): Endpoint {
    return describeEndpoint(
      this.name,
      this.#definition,
      this.#request.jsonSchema,
      this.#response.jsonSchema,
    )
  }

  /**
   * True if bodies of a content type are protobuf, false if they are JSON.
   *
   * @param id error id: the called name, as in the other methods.
   * @throws {GatewayError} 415 for other types, or protobuf without a codec.
   */
  isProtobuf(contentType: string | undefined, id: string = this.service): boolean {
    if (contentType === undefined || contentType === JSON_TYPES) return false
    const kind = kindOf(contentType)
    if (kind === 'json') return false
    if (kind === 'protobuf' && this.#protobuf !== undefined) return true
    const accepted = this.#protobuf === undefined ? JSON_TYPES : JSON_AND_PROTOBUF
    const detail = `${this.name} accepts ${accepted}, got ${JSON.stringify(contentType.slice(0, 100))}`
    const hint = contentType.startsWith(FORM) ? `; for JSON, ${ADD_JSON_TYPE}` : ''
    throw new GatewayError(id, 415, detail + hint, { headers: ['accept', accepted] })
  }

  /**
   * Decodes a request.
   *
   * @throws {GatewayError} 400 if it is malformed or does not match the schema.
   */
  decode(body: string | Uint8Array, isProtobuf: boolean, id: string = this.service): unknown {
    if (isProtobuf) return this.admit(this.#protobuf!.request.decode(body, id), id)
    let value: unknown
    try {
      value = json.decode(body, id, this.#restore)
    } catch (error) {
      return reject(error, id)
    }
    return this.admit(value, id)
  }

  /**
   * Decodes a JSON value; may modify `value`.
   *
   * @throws {GatewayError} 400 if it does not match the schema.
   */
  admit(value: unknown, id: string): unknown {
    try {
      const request = this.#request.decode(value)
      return request instanceof Promise ? request.catch((error) => reject(error, id)) : request
    } catch (error) {
      return reject(error, id)
    }
  }

  /**
   * Encodes a response.
   *
   * @throws {SchemaError} if it does not match the schema, which is a bug in the handler.
   */
  encode(value: unknown, isProtobuf: boolean): Maybe<string | Uint8Array> {
    const codec = isProtobuf ? this.#protobuf!.response : json
    const response = this.#response.encode(value)
    return response instanceof Promise
      ? response.then((checked) => codec.encode(checked))
      : codec.encode(response)
  }

  /**
   * Encodes a response as a JSON value for a caller in this process, as a copy.
   *
   * @throws {SchemaError} if it does not match the schema.
   */
  release(value: unknown): unknown {
    const response = this.#response.encode(value)
    return response instanceof Promise ? response.then(copyValue) : copyValue(response)
  }
}

/** Kind of a content type. Undefined if gateways do not support it either; their error also lists form types. */
function kindOf(contentType: string): BodyKind | undefined {
  try {
    return toRequestType(contentType).kind
  } catch {
    return undefined
  }
}

function copyValue(value: unknown): unknown {
  const copied = cloneJson(value)
  return copied === NOT_CLONEABLE ? JSON.parse(json.encode(value) as string) : copied
}

function reject(error: unknown, id: string): never {
  if (!(error instanceof SchemaError)) throw error
  throw new GatewayError(id, 400, error.message)
}
