import type { Message } from '../../core/contracts/broker.ts'
import { CREDENTIALS } from '../../core/http/credential-headers.ts'
import { HeaderList } from '../../core/http/headers.ts'
import type { PluginLog } from '../../core/plugin/define.ts'
import { parseJson, type RestoreNumbers } from '../../core/request/json/json.ts'
import { isJson } from '../../core/rpc/context-headers.ts'
import { splitMetadata } from '../../core/rpc/metadata.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import { createNullProto } from '../../lib/object/null-proto.ts'
import { formatCallMetadata } from '../client/call-metadata.ts'
import { toJsonText } from '../codec/json-text.ts'
import { toRawBytes } from '../codec/raw-bytes.ts'
import { type Context, createContext } from '../context.ts'
import { createRestore } from '../schema/exact-integers.ts'
import { compileSchema, type Decoded, type Schema } from '../schema/schema.ts'
import { beginProcess, carryFields, endMessage } from '../tracing/message-span.ts'
import type { Traces } from '../tracing/traces.ts'

/** Handles the messages of a topic, one at a time. Errors are logged; the message counts as delivered. */
export type Subscriber<S extends Schema> = (message: Decoded<S>, ctx: Context) => Maybe<void>

/** Sources of the message headers. */
export interface MessageDetails {
  /**
   * Call that publishes the message. Its metadata becomes headers, except credentials and connection headers.
   */
  readonly context?: Context
  /** Headers by name; they take precedence over the context. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Options of a message handler. */
export interface HandlerOptions {
  /** Name of the service; empty if none. */
  readonly service: string
  /** @default silent */
  readonly log?: PluginLog
  /** Queue group. @default none: every subscriber receives every message */
  readonly queue?: string
  /** Creates message spans. @default none */
  readonly traces?: Traces | undefined
}

/** `messaging.system` of spans. */
export const BROKER = 'mx.broker'
const RULE = 'message must be bytes or a JSON value'
const PLATFORM = 'mx-'
const NAMESPACE = 'mx-namespace'
const ACCOUNT = 'mx-account'
const CONTENT_TYPE = 'content-type'

/**
 * Encodes a message (specification: Events, Broker): bytes unchanged, other values as JSON, text with another content
 * type as UTF-8.
 *
 * @throws {TypeError} for a value that JSON cannot represent, or for a reserved header.
 */
export function encodeMessage(value: unknown, details: MessageDetails): Message {
  const { context, headers: explicitHeaders = {} } = details
  const headers: Record<string, string> = createNullProto()
  if (context !== undefined) copyContext(headers, context)
  for (const [name, text] of Object.entries(explicitHeaders)) {
    const lower = name.toLowerCase()
    if (lower.startsWith(PLATFORM))
      throw new TypeError(`header ${lower} is reserved for the platform and cannot be set`)
    headers[lower] = text
  }
  const type = headers[CONTENT_TYPE]
  const bytes = toRawBytes(value)
  if (bytes !== undefined) {
    headers[CONTENT_TYPE] ??= 'application/octet-stream'
    return { headers, body: bytes }
  }
  if (type === undefined || isJson(type)) {
    headers[CONTENT_TYPE] ??= 'application/json'
    return { headers, body: Buffer.from(toJsonText(value, RULE)) }
  }
  if (typeof value === 'string') return { headers, body: Buffer.from(value) }
  throw new TypeError(
    `message must be bytes or text if its content type is ${type}, got ${typeof value}`,
  )
}

/**
 * Creates the function that passes messages of a topic to a subscriber. Its promise rejects if a message does not match
 * the schema or the subscriber fails.
 *
 * @param schema message schema; undefined accepts any message.
 * @throws {TypeError} for an invalid schema, or a subscriber that is not a function.
 */
export function createMessageHandler<S extends Schema>(
  topic: string,
  subscriber: Subscriber<S>,
  schema: S | undefined,
  { service, log, queue, traces }: HandlerOptions,
): (message: Message) => Promise<void> {
  if (typeof subscriber !== 'function')
    throw new TypeError(`the subscriber of ${topic} must be a function, got ${typeof subscriber}`)
  const compiled = compileSchema(schema, 'message')
  const restore = createRestore(compiled, 'message')
  return async (message) => {
    const value = await compiled.decode(toValue(message, topic, restore))
    // Dropped because the publisher is not authenticated.
    const { [ACCOUNT]: _, ...headers } = message.headers
    const span = beginProcess(traces, { system: BROKER, topic, group: queue }, headers)
    const metadata = span === undefined ? headers : carryFields(headers, span)
    const context = createContext({ metadata, service, endpoint: topic, ...(log && { log }) })
    try {
      await subscriber(value as Decoded<S>, context)
      endMessage(span)
    } catch (error) {
      endMessage(span, error)
      throw error
    }
  }
}

/** Decodes the body: JSON (the default content type) is parsed, other content stays bytes. */
function toValue({ headers, body }: Message, topic: string, restore: RestoreNumbers): unknown {
  const type = headers[CONTENT_TYPE]
  if (type !== undefined && !isJson(type)) return body
  return body.length === 0 ? {} : parseJson(body, 'message', topic, restore)
}

function copyContext(headers: Record<string, string>, context: Context): void {
  const fields = splitMetadata(formatCallMetadata({ context }, ''))
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i]!
    const isPlatform = name.startsWith(PLATFORM) && name !== NAMESPACE
    if (isPlatform || CREDENTIALS.has(name) || !isField(name, fields[i + 1]!)) continue
    const existing = headers[name]
    headers[name] = existing === undefined ? fields[i + 1]! : `${existing}, ${fields[i + 1]!}`
  }
}

/** True for valid header names, except connection headers. */
function isField(name: string, value: string): boolean {
  try {
    new HeaderList().append(name, value)
    return true
  } catch {
    return false
  }
}
