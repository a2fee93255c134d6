import type { ReadableSpan, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace-base'
import { settlesWithin } from '../../../lib/async/timeout.ts'
import type { OtlpLibraries } from './libraries.ts'

export interface SpanQueueOptions {
  /** Spans are lost, and why: once, until the collector takes spans again. */
  readonly onError: (reason: string) => void
  /** It takes them again; so many were lost. */
  readonly onRecover: (lost: number) => void
  /** Milliseconds that closing may take. @default 2000 */
  readonly closeMs?: number
}

export interface SpanQueue extends SpanProcessor {
  /** Sends what waits, as long as `closeMs` lasts. Never rejects. */
  readonly close: () => Promise<void>
}

const WAITING_MAX = 2048
const CLOSE_MS = 2000
/** `ExportResultCode.SUCCESS`, whose library is no dependency of ours. */
const SUCCESS = 0

/**
 * Spans on their way to the collector: sent in batches, and lost when more than `OTEL_BSP_MAX_QUEUE_SIZE` (2048) wait, or the collector
 * does not take them. However many those are, a line tells of it.
 */
export function createSpanQueue(
  exporter: SpanExporter,
  { BatchSpanProcessor }: Pick<OtlpLibraries['sdk'], 'BatchSpanProcessor'>,
  options: SpanQueueOptions,
): SpanQueue {
  const { onError, onRecover, closeMs = CLOSE_MS } = options
  const waitingMax = readMax()
  let waiting = 0
  let lost = 0
  let isClosed = false

  function lose(count: number, reason: string): void {
    if (lost === 0) onError(reason)
    lost += count
  }

  const counting: SpanExporter = {
    export(spans, onResult) {
      waiting -= spans.length
      exporter.export(spans, (result) => {
        if (result.code !== SUCCESS) lose(spans.length, describe(result.error))
        else if (lost > 0) {
          onRecover(lost)
          lost = 0
        }
        onResult(result)
      })
    },
    shutdown: () => exporter.shutdown(),
  }
  const batches = new BatchSpanProcessor(counting, { maxQueueSize: waitingMax })

  const queue: SpanQueue = {
    onStart: (span, context) => batches.onStart(span, context),

    onEnd(span: ReadableSpan) {
      if (isClosed) return
      if (waiting >= waitingMax)
        return lose(1, `more than ${waitingMax} spans wait for the collector`)
      waiting++
      batches.onEnd(span)
    },

    forceFlush: () => batches.forceFlush(),
    shutdown: () => queue.close(),

    async close() {
      if (isClosed) return
      isClosed = true
      // What the collector does not take is counted; nobody waits for more.
      const isSent = await settlesWithin(
        batches.shutdown().catch(() => {}),
        closeMs,
      )
      if (!isSent) lose(waiting, `the collector does not answer within ${closeMs} ms`)
    },
  }
  return queue
}

function readMax(): number {
  const max = Number(process.env['OTEL_BSP_MAX_QUEUE_SIZE'] || WAITING_MAX)
  return Number.isInteger(max) && max > 0 ? max : WAITING_MAX
}

/** What the exporter says: an error of Node.js, of several addresses or one, or the status of an answer. */
function describe(error: Error | undefined): string {
  if (error === undefined) return 'the collector takes no spans'
  const { code, message, errors } = error as Error & { code?: unknown; errors?: readonly Error[] }
  const said = message || errors?.map((each) => each.message).join(', ') || String(code ?? '')
  return typeof code === 'number' ? `the collector answers ${code} ${said}`.trimEnd() : said
}
