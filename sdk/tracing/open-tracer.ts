import type { OtlpTracing, TracedService } from '../../adapters/tracer/otlp.ts'
import type { Tracer } from '../../core/contracts/tracer.ts'
import type { PluginLog } from '../../core/plugin/define.ts'
import { readOtlpVariables } from '../../core/tracing/otlp-variables.ts'

/** A tracer that shares the span exporter of this process. */
export interface OpenedTracer {
  readonly tracer: Tracer
  /** Closes the tracer. Closing the last tracer exports pending spans within 2 s. */
  readonly close: () => Promise<void>
}

/** Problems with variables that were already reported; each is reported once per process. */
const reported = new Set<string>()
/** Exporter shared by all services and gateways in this process. */
let sending: { readonly tracing: Promise<OtlpTracing>; users: number } | undefined

/**
 * Opens the tracer of a service or gateway. Returns undefined and loads nothing unless `OTEL_*` variables enable
 * it.
 *
 * @throws {Error} with a one-line message if the libraries are not installed.
 */
export async function openTracer(
  service: TracedService,
  log: PluginLog,
): Promise<OpenedTracer | undefined> {
  const { isEnabled, problems } = readOtlpVariables()
  for (const problem of problems) logProblem(log, problem)
  if (!isEnabled) return undefined
  const shared = sending ?? { tracing: load(log), users: 0 }
  sending = shared
  shared.users++
  let closing: Promise<void> | undefined
  const leave = async (): Promise<void> => {
    if (--shared.users > 0) return
    if (sending === shared) sending = undefined
    await (await shared.tracing).close()
  }
  try {
    const { createTracer } = await shared.tracing
    return {
      tracer: createTracer(service),
      close() {
        closing ??= leave()
        return closing
      },
    }
  } catch (error) {
    if (sending === shared) sending = undefined
    throw error
  }
}

function logProblem(log: PluginLog, problem: string): void {
  if (reported.has(problem)) return
  reported.add(problem)
  log.warn({}, problem)
}

async function load(log: PluginLog): Promise<OtlpTracing> {
  const { createOtlpTracing } = await import('../../adapters/tracer/otlp.ts')
  return createOtlpTracing({
    onProblem: (problem) => logProblem(log, problem),
    onError: (reason) => log.warn({ reason }, 'exporting spans failed, spans are lost'),
    onRecover: (spans) => log.warn({ spans }, 'span export recovered, some spans were lost'),
  })
}
