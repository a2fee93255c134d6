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

/** Gets the messages of a topic, one after the other. What it throws is logged; the message counts as delivered. */
export type Subscriber<S extends Schema> = (message: Decoded<S>, ctx: Context) => Maybe<void>

/** What is said of a message besides what it says. */
export interface MessageDetails {
  /** The call a message is published for: its metadata become headers, but for credentials and what is about its own request only. */
  readonly context?: Context
  /** By name; in place of the context's of the same name. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Whose messages a handler gets. */
export interface HandlerOptions {
  /** Name of the service; empty: of none. */
  readonly service: string
  /** @default silent */
  readonly log?: PluginLog
  /** @default every message is everybody's */
  readonly queue?: string
  /** Makes spans of messages. @default nobody does */
  readonly traces?: Traces | undefined
}

/** What spans call the system messages are of. */
export const BROKER = 'mx.broker'
const RULE = 'message must be bytes or what JSON can say'
const PLATFORM = 'mx-'
const NAMESPACE = 'mx-namespace'
const ACCOUNT = 'mx-account'
const CONTENT_TYPE = 'content-type'

/**
 * A message that says a value (specification: Events, Broker): bytes as they are, anything else as JSON, or text of a content
 * type of its own as UTF-8.
 *
 * @throws {TypeError} for a value that cannot be said so, and a header that belongs to the platform.
 */
export function encodeMessage(value: unknown, details: MessageDetails): Message {
  const { context, headers: own = {} } = details
  const headers: Record<string, string> = createNullProto()
  if (context !== undefined) copyContext(headers, context)
  for (const [name, text] of Object.entries(own)) {
    const lower = name.toLowerCase()
    if (lower.startsWith(PLATFORM))
      throw new TypeError(`header ${lower} belongs to the platform, it cannot be set`)
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
  throw new TypeError(`message must be bytes or text where it is ${type}, got ${typeof value}`)
}

/**
 * What hands the messages of a topic to a subscriber. What it returns rejects when the message does not fit, or the subscriber fails.
 *
 * @param schema what messages look like; undefined: anything.
 * @throws {TypeError} when the schema is none, or the subscriber no function.
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
    // Who published it nobody has checked.
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

/** What a message says: of JSON, which it is where nothing else is said, the value, else its bytes. */
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
    const known = headers[name]
    headers[name] = known === undefined ? fields[i + 1]! : `${known}, ${fields[i + 1]!}`
  }
}

/** Whether a message may carry it: not what is about a connection. */
function isField(name: string, value: string): boolean {
  try {
    new HeaderList().append(name, value)
    return true
  } catch {
    return false
  }
}
