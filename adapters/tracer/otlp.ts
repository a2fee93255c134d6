import type { Tracer } from '../../core/contracts/tracer.ts'
import { loadOtlpLibraries } from './otlp/libraries.ts'
import { logDiagnostics } from './otlp/log-diagnostics.ts'
import { createSpanQueue, type SpanQueueOptions } from './otlp/span-queue.ts'
import { toTracer } from './otlp/to-tracer.ts'

/** Service that a tracer creates spans for. */
export interface TracedService {
  readonly name: string
  readonly version?: string | undefined
  readonly instance?: string | undefined
}

/** Exports spans through OTLP over HTTP, configured by the `OTEL_*` variables. */
export interface OtlpTracing {
  /**
   * Creates a tracer. `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` take precedence over the
   * service.
   */
  readonly createTracer: (service: TracedService) => Tracer
  /** Sends queued spans within {@link SpanQueueOptions.closeMs}. Never rejects. */
  readonly close: () => Promise<void>
}

export interface OtlpTracingOptions extends SpanQueueOptions {
  /** Called with each invalid variable and its effect. May repeat. */
  readonly onProblem: (problem: string) => void
}

/** Name of the instrumentation scope. */
const SCOPE = 'mx'

/** @throws {Error} if the libraries are not installed. */
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
      const ownResource = resourceFromAttributes({
        'service.name': name,
        ...(version !== undefined && { 'service.version': version }),
        ...(instance !== undefined && { 'service.instance.id': instance }),
      })
      const resource = defaultResource().merge(ownResource).merge(environment)
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
