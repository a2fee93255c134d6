import type { Tracer } from '../../core/contracts/tracer.ts'
import { loadOtlpLibraries } from './otlp/libraries.ts'
import { logDiagnostics } from './otlp/log-diagnostics.ts'
import { createSpanQueue, type SpanQueueOptions } from './otlp/span-queue.ts'
import { toTracer } from './otlp/to-tracer.ts'

/** Whose spans a tracer makes. */
export interface TracedService {
  readonly name: string
  readonly version?: string | undefined
  /** Of one copy among several. */
  readonly instance?: string | undefined
}

/** Sends spans to a collector by OTLP over HTTP, as the variables `OTEL_*` say. */
export interface OtlpTracing {
  /** `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` go before what the service says of itself. */
  readonly createTracer: (service: TracedService) => Tracer
  /** Sends what waits, as long as {@link SpanQueueOptions.closeMs} lasts. Never rejects. */
  readonly close: () => Promise<void>
}

export interface OtlpTracingOptions extends SpanQueueOptions {
  /** A variable is wrong: which, and what is done about it. May come more than once. */
  readonly onProblem: (problem: string) => void
}

/** Name of the instrumentation scope. */
const SCOPE = 'mx'

/** @throws {Error} with one line when the libraries are not installed. */
export async function createOtlpTracing(options: OtlpTracingOptions): Promise<OtlpTracing> {
  const { api, exporter, resources, sdk } = await loadOtlpLibraries()
  const { defaultResource, detectResources, envDetector, resourceFromAttributes } = resources
  const { onProblem } = options
  const queue = logDiagnostics(api, onProblem, () =>
    createSpanQueue(new exporter.OTLPTraceExporter(), sdk, options),
  )
  const environment = detectResources({ detectors: [envDetector] })
  return {
    createTracer({ name, version, instance }) {
      const own = resourceFromAttributes({
        'service.name': name,
        ...(version !== undefined && { 'service.version': version }),
        ...(instance !== undefined && { 'service.instance.id': instance }),
      })
      const resource = defaultResource().merge(own).merge(environment)
      const provider = logDiagnostics(
        api,
        onProblem,
        () => new sdk.BasicTracerProvider({ resource, spanProcessors: [queue] }),
      )
      return toTracer(api, provider.getTracer(SCOPE))
    },
    close: queue.close,
  }
}
