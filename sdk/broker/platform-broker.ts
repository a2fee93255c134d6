import { setTimeout as delay } from 'node:timers/promises'
import type {
  Broker,
  Message,
  MessageHandler,
  SubscribeOptions,
  Unsubscribe,
} from '../../core/contracts/broker.ts'
import { GatewayError } from '../../core/errors.ts'
import { isStopping } from '../../core/is-stopping.ts'
import { PAYLOAD_MAX_BYTES } from '../../core/rpc/ws/frames.ts'
import { createBackOff } from '../../lib/async/backoff.ts'
import type { CallOptions, Client } from '../client/client.ts'
import type { CallStream } from '../client/streams/call-stream.ts'
import { unavailable } from '../errors.ts'

export type BrokerCallOptions = Pick<CallOptions, 'namespace' | 'timeoutMs' | 'address'>

export interface PlatformBrokerOptions {
  readonly client: Client
  readonly call?: BrokerCallOptions
  /** Called when a subscription breaks and when it is restored. @default a process warning */
  readonly onWarning?: (message: string) => void
  /**
   * Called instead of {@link onWarning} while the service restarts, that is, after it has announced its shutdown (503).
   * @default none
   */
  readonly onInfo?: (message: string) => void
}

/** A message in the JSON format of the service. */
interface WireMessage {
  readonly header: Message['headers']
  /** Base64. */
  readonly body: string
}

const SERVICE = 'broker'
/** Subscriptions that last at least this long reset the back-off. */
const STABLE_MS = 5000
/** Time after an announced shutdown within which a service is considered to be restarting. */
const RESTART_MS = 30_000
/** Space for headers and their JSON overhead. */
const ENVELOPE_BYTES = 256 * 1024
/** Codes of permanent errors. */
const PERMANENT = [400, 401, 403]
/** Maximum body length that fits into a protocol message as Base64. */
const MAX_BODY_BYTES = Math.floor((PAYLOAD_MAX_BYTES - ENVELOPE_BYTES) / 4) * 3

/** Publishes a message through the `broker` service. @throws {GatewayError} the error returned by the service. */
export async function publishTo(
  client: Client,
  topic: string,
  { headers, body }: Message,
  call: CallOptions,
): Promise<void> {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const message: WireMessage = { header: headers, body: bytes.toString('base64') }
  // At most once: an uncertain publication must not be repeated.
  await client.call(SERVICE, 'Broker.Publish', { topic, message }, { ...call, retries: 0 })
}

/**
 * The platform's broker, accessed through its `broker` service. Topics and queues belong to the namespace of the call.
 *
 * A broken subscription is restarted with a back-off of up to 5 s until it is ended or rejected, or its client is
 * closed. Messages published in the meantime are lost.
 */
export function createPlatformBroker(options: PlatformBrokerOptions): Broker {
  const { client, call = {}, onWarning = (message) => process.emitWarning(message) } = options
  const { onInfo = () => {} } = options
  const leaves = new Set<() => void>()
  let closed = false

  function open(topic: string, queue: string): CallStream<unknown, WireMessage> {
    const { timeoutMs: _, ...more } = call
    const request = queue === '' ? { topic } : { topic, queue }
    return client.stream<unknown, WireMessage>(SERVICE, 'Broker.Subscribe', request, more)
  }

  async function subscribe(
    topic: string,
    handler: MessageHandler,
    { queue = '' }: SubscribeOptions = {},
  ): Promise<Unsubscribe> {
    if (closed) throw unavailable(SERVICE, 'the broker is closed')
    const stop = new AbortController()
    const { signal } = stop
    let stream = open(topic, queue)
    const leave = (): void => {
      leaves.delete(leave)
      stop.abort()
      stream.cancel()
    }
    leaves.add(leave)

    async function read(): Promise<void> {
      for await (const { header, body } of stream)
        if (!signal.aborted) void handler({ headers: header, body: Buffer.from(body, 'base64') })
      throw unavailable(SERVICE, 'the stream has ended')
    }

    async function run(): Promise<void> {
      const backOff = createBackOff()
      let begunMs = performance.now()
      let lostMs: number | undefined
      let report = onWarning
      while (!signal.aborted) {
        try {
          if (lostMs !== undefined) {
            stream = open(topic, queue)
            await stream.begun()
            begunMs = performance.now()
            report(
              `the subscription to ${topic} was restored after ${Math.round(begunMs - lostMs)} ms`,
            )
            lostMs = undefined
          }
          await read()
        } catch (error) {
          if (signal.aborted) return
          if (!isTemporary(error, lostMs === undefined)) {
            leaves.delete(leave)
            const { message } = error as Error
            onWarning(`the subscription to ${topic} has ended: ${message}`)
            return
          }
          if (lostMs === undefined) {
            lostMs = performance.now()
            if (lostMs - begunMs > STABLE_MS) backOff.reset()
            const { message } = error as Error
            report = isStopping(error) ? onInfo : onWarning
            report(`the subscription to ${topic} failed: ${message}; subscribing again`)
          } else if (report === onInfo && performance.now() - lostMs > RESTART_MS) {
            report = onWarning
            const { message } = error as Error
            report(`the subscription to ${topic} still fails: ${message}; subscribing again`)
          }
          await delay(backOff.next(), undefined, { signal }).catch(() => {})
        }
      }
    }

    try {
      await stream.begun()
    } catch (error) {
      leave()
      throw error
    }
    void run()
    return leave
  }

  return {
    name: 'mx',
    maxBodyBytes: MAX_BODY_BYTES,

    publish: (topic, message) => publishTo(client, topic, message, call),
    subscribe,

    reportDropped(topic, count) {
      const report = client.call(SERVICE, 'Broker.ReportDropped', { topic, count }, call)
      // Errors are ignored: the subscriber logs dropped messages.
      report.catch(() => {})
    },

    close() {
      closed = true
      for (const leave of leaves) leave()
    },
  }
}

/**
 * False if the client is closed or the first attempt is rejected. An established subscription may also fail because its
 * token has expired.
 */
function isTemporary(error: unknown, wasEstablished: boolean): boolean {
  return error instanceof GatewayError && (wasEstablished || !PERMANENT.includes(error.code))
}
