import type { ReadableSpan, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace-base'
import { settlesWithin } from '../../../lib/async/timeout.ts'
import type { OtlpLibraries } from './libraries.ts'

export interface SpanQueueOptions {
  /** Called with the reason when spans are dropped, once until the next success. */
  readonly onError: (reason: string) => void
  /** Called on the next success with the number of dropped spans. */
  readonly onRecover: (dropped: number) => void
  /** Timeout for closing in milliseconds. @default 2000 */
  readonly closeMs?: number
}

export interface SpanQueue extends SpanProcessor {
  /** Sends queued spans within `closeMs`. Never rejects. */
  readonly close: () => Promise<void>
}

const MAX_QUEUED = 2048
const CLOSE_MS = 2000
/** `ExportResultCode.SUCCESS` of a library that is not a dependency. */
const SUCCESS = 0

/**
 * Queue of spans for the collector. Sends batches and drops spans beyond `OTEL_BSP_MAX_QUEUE_SIZE`
 * (2048) or while the collector is unavailable. Drops are reported once.
 */
export function createSpanQueue(
  exporter: SpanExporter,
  { BatchSpanProcessor }: Pick<OtlpLibraries['sdk'], 'BatchSpanProcessor'>,
  options: SpanQueueOptions,
): SpanQueue {
  const { onError, onRecover, closeMs = CLOSE_MS } = options
  const maxQueued = readMax()
  let queued = 0
  let dropped = 0
  let isClosed = false

  function drop(count: number, reason: string): void {
    if (dropped === 0) onError(reason)
    dropped += count
  }

  const counting: SpanExporter = {
    export(spans, onResult) {
      queued -= spans.length
      exporter.export(spans, (result) => {
        if (result.code !== SUCCESS) drop(spans.length, describe(result.error))
        else if (dropped > 0) {
          onRecover(dropped)
          dropped = 0
        }
        onResult(result)
      })
    },
    shutdown: () => exporter.shutdown(),
  }
  const batches = new BatchSpanProcessor(counting, { maxQueueSize: maxQueued })

  const queue: SpanQueue = {
    onStart: (span, context) => batches.onStart(span, context),

    onEnd(span: ReadableSpan) {
      if (isClosed) return
      if (queued >= maxQueued) return drop(1, `the queue of ${maxQueued} spans is full`)
      queued++
      batches.onEnd(span)
    },

    forceFlush: () => batches.forceFlush(),
    shutdown: () => queue.close(),

    async close() {
      if (isClosed) return
      isClosed = true
      // Spans that could not be sent are counted as dropped.
      const isSent = await settlesWithin(
        batches.shutdown().catch(() => {}),
        closeMs,
      )
      if (!isSent) drop(queued, `the collector did not respond within ${closeMs} ms`)
    },
  }
  return queue
}

function readMax(): number {
  const max = Number(process.env['OTEL_BSP_MAX_QUEUE_SIZE'] || MAX_QUEUED)
  return Number.isInteger(max) && max > 0 ? max : MAX_QUEUED
}

/**
 * Describes an exporter error: an HTTP status, or an error from Node.js for one or several
 * addresses.
 */
function describe(error: Error | undefined): string {
  if (error === undefined) return 'the collector rejected the spans'
  const { code, message, errors } = error as Error & { code?: unknown; errors?: readonly Error[] }
  const text = message || errors?.map((each) => each.message).join(', ') || String(code ?? '')
  return typeof code === 'number' ? `the collector returned ${code} ${text}`.trimEnd() : text
}
